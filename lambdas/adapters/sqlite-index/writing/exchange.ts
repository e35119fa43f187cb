/** Compares the postings of a document before and after an update, so that only changed ones are written. */
import type { ForwardEntry } from '../forward-entry.ts'

/** Pairs of combination number and value, one after another in a flat list. */
export type PostingRows = ForwardEntry[0]
export type PostingChanges = { readonly added: PostingRows; readonly removed: PostingRows }

/** Number of values that are compared, added or removed between two yields, in a few milliseconds. */
export const MAX_PIECE_VALUES = 5_000

/** Returns the rows to add and to remove. Yields after each MAX_PIECE_VALUES compared rows. */
export function* postingChangesOf(before: PostingRows, now: PostingRows): Generator<undefined, PostingChanges> {
  if (before.length === 0 || now.length === 0) return { added: now, removed: before }
  const [from, ends] = alike(before, now)
  const left = new Map<string, number>()
  for (let i = from; i < before.length - ends; i += 2) {
    left.set(`${before[i]} ${before[i + 1]}`, i)
    if (isPieceEnd(i - from)) yield
  }
  const added: (number | string)[] = []
  for (let i = from; i < now.length - ends; i += 2) {
    if (!left.delete(`${now[i]} ${now[i + 1]}`)) added.push(now[i]!, now[i + 1]!)
    if (isPieceEnd(i - from)) yield
  }
  const removed: (number | string)[] = []
  for (const i of left.values()) removed.push(before[i]!, before[i + 1]!)
  return { added, removed }
}

/** Whether to yield before the pair at index `at` of a flat list: true after every MAX_PIECE_VALUES pairs. */
export const isPieceEnd = (at: number): boolean => at > 0 && at % (2 * MAX_PIECE_VALUES) === 0

/**
 * Returns the number of equal list elements at the beginning and at the end, so that only the rest is compared. An update usually changes
 * few rows.
 */
function alike(before: PostingRows, now: PostingRows): readonly [beginning: number, end: number] {
  const shorter = Math.min(before.length, now.length)
  let [from, ends] = [0, 0]
  while (from < shorter && before[from] === now[from] && before[from + 1] === now[from + 1]) from += 2
  while (ends < shorter - from && before.at(-ends - 1) === now.at(-ends - 1) && before.at(-ends - 2) === now.at(-ends - 2)) ends += 2
  return [from, ends]
}
