/** Limits the size of one search. Unbounded lists would delay all other requests. */
import { fhirError } from '../../fhir/outcome.ts'

/** Remaining values and types, counted down while the search is parsed. */
export type QueryBudget = { values: number; types: number }

/** Maximum values of all parameters together. A value counts once for every type its chain leads to. */
const MAX_VALUES = 10_000
/** Maximum types that all chains together lead through. */
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
