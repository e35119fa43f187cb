/** Names of the objects that hold bodies which are too large for an item. */
import { DEFINITION_TYPES } from '../../lambdas/ports/definitions/canonicals.ts'

/** Bodies that are too large for an item; by their tenants and types. */
export const OVERFLOW_PATTERN = 'overflow/*'
export const DEFINITION_OVERFLOW_PATTERNS: readonly string[] = DEFINITION_TYPES.map((type) => `overflow/*/${type}/*`)
/** Types of users that act for patients. */
export const PERSONS = ['Patient', 'RelatedPerson']
export const PERSON_OVERFLOW_PATTERNS: readonly string[] = PERSONS.map((type) => `overflow/*/${type}/*`)
