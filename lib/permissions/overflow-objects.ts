/** Key patterns of the objects for resource bodies that are too large for an item. */
import { DEFINITION_TYPES } from '../../lambdas/ports/definitions/canonicals.ts'

/** Folders of these objects: that of new ones, and that of those that an earlier server version wrote. */
const FOLDERS = ['bodies', 'overflow']

/** Patterns of all these objects. Their keys contain the tenant, then the resource type. */
export const OVERFLOW_PATTERNS: readonly string[] = FOLDERS.map((folder) => `${folder}/*`)

/** Resource types of users that act for patients. */
export const PERSONS = ['Patient', 'RelatedPerson']

const patternsOf = (types: readonly string[]) => FOLDERS.flatMap((folder) => types.map((type) => `${folder}/*/${type}/*`))
export const DEFINITION_OVERFLOW_PATTERNS: readonly string[] = patternsOf(DEFINITION_TYPES)
export const PERSON_OVERFLOW_PATTERNS: readonly string[] = patternsOf(PERSONS)
