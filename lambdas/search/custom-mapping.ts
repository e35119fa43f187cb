/** Custom search parameter, compiled from its SearchParameter resource. https://hl7.org/fhir/R4/searchparameter.html */
import type { Mapping } from '../../search-mappings/mapping.ts'

/**
 * Custom parameter on one resource type (`base`). `field`: its index field. `interpreted`: its expressions are not compiled, but evaluated
 * in a separate process. `tenant`: its owner, absent if not recorded.
 */
export type CustomMapping = Mapping & {
  readonly base: string
  readonly field: string
  readonly interpreted?: true
  readonly tenant?: string
}
