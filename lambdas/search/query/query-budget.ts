/** Limits the size of one search, because long lists would delay all other requests. */
import { fhirError } from '../../fhir/outcome.ts'

/** Numbers of values and types that the rest of a search may still use. Parsing counts them down. */
export type QueryBudget = { values: number; types: number }

/**
 * Maximum values of all parameters together. A value counts once for each type to which its chain leads. A search with more is answered
 * 400.
 */
const MAX_VALUES = 10_000
/** Maximum types to which all chains together lead. A search with more is answered 400. */
const MAX_TYPES = 1_000

export const newQueryBudget = (): QueryBudget => ({ values: MAX_VALUES, types: MAX_TYPES })

/** Subtracts values. Throws FhirError 400 if too few are left. */
export function spendValues(left: QueryBudget, count: number): void {
  left.values -= count
  if (left.values < 0) throw fhirError(400, 'too-costly', `A search takes at most ${MAX_VALUES} values`)
}

/** Subtracts types. Throws FhirError 400 if too few are left. */
export function spendTypes(left: QueryBudget, count: number): void {
  left.types -= count
  if (left.types < 0) throw fhirError(400, 'too-costly', 'The chain leads through too many types: name them, as in subject:Patient.name')
}
