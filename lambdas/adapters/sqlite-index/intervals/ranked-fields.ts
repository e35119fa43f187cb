/**
 * Cache of ranked fields (ranked-field.ts). A field stays ranked while its blocks change: searches leave out the regions of changed blocks, and
 * test their intervals one by one. After many changes the field is ranked again.
 */
import { compact, type DocSet, docBitsOf, lowerBoundIndex } from '../lists/document-sets.ts'
import type { IntervalEntries } from './interval-scan.ts'
import type { IntervalTest } from './interval-test.ts'
import { RankedField, rankingOf } from './ranked-field.ts'

/** Maximum bytes of all ranked fields. */
const MOST_KEPT = 32_000_000
/** Number of searches after which an unused field is dropped when others need its room. Fields that are used in turn must not displace each other. */
const IDLE = 1_000
/** Part of the blocks of a field that may change before the field is ranked again. */
const MOST_CHANGED = 1 / 8

/** Blocks of a field. `n`: number of their intervals. `read`: returns them by ascending document number. */
type FieldBlocks = { readonly first: number; readonly last: number; readonly n: number; readonly read: () => readonly IntervalEntries[] }

export class RankedFields {
  readonly #room: number
  readonly #known = new Map<number, FieldRanks>()
  #searches = 0

  /** `room`: maximum bytes of all ranked fields. */
  constructor(room = MOST_KEPT) {
    this.#room = room
  }

  /**
   * Returns the ranks of a field, and ranks it if necessary. Returns undefined if its documents are too sparse, if one has several intervals, or
   * if there is no room for the ranks.
   */
  of(field: number, blocks: FieldBlocks): FieldRanks | undefined {
    this.#searches++
    let ranks = this.#known.get(field)
    if (ranks === undefined || ranks.isOutdated) {
      this.#known.delete(field)
      const bytes = rankingOf(blocks)?.bytes
      if (bytes === undefined || bytes > this.#roomLeft()) return undefined
      ranks = new FieldRanks(blocks.read())
      this.#known.set(field, ranks)
    }
    ranks.used = this.#searches
    return ranks.isRanked ? ranks : undefined
  }

  /** Returns the ranks of a field if it is ranked and none of its blocks has changed since. */
  unchanged(field: number): FieldRanks | undefined {
    const ranks = this.#known.get(field)
    return ranks?.isRanked && !ranks.isChanged ? ranks : undefined
  }

  /** Must be called when a block that begins with this document is written or removed. */
  onChange(field: number, first: number): void {
    this.#known.get(field)?.onChange(first)
  }

  clear(): void {
    this.#known.clear()
  }

  /** Drops idle fields, and returns the bytes that the others leave. */
  #roomLeft(): number {
    for (const [field, { used }] of this.#known) if (used < this.#searches - IDLE) this.#known.delete(field)
    return [...this.#known.values()].reduce((left, { bytes }) => left - bytes, this.#room)
  }
}

/** Ranks of a field. Region i begins with the first document of block i; region −1 is before the first block. */
export class FieldRanks {
  readonly #ranked: RankedField | undefined
  readonly #firsts: Uint32Array
  /** Regions whose blocks have changed. */
  readonly #changed = new Set<number>()
  /** First documents of blocks that were written or removed. Many new blocks may be in the last region. */
  readonly #written = new Set<number>()
  /** Number of the latest search that used it. */
  used = 0

  constructor(blocks: readonly IntervalEntries[]) {
    this.#firsts = Uint32Array.from(blocks, ({ docs }) => docs[0]!)
    this.#ranked = RankedField.of(blocks)
  }

  get isRanked(): boolean {
    return this.#ranked !== undefined
  }

  get isChanged(): boolean {
    return this.#changed.size > 0
  }

  get isOutdated(): boolean {
    return this.#written.size > this.#firsts.length * MOST_CHANGED
  }

  get bytes(): number {
    return this.#firsts.byteLength + (this.#ranked?.bytes ?? 0)
  }

  onChange(first: number): void {
    this.#changed.add(this.#regionOf(first))
    this.#written.add(first)
  }

  /** Whether the ranks lack the intervals of the block that begins with this document. */
  lacks(first: number): boolean {
    return this.#changed.has(this.#regionOf(first))
  }

  /** Returns an upper bound for the number of documents with a passing interval. Precondition: the field is ranked and not changed. */
  estimate({ anyOf }: IntervalTest): number {
    return anyOf.reduce((sum, bounds) => sum + this.#ranked!.estimate(bounds), 0)
  }

  /** Returns the documents with a passing interval, without those of changed regions. Preconditions: the field is ranked, and the width is 1. */
  passing({ anyOf }: IntervalTest): DocSet {
    const { base } = this.#ranked!
    const words = this.#ranked!.passing(anyOf)
    for (const region of this.#changed) clearBits(words, this.#startOf(region) - 32 * base, this.#startOf(region + 1) - 32 * base)
    return compact(docBitsOf(words, base))
  }

  #regionOf(first: number): number {
    return lowerBoundIndex(this.#firsts, first + 1, 0) - 1
  }

  #startOf(region: number): number {
    return region < 0 ? 0 : (this.#firsts[region] ?? Number.POSITIVE_INFINITY)
  }
}

/** Clears the bits from `from` up to, and without, `to`. They may be outside the words. */
function clearBits(words: Uint32Array, from: number, to: number): void {
  const end = Math.min(to, words.length * 32)
  for (let bit = Math.max(0, from); bit < end; ) {
    if ((bit & 31) === 0 && bit + 32 <= end) {
      words[bit >>> 5] = 0
      bit += 32
    } else {
      words[bit >>> 5]! &= ~(1 << (bit & 31))
      bit++
    }
  }
}
