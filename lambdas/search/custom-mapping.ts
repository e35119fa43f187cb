/** Custom search parameter, as its definition describes it. https://hl7.org/fhir/R4/searchparameter.html */
import type { Mapping } from '../../search-mappings/mapping.ts'

/** Custom parameter on one resource type. `interpreted`: its expressions are not compiled. `tenant`: its owner, absent if not recorded. */
export type CustomMapping = Mapping & {
  readonly base: string
  readonly field: string
  readonly interpreted?: true
  readonly tenant?: string
}
