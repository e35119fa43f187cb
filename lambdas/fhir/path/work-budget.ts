/** Work on behalf of a client, counted in items that are collected, copied or created. Unlike a time limit, it needs no clock. */

/** Budget of work. `left`: items that may still be collected, copied or created. */
export type WorkBudget = { left: number }

/** Maximum items that an evaluation may collect, copy or create. More throw TooCostly. No real evaluation needs nearly as many. */
export const MAX_WORK_ITEMS = 1_000_000

/** Characters that cost as much work as one item. */
export const CHARACTERS_PER_ITEM = 64

/** Error for work that exceeds its budget. */
export class TooCostly extends Error {
  override readonly name: string = 'TooCostly'
}

/** Error for work that exceeds its time limit. The work may have stopped at any point, or not have started. */
export class TookTooLong extends TooCostly {
  override readonly name = 'TookTooLong'
}

/** Subtracts `amount` from the budget. Throws TooCostly if less is left. Without `work` there is no limit. */
export function spendWork(work: WorkBudget | undefined, amount: number): void {
  if (work === undefined) return
  work.left -= amount
  if (work.left < 0) throw new TooCostly()
}
