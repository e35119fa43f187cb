/**
 * Documents of each term. A term is a value in a combination of fields. Added documents are in memory until `writing` stores them in blocks
 * on disk, so that a frequent term is written once for many of them. A document of a term is in memory or in exactly one block.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { SearchBudget } from '../reading/budget.ts'
import { type DocList, type DocSet, docListOf, hasDoc, toBits, union } from './document-sets.ts'
import { BLOCK_SIZE, docsOfBlock, type PackedBlock, packBlock } from './packed-blocks.ts'
import { packNumbers } from './packing.ts'
import { sortInPieces } from './sorted.ts'
import { TermLists, type TermQuery } from './term-lists.ts'
import { ValueLists } from './value-lists.ts'

/** Number of terms after which `writing` yields. Writing them takes a few milliseconds. */
const STEP = 1_000

export class Postings {
  readonly #budget: SearchBudget
  readonly #written: TermLists
  readonly #values: ValueLists
  /** Unwritten documents by combination number and value. A single one is stored as a number, because most values have one document. */
  readonly #pending = new Map<number, Map<string, number | number[]>>()
  #size = 0
  /** Documents that `removeWritten` removes from their blocks. */
  readonly #removals: { readonly combination: number; readonly value: string; readonly doc: number }[] = []

  constructor(db: DatabaseSync, budget: SearchBudget) {
    this.#budget = budget
    this.#written = new TermLists(db, budget)
    this.#values = new ValueLists(db, budget)
  }

  /** Number of unwritten documents, summed over the terms. */
  get size(): number {
    return this.#size
  }

  add(combination: number, value: string, doc: number): void {
    let terms = this.#pending.get(combination)
    if (terms === undefined) {
      terms = new Map()
      this.#pending.set(combination, terms)
    }
    const docs = terms.get(value)
    if (docs === undefined) terms.set(value, doc)
    else if (typeof docs === 'number') terms.set(value, [docs, doc])
    else docs.push(doc)
    this.#size++
  }

  /** Removes a document. The next `removeWritten` removes it from its block. Call that before any read and before `writing`. */
  remove(combination: number, value: string, doc: number): void {
    const terms = this.#pending.get(combination)
    const docs = listed(terms?.get(value))
    const at = docs.lastIndexOf(doc)
    if (at < 0) return void this.#removals.push({ combination, value, doc })
    if (docs.length === 1) terms!.delete(value)
    else docs.splice(at, 1)
    this.#size--
  }

  /** Removes the collected documents from their blocks. Writes each block once. */
  removeWritten(): void {
    for (const removals of Map.groupBy(this.#removals.splice(0), ({ combination, value }) => `${combination} ${value}`).values()) {
      const { combination, value } = removals[0]!
      const docs = removals.map(({ doc }) => doc)
      this.#removeFromBlocks(combination, value, isAscending(docs) ? docs : docs.sort((x, y) => x - y))
    }
  }

  /** Discards unwritten documents and the caches. Must be called after a rollback, because cached blocks may have been rolled back. */
  clear(): void {
    this.#written.clear()
    this.#values.clear()
    this.#pending.clear()
    this.#removals.length = 0
    this.#size = 0
  }

  /**
   * Writes the documents in memory, sorted by combination and value like the rows on disk. Yields after STEP terms, and while it sorts
   * many.
   */
  *writing(): Generator<undefined, undefined> {
    for (const _ of this.#writeTerms()) {
      // Between two steps, reads and removals must find every written term on disk.
      this.#written.flush()
      yield
    }
    this.#written.flush()
  }

  /** Returns all documents of `docs` that have one of the terms, and possibly others. `docs` undefined: all documents. */
  read(terms: TermQuery, docs: DocSet | undefined): DocSet {
    const pending = this.#pendingOf(terms).map((list) => docListOf(Uint32Array.from(list)))
    return union([...this.#written.among(terms, docs), ...pending])
  }

  /** Returns an upper bound for the number of documents with one of the terms, or Infinity if counting takes too long. */
  estimate(terms: TermQuery): number {
    return this.#pendingOf(terms).reduce((sum, { length }) => sum + length, this.#written.estimate(terms))
  }

  /** Yields each value that at least one of the documents has in the combinations, possibly several times. */
  *valuesAmong(combinations: readonly number[], docs: DocSet): Generator<string> {
    yield* this.#values.among(combinations, docs)
    const bits = toBits(docs)
    for (const combination of combinations)
      for (const [value, pending] of this.#pending.get(combination) ?? []) if (listed(pending).some((doc) => hasDoc(bits, doc))) yield value
  }

  /** Whether `valuesAmong` costs less than reading the forward entries of `docs` documents. */
  isSmall(combinations: readonly number[], docs: number): boolean {
    return this.#values.isSmall(combinations, docs)
  }

  #pendingOf({ combinations, values }: TermQuery): readonly (readonly number[])[] {
    const found: (readonly number[])[] = []
    for (const combination of combinations) {
      const terms = this.#pending.get(combination)
      if (terms === undefined) continue
      if (typeof values === 'function') {
        for (const [value, docs] of terms) {
          this.#budget.tick()
          if (values(value)) found.push(listed(docs))
        }
      } else
        for (const value of values) {
          const docs = terms.get(value)
          if (docs !== undefined) found.push(listed(docs))
        }
    }
    return found
  }

  /** Writes the terms in the steps of `writing`. The last ones may remain unflushed at a yield. */
  *#writeTerms(): Generator<undefined, undefined> {
    let terms = 0
    for (const combination of [...this.#pending.keys()].sort((a, b) => a - b)) {
      const values = this.#pending.get(combination)!
      for (const value of yield* sortInPieces([...values.keys()])) {
        const docs = listed(values.get(value))
        if (docs.length === 0) continue
        this.#write(combination, value, docs)
        values.delete(value)
        this.#size -= docs.length
        if (++terms % STEP === 0) yield
      }
      if (values.size === 0) this.#pending.delete(combination)
    }
  }

  #write(combination: number, value: string, added: number[]): void {
    this.#values.forget(combination)
    const last = this.#written.last(combination, value)
    if (added.length === 1 && last === undefined) return this.#written.begin(combination, value, added[0]!)
    const docs = isAscending(added) ? added : added.sort((a, b) => a - b)
    if (last === undefined || (docs[0]! > last[1] && last[2] >= BLOCK_SIZE)) return this.#putAll(combination, value, docs)
    if (docs[0]! > last[1]) return this.#append(combination, value, last, docs)
    this.#insert(combination, value, docs)
  }

  /** Fills the last block of a term, then creates further ones. Precondition: the documents have higher numbers than that block. */
  #append(combination: number, value: string, [first, last, n, before]: PackedBlock, docs: readonly number[]): void {
    const fitting = Math.min(docs.length, BLOCK_SIZE - n)
    const more = packNumbers(docs, 0, fitting, last)
    const block: PackedBlock = [first, docs[fitting - 1]!, n + fitting, before === null ? more : Buffer.concat([before, more])]
    this.#written.put(combination, value, block)
    if (fitting < docs.length) this.#putAll(combination, value, docs, fitting)
  }

  /**
   * Adds each document to the last block whose first document number is at most its own. Documents before the first block form new blocks.
   */
  #insert(combination: number, value: string, docs: readonly number[]): void {
    for (let end = docs.length; end > 0; ) {
      const block = this.#written.holding(combination, value, docs[end - 1]!)
      if (block === undefined) return this.#putAll(combination, value, docs.slice(0, end))
      let start = end - 1
      while (start > 0 && docs[start - 1]! >= block[0]) start--
      const both = new Uint32Array(block[2] + end - start)
      both.set(docsOfBlock(block))
      both.set(docs.slice(start, end), block[2])
      this.#putAll(combination, value, both.sort())
      end = start
    }
  }

  #removeFromBlocks(combination: number, value: string, removed: readonly number[]): void {
    this.#values.forget(combination)
    for (let end = removed.length; end > 0; ) {
      const block = this.#written.holding(combination, value, removed[end - 1]!)
      if (block === undefined) return
      const [first] = block
      let start = end - 1
      while (start > 0 && removed[start - 1]! >= first) start--
      const docs = withoutDocs(docsOfBlock(block), removed.slice(start, end))
      if (docs[0] !== first) this.#written.drop(combination, value, first)
      this.#putAll(combination, value, docs)
      end = start
    }
  }

  #putAll(combination: number, value: string, docs: ArrayLike<number>, from = 0): void {
    for (let start = from; start < docs.length; start += BLOCK_SIZE)
      this.#written.put(combination, value, packBlock(docs, start, Math.min(start + BLOCK_SIZE, docs.length)))
  }
}

const listed = (docs: number | number[] | undefined): number[] => (typeof docs === 'number' ? [docs] : (docs ?? []))

/** Returns the documents without the removed ones. Both are ascending. */
function withoutDocs(docs: DocList, removed: readonly number[]): DocList {
  let [n, at] = [0, 0]
  for (const doc of docs) {
    while (removed[at]! < doc) at++
    if (removed[at] !== doc) docs[n++] = doc
  }
  return docs.subarray(0, n)
}

function isAscending(docs: readonly number[]): boolean {
  for (let i = 1; i < docs.length; i++) if (docs[i - 1]! >= docs[i]!) return false
  return true
}
