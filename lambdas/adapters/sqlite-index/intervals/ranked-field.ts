/**
 * Ranks of a whole field, for searches of wide ranges. Lower and upper bounds are each sorted into bins. Each bin stores, as bits, the documents of
 * all bins before it. A search tests only the intervals of the bins in which a limit lies.
 */
import { highestOf, type IntervalEntries, lowestOf } from './interval-scan.ts'
import type { IntervalBounds } from './interval-test.ts'

/** Maximum bins. */
const BINS = 32
/** Fewest bins. With fewer, ranks are not faster than a test of each interval. */
const FEWEST_BINS = 4
/** Maximum bytes of bits per interval and bound. Sparse fields have fewer bins, so that they keep to it. */
const BIT_BYTES = 32
/** Number of bounds that determine the bins. */
const SAMPLE = 1_024

type BinnedBounds = {
  /** Lowest bound of each bin, ascending, then the highest bound of all. */
  readonly limits: Float64Array
  /** Index of the first bound of each bin, then the number of bounds. */
  readonly starts: Uint32Array
  /** Bounds, bin by bin. */
  readonly bounds: Float64Array
  /** Document of each bound. */
  readonly docs: Uint32Array
  /** Rows of bits. Row b has the documents of the bins before bin b, and the last row all documents. */
  readonly before: Uint32Array
}

export class RankedField {
  /** Index of the first word with bits of the documents, and number of words (DocBits). */
  readonly base: number
  readonly width: number
  readonly #lows: BinnedBounds
  readonly #highs: BinnedBounds

  private constructor({ docs, lows, highs }: IntervalEntries, bins: number) {
    this.base = docs[0]! >>> 5
    this.width = (docs.at(-1)! >>> 5) - this.base + 1
    const form = { base: this.base, width: this.width, bins }
    this.#lows = binBounds(lows, docs, form)
    this.#highs = binBounds(highs, docs, form)
  }

  /**
   * Ranks the intervals of all blocks of a field, by ascending document number. Returns undefined if the documents are too sparse, or if one has
   * several intervals.
   */
  static of(blocks: readonly IntervalEntries[]): RankedField | undefined {
    const entries = joinBlocks(blocks)
    const { docs } = entries
    for (let i = 1; i < docs.length; i++) if (docs[i - 1] === docs[i]) return undefined
    const ranking = docs.length === 0 ? undefined : rankingOf({ first: docs[0]!, last: docs.at(-1)!, n: docs.length })
    return ranking && new RankedField(entries, ranking.bins)
  }

  get bytes(): number {
    return [this.#lows, this.#highs].reduce(
      (sum, { bounds, docs, before }) => sum + bounds.byteLength + docs.byteLength + before.byteLength,
      0,
    )
  }

  /** Returns an upper bound for the number of documents that pass. */
  estimate(bounds: IntervalBounds): number {
    const { lowFrom, lowTo, highFrom, highTo } = bounds
    return Math.min(sizeBetween(this.#lows, lowFrom, lowTo), sizeBetween(this.#highs, highFrom, highTo))
  }

  /** Returns the bits of the documents that pass one of `anyOf`. The first word has the index `base`. */
  passing(anyOf: readonly IntervalBounds[]): Uint32Array {
    const words = new Uint32Array(this.width)
    for (const bounds of anyOf) {
      const found = this.#select(bounds)
      for (let i = 0; i < words.length; i++) words[i]! |= found[i]!
    }
    return words
  }

  /** Returns the bits of the documents that pass. The next call overwrites them. */
  #select({ lowFrom, lowTo, highFrom, highTo }: IntervalBounds): Uint32Array {
    if (scratch.length < this.width) scratch = new Uint32Array(this.width)
    const words = scratch.subarray(0, this.width)
    // This condition also covers NaN limits.
    if (!(lowFrom <= lowTo && highFrom <= highTo)) return words.fill(0)
    const { before } = this.#lows
    words.set(before.subarray(before.length - this.width))
    dropLess(words, this.base, this.#lows, lowFrom)
    dropMore(words, this.base, this.#lows, lowTo)
    dropLess(words, this.base, this.#highs, highFrom)
    dropMore(words, this.base, this.#highs, highTo)
    return words
  }
}

/** Bits of the latest test. Searches that allocate less memory cause fewer collections of garbage. */
let scratch = new Uint32Array(0)

/** Returns the number of bins for `n` intervals, and the approximate bytes of their ranks. Returns undefined if the documents are too sparse. */
export function rankingOf({ first, last, n }: { readonly first: number; readonly last: number; readonly n: number }) {
  const range = last - first + 1
  const bins = Math.min(BINS, Math.floor((8 * BIT_BYTES * n) / range))
  return bins < FEWEST_BINS ? undefined : { bins, bytes: 2 * (12 * n + ((bins + 1) * range) / 8) }
}

function joinBlocks(blocks: readonly IntervalEntries[]): IntervalEntries {
  const n = blocks.reduce((sum, { docs }) => sum + docs.length, 0)
  const [docs, lows, highs] = [new Uint32Array(n), new Float64Array(n), new Float64Array(n)]
  let at = 0
  for (const block of blocks) {
    docs.set(block.docs, at)
    lows.set(block.lows, at)
    highs.set(block.highs, at)
    at += block.docs.length
  }
  return { docs, lows, highs }
}

type Form = { readonly base: number; readonly width: number; readonly bins: number }

function binBounds(unordered: Float64Array, docs: Uint32Array, { base, width, bins }: Form): BinnedBounds {
  const n = unordered.length
  const [limits, starts, binOf] = [limitsOf(unordered, bins), new Uint32Array(bins + 1), new Uint8Array(n)]
  for (let i = 0; i < n; i++) {
    binOf[i] = lastBinUpTo(limits, unordered[i]!)
    starts[binOf[i]! + 1]!++
  }
  for (let bin = 0; bin < bins; bin++) starts[bin + 1]! += starts[bin]!
  const before = new Uint32Array((bins + 1) * width)
  const [bounds, ordered, next] = [new Float64Array(n), new Uint32Array(n), starts.slice()]
  for (let i = 0; i < n; i++) {
    const [bin, doc] = [binOf[i]!, docs[i]!]
    const at = next[bin]!++
    bounds[at] = unordered[i]!
    ordered[at] = doc
    before[(bin + 1) * width + (doc >>> 5) - base]! |= 1 << (doc & 31)
  }
  for (let i = width; i < before.length; i++) before[i]! |= before[i - width]!
  return { limits, starts, bounds, docs: ordered, before }
}

/** Returns the limits of BinnedBounds. A sample of the bounds makes the bins about equally large. */
function limitsOf(bounds: Float64Array, bins: number): Float64Array {
  const [sample, limits] = [new Float64Array(Math.min(SAMPLE, bounds.length)), new Float64Array(bins + 1)]
  for (let i = 0; i < sample.length; i++) sample[i] = bounds[Math.floor((i * bounds.length) / sample.length)]!
  sample.sort()
  for (let bin = 1; bin < bins; bin++) limits[bin] = sample[Math.floor((bin * sample.length) / bins)]!
  limits[0] = lowestOf(bounds)
  limits[bins] = highestOf(bounds)
  return limits
}

/** Returns the last bin whose lowest bound is at most `value`, or -1 if there is none. */
function lastBinUpTo(limits: Float64Array, value: number): number {
  const bins = limits.length - 1
  let bin = -1
  for (let step = BINS; step > 0; step >>>= 1) if (bin + step < bins && limits[bin + step]! <= value) bin += step
  return bin
}

function sizeBetween({ limits, starts }: BinnedBounds, from: number, to: number): number {
  const [first, last] = [Math.max(0, lastBinUpTo(limits, from)), lastBinUpTo(limits, to)]
  return last < first ? 0 : starts[last + 1]! - starts[first]!
}

/** Clears the bits of the documents whose bound is less than `from`. */
function dropLess(words: Uint32Array, base: number, { limits, starts, bounds, docs, before }: BinnedBounds, from: number): void {
  const bin = lastBinUpTo(limits, from)
  if (bin < 0) return
  for (let i = 0, row = bin * words.length; i < words.length; i++) words[i]! &= ~before[row + i]!
  const end = starts[bin + 1]!
  for (let i = starts[bin]!; i < end; i++) if (bounds[i]! < from) words[(docs[i]! >>> 5) - base]! &= ~(1 << (docs[i]! & 31))
}

/** Clears the bits of the documents whose bound is more than `to`. */
function dropMore(words: Uint32Array, base: number, { limits, starts, bounds, docs, before }: BinnedBounds, to: number): void {
  if (to >= limits.at(-1)!) return
  const bin = lastBinUpTo(limits, to)
  for (let i = 0, row = (bin + 1) * words.length; i < words.length; i++) words[i]! &= before[row + i]!
  if (bin < 0) return
  const end = starts[bin + 1]!
  for (let i = starts[bin]!; i < end; i++) if (bounds[i]! > to) words[(docs[i]! >>> 5) - base]! &= ~(1 << (docs[i]! & 31))
}
