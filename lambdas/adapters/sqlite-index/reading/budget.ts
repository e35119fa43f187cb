/** Ends a search that takes too long. Nothing outside can stop a running statement, not even the end of its thread: SQLite asks at every row it looks at. */
import type { DatabaseSync } from 'node:sqlite'
import { SearchTooCostly } from '../../../ports/faults/too-costly.ts'

/** A condition that holds until the budget is used up. */
export const BUDGET_CONDITION = { text: 'within_budget()', values: [] } as const

/** `tick`: SearchTooCostly once the budget is used up. */
export type SearchBudget = { readonly begin: () => void; readonly tick: () => void }

/** Others wait: the search is to be begun again after them. */
export class SearchPreempted extends Error {}

/** `ran`: milliseconds of the search so far. Asked now and then. */
export type YieldCheck = (ran: number) => boolean

/** The clock is looked at only so often. */
const ROWS_A_LOOK = 256

/** `milliseconds`: what one search may take. Its statements throw SearchTooCostly afterwards, and SearchPreempted before where it gives way. */
export function searchBudgetOf(db: DatabaseSync, milliseconds: number, givesWay: YieldCheck = () => false): SearchBudget {
  let began = Number.POSITIVE_INFINITY
  let rows = 0
  const tick = (): void => {
    if (++rows % ROWS_A_LOOK !== 0) return
    const ran = performance.now() - began
    if (ran > milliseconds) throw new SearchTooCostly('the search used up its budget')
    if (givesWay(ran)) throw new SearchPreempted()
  }
  db.function('within_budget', () => {
    tick()
    return 1
  })
  return {
    tick,
    begin() {
      began = performance.now()
    },
  }
}
