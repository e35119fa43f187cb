/** What is known of a parameter somebody defined. https://hl7.org/fhir/R4/searchparameter.html */
import type { Mapping } from '../../search-mappings/mapping.ts'

/** For one resource type. `interpreted`: its expressions are not compiled. `tenant`: whose it is; absent where that was not written down. */
export type CustomMapping = Mapping & {
  readonly base: string
  readonly field: string
  readonly interpreted?: true
  readonly tenant?: string
}
