/** Canonical URLs of the extensions that this server defines. All deployments use the same URLs, so that clients can rely on them. */

/** Extension of `Bundle.entry.search` in grouped searches: `key` (string) and `size` (integer) of the group. */
export const SEARCH_GROUP_EXTENSION = 'urn:fhir-serverless:StructureDefinition:search-group'

/** Extension of SearchParameter: its state, `active` or `building` (code). */
export const PARAMETER_STATE_EXTENSION = 'urn:fhir-serverless:StructureDefinition:search-parameter-state'
