/** Ends a search that takes too long. Nothing outside can stop a running statement, not even the end of its thread: SQLite asks at every row it looks at. */
import type { DatabaseSync } from 'node:sqlite'
import { SearchTooCostly } from '../../../ports/too-costly.ts'

/** A condition that holds until the budget is used up. */
export const TICK = { text: 'within_budget()', values: [] } as const

/** `tick`: SearchTooCostly once the budget is used up. */
export type Budget = { readonly begin: () => void; readonly tick: () => void }

/** The clock is looked at only so often. */
const ROWS_A_LOOK = 256

/** `milliseconds`: what one search may take. Its statements throw SearchTooCostly afterwards. */
export function budgetOf(db: DatabaseSync, milliseconds: number): Budget {
  let end = Number.POSITIVE_INFINITY
  let rows = 0
  const tick = (): void => {
    if (++rows % ROWS_A_LOOK === 0 && performance.now() > end) throw new SearchTooCostly('the search used up its budget')
  }
  db.function('within_budget', () => {
    tick()
    return 1
  })
  return {
    tick,
    begin() {
      end = performance.now() + milliseconds
    },
  }
}
