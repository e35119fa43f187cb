/** How much is done on behalf of a client: items gathered, copied or made. What is counted needs no clock. */

/** `left`: how much more. */
export type WorkBudget = { left: number }

/** How many items may be gathered, copied or made: far beyond any real need. */
export const MAX_WORK_ITEMS = 1_000_000

/** Characters that cost as much as an item. */
export const CHARACTERS_PER_ITEM = 64

/** It takes more than was allowed. */
export class TooCostly extends Error {
  override readonly name: string = 'TooCostly'
}

/** It was stopped, wherever it was. */
export class TookTooLong extends TooCostly {
  override readonly name = 'TookTooLong'
}

/** Throws TooCostly where so much is not left; without work there is no bound. */
export function spendWork(work: WorkBudget | undefined, amount: number): void {
  if (work === undefined) return
  work.left -= amount
  if (work.left < 0) throw new TooCostly()
}
