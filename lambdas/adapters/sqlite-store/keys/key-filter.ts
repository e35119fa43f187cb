/**
 * Filter of the resources that the key table may have, in memory that threads share. Reads and writes of a new resource then read no page
 * of that table. It is a Bloom filter with two hash functions (https://doi.org/10.1145/362686.362692). Its false positive rate for new
 * resources is about 1 % with 1.7 million resources in the table, and about 20 % with 10 million. The writer thread adds each resource
 * before the transaction that inserts its key into the table becomes visible.
 */
import type { DatabaseSync } from 'node:sqlite'

const BITS = 25
const BYTES = 2 ** BITS / 8
const UNUSED = 32 - BITS
/** Number of keys that one step of `fill` reads, in about 10 ms. */
const SLICE = 10_000

export class KeyFilter {
  readonly shared: SharedArrayBuffer
  readonly #words: Int32Array
  /** One word: 1 once the filter has all resources that the table had at the start. Before that, `mayHave` is always true. */
  readonly #whole: Int32Array

  /** `shared`: buffer of another thread's filter. Default: a new, empty filter. */
  constructor(shared = new SharedArrayBuffer(BYTES + 4)) {
    this.shared = shared
    this.#words = new Int32Array(shared, 0, BYTES / 4)
    this.#whole = new Int32Array(shared, BYTES, 1)
  }

  add(kind: number, id: string): void {
    const [first, second] = placesOf(kind, id)
    this.#set(first)
    this.#set(second)
  }

  /** Whether the table may have a version of the resource. If false, it certainly has none. */
  mayHave(kind: number, id: string): boolean {
    if (!this.#isWhole()) return true
    const [first, second] = placesOf(kind, id)
    return this.#has(first) && this.#has(second)
  }

  /** Adds the resources of the table, one slice per step. The filter takes effect with the last step. */
  *fill(db: DatabaseSync): Generator<void> {
    if (this.#isWhole()) return
    const after = db.prepare('SELECT kind, id FROM key WHERE (kind, id) > (?, ?) ORDER BY kind, id LIMIT ?')
    let last: Key | undefined = { kind: 0, id: '' }
    while (last !== undefined) {
      const keys = after.all(last.kind, last.id, SLICE) as unknown as Key[]
      for (const { kind, id } of keys) this.add(kind, id)
      last = keys.at(-1)
      yield
    }
    Atomics.store(this.#whole, 0, 1)
  }

  #isWhole(): boolean {
    return Atomics.load(this.#whole, 0) === 1
  }

  #set(place: number): void {
    this.#words[place >>> 5]! |= 1 << (place & 31)
  }

  #has(place: number): boolean {
    return (this.#words[place >>> 5]! & (1 << (place & 31))) !== 0
  }
}

/** Local copy: in a sandbox, as in tests, access to a global costs more than the rest of the loop. */
const { imul } = Math

type Key = { readonly kind: number; readonly id: string }

/**
 * Returns two bit positions of a resource, from two hashes: FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/), and a variant with another
 * start value and factor.
 */
function placesOf(kind: number, id: string): readonly [number, number] {
  let first = imul(kind, 0x9e3779b1) ^ 0x811c9dc5
  let second = imul(kind, 0x85ebca6b)
  for (let i = 0; i < id.length; i++) {
    first = imul(first ^ id.charCodeAt(i), 0x01000193)
    second = imul(second ^ id.charCodeAt(i), 0x5bd1e995)
  }
  return [(first ^ (first >>> 16)) >>> UNUSED, (second ^ (second >>> 15)) >>> UNUSED]
}
