/** Finds the documents that have at least one interval that passes a test. */
import {
  compact,
  type DocBits,
  type DocList,
  type DocSet,
  docBitsOf,
  docListOf,
  isDense,
  isList,
  markBetween,
  NO_DOCS,
} from '../lists/document-sets.ts'
import { extremesOf, type IntervalBounds, type IntervalTest, isWithinBounds } from './interval-test.ts'

/** Intervals as columns: index i of each column belongs to the same interval. The intervals of one document are adjacent. */
export type IntervalColumns = { readonly docs: ArrayLike<number>; readonly lows: ArrayLike<number>; readonly highs: ArrayLike<number> }
/** Interval columns by ascending document number. A document with several intervals occurs several times. */
export type IntervalEntries = { readonly docs: DocList; readonly lows: Float64Array; readonly highs: Float64Array }
/**
 * Intervals with the lowest lower bound and the highest upper bound of each part of PART intervals. Intervals of neighbouring documents are
 * often close to each other, so most parts pass or fail as a whole. `bits`: document numbers as bits; undefined if they are too sparse for
 * that.
 */
export type SummarizedEntries = {
  readonly entries: IntervalEntries
  readonly lowest: Float64Array
  readonly highest: Float64Array
  readonly bits: DocBits | undefined
}

/** Number of intervals that share one entry of `lowest` and `highest`. */
const PART = 32
/** Approximate bytes of one interval in memory, including its share of `lowest`, `highest` and `bits`. */
export const INTERVAL_BYTES = 25

export function summarizeEntries(entries: IntervalEntries): SummarizedEntries {
  const { docs, lows, highs } = entries
  const parts = Math.ceil(docs.length / PART)
  const [lowest, highest] = [new Float64Array(parts), new Float64Array(parts)]
  for (let i = 0; i < parts; i++) {
    lowest[i] = lowestOf(lows.subarray(i * PART, (i + 1) * PART))
    highest[i] = highestOf(highs.subarray(i * PART, (i + 1) * PART))
  }
  const set = compact(docListOf(docs.slice()))
  return { entries, lowest, highest, bits: isList(set) ? undefined : set }
}

export const lowestOf = (numbers: Float64Array): number => numbers.reduce((a, b) => Math.min(a, b))
export const highestOf = (numbers: Float64Array): number => numbers.reduce((a, b) => Math.max(a, b))

/** Returns the documents with a passing interval. `blocks`: blocks of one field, by ascending document number. */
export function findPassingDocs(blocks: readonly SummarizedEntries[], test: IntervalTest): DocSet {
  const [first, last] = [blocks[0]?.entries.docs[0], blocks.at(-1)?.entries.docs.at(-1)]
  if (first === undefined || last === undefined) return NO_DOCS
  const size = blocks.reduce((sum, { entries }) => sum + entries.docs.length, 0)
  return test.width === 1 && isDense(size, last - first) ? inBits(blocks, test, first, last) : inList(blocks, test, size)
}

export function filterDocs({ docs, lows, highs }: IntervalColumns, { anyOf, width, others }: IntervalTest): DocList {
  const into = new Uint32Array(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i += width)
    if (passesAny(lows[i]!, highs[i]!, anyOf) && othersPass(lows, highs, i + 1, others)) into[n++] = docs[i]!
  return docListOf(into.subarray(0, n))
}

function passesAny(low: number, high: number, anyOf: readonly IntervalBounds[]): boolean {
  for (let i = 0; i < anyOf.length; i++) if (isWithinBounds(low, high, anyOf[i]!)) return true
  return false
}

function othersPass(lows: ArrayLike<number>, highs: ArrayLike<number>, from: number, others: readonly IntervalBounds[]): boolean {
  for (let i = 0; i < others.length; i++) if (!isWithinBounds(lows[from + i]!, highs[from + i]!, others[i]!)) return false
  return true
}

function inBits(blocks: readonly SummarizedEntries[], { anyOf }: IntervalTest, first: number, last: number): DocSet {
  const base = first >>> 5
  const words = new Uint32Array((last >>> 5) - base + 1)
  for (const bounds of anyOf) for (const block of blocks) markPassing(words, base, block, bounds)
  return compact(docBitsOf(words, base))
}

function markPassing(
  words: Uint32Array,
  base: number,
  { entries, lowest, highest, bits }: SummarizedEntries,
  bounds: IntervalBounds,
): void {
  const { length } = entries.docs
  const { least, most } = extremesOf(bounds)
  for (let i = 0; i < lowest.length; i++) {
    const low = lowest[i]!
    const high = highest[i]!
    if (!(low <= most && high >= least)) continue
    const start = i * PART
    const end = Math.min(start + PART, length)
    if (bits !== undefined && low >= least && high <= most) markBetween(words, base, bits, entries.docs[start]!, entries.docs[end - 1]!)
    else markEach(words, base, entries, start, end, bounds)
  }
}

function markEach(
  words: Uint32Array,
  base: number,
  { docs, lows, highs }: IntervalEntries,
  start: number,
  end: number,
  bounds: IntervalBounds,
): void {
  const { lowFrom, lowTo, highFrom, highTo } = bounds
  for (let i = start; i < end; i++) {
    const low = lows[i]!
    const high = highs[i]!
    if (low >= lowFrom && low <= lowTo && high >= highFrom && high <= highTo) words[(docs[i]! >>> 5) - base]! |= 1 << (docs[i]! & 31)
  }
}

function inList(blocks: readonly SummarizedEntries[], test: IntervalTest, size: number): DocSet {
  const list = new Uint32Array(size)
  let n = 0
  for (const { entries } of blocks) {
    const docs = filterDocs(entries, test)
    list.set(docs, n)
    n += docs.length
  }
  return list.subarray(0, n)
}
