/** How much is done on behalf of a client: items gathered, copied or made. What is counted needs no clock. */

/** `left`: how much more. */
export type Work = { left: number }

/** It takes more than was allowed. */
export class TooCostly extends Error {
  override readonly name: string = 'TooCostly'
}

/** Throws TooCostly where so much is not left; without work there is no bound. */
export function spend(work: Work | undefined, amount: number): void {
  if (work === undefined) return
  work.left -= amount
  if (work.left < 0) throw new TooCostly()
}
