/**
 * Capacity that several caches share, in bytes or any other unit. Evicts entries that were not used recently. An entry larger than the
 * capacity evicts all others and stays.
 */
export class CacheCapacity {
  /** Entries in the order of eviction. A used entry moves to the end when its turn comes. */
  readonly #entries = new Set<Entry>()
  readonly #limit: number
  #bytes = 0

  /** `limit`: capacity, in the unit of the entries. */
  constructor(limit: number) {
    this.#limit = limit
  }

  take(entry: Entry): void {
    this.#entries.add(entry)
    this.#bytes += entry.bytes
    for (const first of this.#entries) {
      if (this.#bytes <= this.#limit || this.#entries.size === 1) break
      if (first.isUsed) this.#passOver(first)
      else if (first !== entry) first.leave()
    }
  }

  give(entry: Entry): void {
    this.#bytes -= entry.bytes
    this.#entries.delete(entry)
  }

  /** Moves a used entry to the end and marks it as unused. Entries are moved here, not at each use, because uses are far more frequent. */
  #passOver(entry: Entry): void {
    entry.isUsed = false
    this.#entries.delete(entry)
    this.#entries.add(entry)
  }
}

/** Entry of a cache. `leave`: removes the entry from its cache, which then returns the bytes to the capacity. */
type Entry = { readonly bytes: number; isUsed: boolean; readonly leave: () => void }

/** Cache that evicts entries that were not used recently when its capacity is exceeded. */
export class LruCache<Value> {
  readonly #entries = new Map<string, Entry & { readonly value: Value }>()
  readonly #capacity: CacheCapacity

  /** `capacity`: capacity shared with other caches, or the size of a capacity of its own. */
  constructor(capacity: CacheCapacity | number) {
    this.#capacity = typeof capacity === 'number' ? new CacheCapacity(capacity) : capacity
  }

  has(name: string): boolean {
    return this.#entries.has(name)
  }

  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    entry.isUsed = true
    return entry.value
  }

  /** Adds or replaces a value. `bytes`: approximate size. */
  set(name: string, value: Value, bytes: number): void {
    this.delete(name)
    const entry = { value, bytes, isUsed: false, leave: () => this.delete(name) }
    this.#entries.set(name, entry)
    this.#capacity.take(entry)
  }

  delete(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.#capacity.give(entry)
  }
}
