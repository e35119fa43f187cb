/** Runs work that is a generator of steps. A generator yields after each step, so that a driver can let other work run in between. */

/** Runs all steps of a generator without a pause, and returns its result. */
export function runToEnd<Made>(work: Generator<undefined, Made>): Made {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done === true) return piece.value
}
