/** Key patterns of the objects for resource bodies that are too large for an item. */
import { DEFINITION_TYPES } from '../../lambdas/ports/definitions/canonicals.ts'

/** Pattern of all these objects. Their keys contain the tenant, then the resource type. */
export const OVERFLOW_PATTERN = 'overflow/*'
export const DEFINITION_OVERFLOW_PATTERNS: readonly string[] = DEFINITION_TYPES.map((type) => `overflow/*/${type}/*`)
/** Resource types of users that act for patients. */
export const PERSONS = ['Patient', 'RelatedPerson']
export const PERSON_OVERFLOW_PATTERNS: readonly string[] = PERSONS.map((type) => `overflow/*/${type}/*`)
