/** Canonical URLs of the extensions that this server defines. They are the same on every server, so that a client can look for them. */

/** On `Bundle.entry.search` of grouped searches: `key` (string) and `size` (integer) of the group. */
export const SEARCH_GROUP_EXTENSION = 'urn:fhir-serverless:StructureDefinition:search-group'

/** On a SearchParameter: `active` or `building` (code). */
export const PARAMETER_STATE_EXTENSION = 'urn:fhir-serverless:StructureDefinition:search-parameter-state'
