/**
 * Stops a search that takes too long. A running statement cannot be stopped from outside, not even by ending its thread. Statements
 * therefore call `within_budget()` for every row.
 */
import type { DatabaseSync } from 'node:sqlite'
import { MachineFault } from '../../../ports/faults.ts'

/** SQL condition that is always true. Its evaluation throws if the search used up its budget or must yield (`tick`). */
export const BUDGET_CONDITION = { text: 'within_budget()', values: [] } as const

/**
 * `begin` starts the clock for a search. `most`: maximum milliseconds of the search, if fewer than those of the connection. Call `tick` for
 * every row or block that a search reads. It throws the fault `too-costly` after the search used up its budget, and SearchPreempted if the
 * search must yield.
 */
export type SearchBudget = { readonly begin: (most?: number) => void; readonly tick: () => void }

/** Thrown by a search that must yield because other searches wait. The caller must start it again after them. */
export class SearchPreempted extends Error {}

/** Whether the running search must yield. `ran`: milliseconds since it began. Called every ROWS_A_LOOK ticks. */
export type YieldCheck = (ran: number) => boolean

/** Number of ticks between two checks of the clock. */
const ROWS_A_LOOK = 256

/**
 * Creates the budget for the searches of a connection, and its SQL function `within_budget`. A search longer than `milliseconds` throws the
 * fault `too-costly`. It throws SearchPreempted if `givesWay` returns true before.
 */
export function searchBudgetOf(db: DatabaseSync, milliseconds: number, givesWay: YieldCheck = () => false): SearchBudget {
  let began = Number.POSITIVE_INFINITY
  let rows = 0
  let allowed = milliseconds
  const tick = (): void => {
    if (++rows % ROWS_A_LOOK !== 0) return
    const ran = performance.now() - began
    if (ran > allowed) throw new MachineFault('too-costly', 'the search used up its budget')
    if (givesWay(ran)) throw new SearchPreempted()
  }
  db.function('within_budget', () => {
    tick()
    return 1
  })
  return {
    tick,
    begin(most = milliseconds) {
      allowed = Math.min(milliseconds, most)
      began = performance.now()
    },
  }
}
