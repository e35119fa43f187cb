/** Capacity in bytes that several caches share. Evicts entries not used lately. An entry larger than the capacity stays alone. */
export class CacheCapacity {
  /** Entries in the order in which they were added, or passed over because they were used. */
  readonly #kept = new Set<Entry>()
  readonly #most: number
  #bytes = 0

  /** `most`: capacity in bytes. */
  constructor(most: number) {
    this.#most = most
  }

  take(entry: Entry): void {
    this.#kept.add(entry)
    this.#bytes += entry.bytes
    for (const first of this.#kept) {
      if (this.#bytes <= this.#most || this.#kept.size === 1) break
      if (first.isUsed) this.#passOver(first)
      else if (first !== entry) first.leave()
    }
  }

  give(entry: Entry): void {
    this.#bytes -= entry.bytes
    this.#kept.delete(entry)
  }

  /** Moves a used entry to the end and clears its mark. Entries are moved here, not at each use, because uses are far more frequent. */
  #passOver(entry: Entry): void {
    entry.isUsed = false
    this.#kept.delete(entry)
    this.#kept.add(entry)
  }
}

/** `leave`: removes the entry from its cache, which returns the bytes. */
type Entry = { readonly bytes: number; isUsed: boolean; readonly leave: () => void }

/** Cache of the entries that were used lately, as far as the capacity allows. */
export class LruCache<Value> {
  readonly #kept = new Map<string, Entry & { readonly value: Value }>()
  readonly #room: CacheCapacity

  /** `room`: a capacity shared with other caches, or bytes of its own. */
  constructor(room: CacheCapacity | number) {
    this.#room = typeof room === 'number' ? new CacheCapacity(room) : room
  }

  has(name: string): boolean {
    return this.#kept.has(name)
  }

  get(name: string): Value | undefined {
    const entry = this.#kept.get(name)
    if (entry === undefined) return undefined
    entry.isUsed = true
    return entry.value
  }

  /** Adds or replaces a value. `bytes`: approximate size. */
  set(name: string, value: Value, bytes: number): void {
    this.delete(name)
    const entry = { value, bytes, isUsed: false, leave: () => this.delete(name) }
    this.#kept.set(name, entry)
    this.#room.take(entry)
  }

  delete(name: string): void {
    const entry = this.#kept.get(name)
    if (entry === undefined) return
    this.#kept.delete(name)
    this.#room.give(entry)
  }
}
