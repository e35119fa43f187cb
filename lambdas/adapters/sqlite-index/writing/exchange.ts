/** What of a document's postings is new, and what is none any more: only that is touched. */
import type { ForwardEntry } from '../forward-entry.ts'

/** Combination and value, one after the other. */
export type PostingRows = ForwardEntry[0]
export type PostingChanges = { readonly added: PostingRows; readonly removed: PostingRows }

/** Values that are looked at, or put into memory, in a few milliseconds. */
export const MAX_PIECE_VALUES = 5_000

/** In pieces, where there are many. */
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

/** Whether another piece ends with the row that begins so far from the first. */
export const isPieceEnd = (at: number): boolean => at > 0 && at % (2 * MAX_PIECE_VALUES) === 0

/** How much is alike at the beginning, and at the end: an update changes little, and leaves the rest in its order. */
function alike(before: PostingRows, now: PostingRows): readonly [beginning: number, end: number] {
  const shorter = Math.min(before.length, now.length)
  let [from, ends] = [0, 0]
  while (from < shorter && before[from] === now[from] && before[from + 1] === now[from + 1]) from += 2
  while (ends < shorter - from && before.at(-ends - 1) === now.at(-ends - 1) && before.at(-ends - 2) === now.at(-ends - 2)) ends += 2
  return [from, ends]
}
