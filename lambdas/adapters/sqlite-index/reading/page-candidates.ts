/**
 * Selects the documents that can be on a page, so that SQLite reads and sorts only these. Different sort values may share a number
 * (sort-numbers.ts). All documents with the same number are therefore kept or dropped together.
 */
import { type DocList, type DocSet, listOf } from '../lists/document-sets.ts'
import type { CachedColumns, Value } from './cached-columns.ts'
import { nthAbove } from './nth-key.ts'
import { orderKeyOf, sortNumberOf, sortNumbers } from './sort-numbers.ts'

/**
 * `column`: SQL of the sort value of document `d`. `after`: sort value of the last document before the page. Documents on the page may have
 * the same value. Documents without a value come last.
 */
export type CandidateOrder = { readonly column: string; readonly descending: boolean; readonly after?: Value }

export class PageCandidates {
  readonly #columns: CachedColumns

  constructor(columns: CachedColumns) {
    this.#columns = columns
  }

  /** Returns the documents that can be among the first `wanted` of the page. Returns all `docs` if the column is too large to cache. */
  of(docs: DocSet, { column, descending, after }: CandidateOrder, wanted: number): DocSet {
    if (docs.length <= wanted) return docs
    const list = listOf(docs)
    const numbers = this.#columns.of(list, sortNumbers(column))?.numbers
    if (numbers === undefined) return docs
    const keys = keysOf(list, numbers, descending)
    const from = after === undefined ? Number.NEGATIVE_INFINITY : orderKeyOf(sortNumberOf(after), descending)
    return between(list, keys, from, nthAbove(keys, from, wanted))
  }
}

/** Returns one key per document, so that ascending keys are the requested order. */
function keysOf(list: DocList, numbers: Float64Array, descending: boolean): Float64Array {
  const keys = new Float64Array(list.length)
  for (let i = 0; i < list.length; i++) keys[i] = orderKeyOf(numbers[list[i]!]!, descending)
  return keys
}

/** Returns the documents of `list` whose keys are from `from` to `to`, both included. `keys`: by index in `list`. */
function between(list: DocList, keys: Float64Array, from: number, to: number): DocList {
  const into = new Uint32Array(list.length)
  let n = 0
  for (let i = 0; i < list.length; i++) if (keys[i]! >= from && keys[i]! <= to) into[n++] = list[i]!
  return into.subarray(0, n)
}
