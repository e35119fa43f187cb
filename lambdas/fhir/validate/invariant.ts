/** Rule of a type or an element, beyond its structure. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import type { Expression } from '../path/branch.ts'

export type Invariant = {
  readonly key: string
  /** Description of the rule for a person. */
  readonly human: string
  readonly test: Expression
}
