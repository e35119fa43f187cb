/** Work that is done in pieces, between which others have their turn: a generator that yields after each. */

/** All of it at once. */
export function runToEnd<Made>(work: Generator<undefined, Made>): Made {
  for (let piece = work.next(); ; piece = work.next()) if (piece.done === true) return piece.value
}
