/** A rule of a type or an element beyond its structure. https://hl7.org/fhir/R4/conformance-rules.html#constraints */
import type { Expression } from '../path/branch.ts'

export type Invariant = {
  readonly key: string
  /** The rule in words. */
  readonly human: string
  readonly test: Expression
}
