/**
 * Stops a search that takes too long. A running statement cannot be stopped from outside, not even by ending its thread. SQLite therefore
 * checks the budget at every row.
 */
import type { DatabaseSync } from 'node:sqlite'
import { MachineFault } from '../../../ports/faults.ts'

/** SQL condition that is always true, but throws once the budget is used up. */
export const BUDGET_CONDITION = { text: 'within_budget()', values: [] } as const

/**
 * `begin`: starts the clock for a search. `tick`: throws the fault `too-costly` once the budget is used up, and SearchPreempted if the
 * search must yield.
 */
export type SearchBudget = { readonly begin: () => void; readonly tick: () => void }

/** Thrown because other searches wait. The search must start again after them. */
export class SearchPreempted extends Error {}

/** Whether the running search must yield. `ran`: milliseconds it has run so far. Called now and then. */
export type YieldCheck = (ran: number) => boolean

/** Number of ticks between two checks of the clock. */
const ROWS_A_LOOK = 256

/**
 * Creates the budget of `milliseconds` per search. Beyond it, statements throw the fault `too-costly`. They throw SearchPreempted if
 * `givesWay` returns true before.
 */
export function searchBudgetOf(db: DatabaseSync, milliseconds: number, givesWay: YieldCheck = () => false): SearchBudget {
  let began = Number.POSITIVE_INFINITY
  let rows = 0
  const tick = (): void => {
    if (++rows % ROWS_A_LOOK !== 0) return
    const ran = performance.now() - began
    if (ran > milliseconds) throw new MachineFault('too-costly', 'the search used up its budget')
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
