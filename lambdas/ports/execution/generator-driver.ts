/** Work in steps, as a generator that yields after each, so that other work can run in between. */

/** Runs all steps without a pause and returns the result. */
export function runToEnd<Made>(work: Generator<undefined, Made>): Made {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done === true) return piece.value
}
