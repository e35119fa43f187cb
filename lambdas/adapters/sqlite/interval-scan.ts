/** The documents of blocks of intervals that pass a test. */
import { compact, type DocSet, type Docs, dense, docsOf, isMany, mark, NO_DOCS } from './docs.ts'
import { allPass, type Bounds, type IntervalTest, mayPass, passes } from './interval-test.ts'

/** Intervals with their documents, those of a document together. */
export type Columns = { readonly docs: ArrayLike<number>; readonly lows: ArrayLike<number>; readonly highs: ArrayLike<number> }
/** Documents in ascending order. */
export type Entries = { readonly docs: Docs; readonly lows: Float64Array; readonly highs: Float64Array }
/** Intervals of neighbours: they often lie near to each other, so that few must be looked at one by one. */
type Part = { readonly start: number; readonly end: number; readonly docs: DocSet; readonly lowest: number; readonly highest: number }
export type Parted = { readonly entries: Entries; readonly parts: readonly Part[] }

/** Intervals of a part. */
const PART = 32
/** Bytes of an interval in its part, about. */
export const INTERVAL_BYTES = 28

export function parted(entries: Entries): Parted {
  const { docs, lows, highs } = entries
  const parts: Part[] = []
  for (let start = 0; start < docs.length; start += PART) {
    const end = Math.min(start + PART, docs.length)
    const [lowest, highest] = [lowestOf(lows.subarray(start, end)), highestOf(highs.subarray(start, end))]
    parts.push({ start, end, docs: compact(docsOf(docs.slice(start, end))), lowest, highest })
  }
  return { entries, parts }
}

export const lowestOf = (numbers: Float64Array): number => numbers.reduce((a, b) => Math.min(a, b))
export const highestOf = (numbers: Float64Array): number => numbers.reduce((a, b) => Math.max(a, b))

/** Of the blocks of a field, in ascending order. */
export function passingOf(blocks: readonly Parted[], test: IntervalTest): DocSet {
  const [first, last] = [blocks[0]?.entries.docs[0], blocks.at(-1)?.entries.docs.at(-1)]
  if (first === undefined || last === undefined) return NO_DOCS
  const size = blocks.reduce((sum, { entries }) => sum + entries.docs.length, 0)
  return test.width === 1 && isMany(size, last - first) ? inBits(blocks, test, first, last) : inList(blocks, test, size)
}

export function passing({ docs, lows, highs }: Columns, { anyOf, width, others }: IntervalTest): Docs {
  const into = new Uint32Array(docs.length)
  let n = 0
  for (let i = 0; i < docs.length; i += width)
    if (passesAny(lows[i]!, highs[i]!, anyOf) && othersPass(lows, highs, i + 1, others)) into[n++] = docs[i]!
  return docsOf(into.subarray(0, n))
}

function passesAny(low: number, high: number, anyOf: readonly Bounds[]): boolean {
  for (let i = 0; i < anyOf.length; i++) if (passes(low, high, anyOf[i]!)) return true
  return false
}

function othersPass(lows: ArrayLike<number>, highs: ArrayLike<number>, from: number, others: readonly Bounds[]): boolean {
  for (let i = 0; i < others.length; i++) if (!passes(lows[from + i]!, highs[from + i]!, others[i]!)) return false
  return true
}

function inBits(blocks: readonly Parted[], { anyOf }: IntervalTest, first: number, last: number): DocSet {
  const base = first >>> 5
  const words = new Uint32Array((last >>> 5) - base + 1)
  for (const { entries, parts } of blocks)
    for (const part of parts)
      for (const bounds of anyOf) {
        if (!mayPass(part.lowest, part.highest, bounds)) continue
        if (allPass(part.lowest, part.highest, bounds)) mark(words, base, part.docs)
        else markPassing(words, base, entries, part, bounds)
      }
  return compact(dense(words, base))
}

function markPassing(words: Uint32Array, base: number, { docs, lows, highs }: Entries, { start, end }: Part, bounds: Bounds): void {
  const { lowFrom, lowTo, highFrom, highTo } = bounds
  for (let i = start; i < end; i++) {
    const low = lows[i]!
    const high = highs[i]!
    if (low >= lowFrom && low <= lowTo && high >= highFrom && high <= highTo) words[(docs[i]! >>> 5) - base]! |= 1 << (docs[i]! & 31)
  }
}

function inList(blocks: readonly Parted[], test: IntervalTest, size: number): DocSet {
  const list = new Uint32Array(size)
  let n = 0
  for (const { entries } of blocks) {
    const docs = passing(entries, test)
    list.set(docs, n)
    n += docs.length
  }
  return list.subarray(0, n)
}
