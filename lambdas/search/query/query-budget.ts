/** How much one search may ask for: lists without a bound would hold everyone else. */
import { fhirError } from '../../fhir/outcome.ts'

/** What is left, counted down while the search is read. */
export type QueryBudget = { values: number; types: number }

/** Values of all parameters together, each counted for every type its chain leads to. */
const MOST_VALUES = 10_000
/** Types all chains together lead through. */
const MOST_TYPES = 1_000

export const newQueryBudget = (): QueryBudget => ({ values: MOST_VALUES, types: MOST_TYPES })

/** FhirError 400. */
export function spendValues(left: QueryBudget, count: number): void {
  left.values -= count
  if (left.values < 0) throw fhirError(400, 'too-costly', `A search takes at most ${MOST_VALUES} values`)
}

/** FhirError 400. */
export function spendTypes(left: QueryBudget, count: number): void {
  left.types -= count
  if (left.types < 0) throw fhirError(400, 'too-costly', 'The chain leads through too many types: name them, as in subject:Patient.name')
}
