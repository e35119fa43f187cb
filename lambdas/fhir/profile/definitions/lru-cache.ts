/** So many bytes, which several share. What was used last stays: of what needs more than all of the room the last one stays alone. */
export class CacheCapacity {
  /** In the order in which they came, or were passed over as used. */
  readonly #kept = new Set<Entry>()
  readonly #most: number
  #bytes = 0

  /** `most`: bytes. */
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

  /** It has to be used again until its turn comes again. Moved here and not when it is used: that happens far more often. */
  #passOver(entry: Entry): void {
    entry.isUsed = false
    this.#kept.delete(entry)
    this.#kept.add(entry)
  }
}

/** `leave`: it is to give its room. */
type Entry = { readonly bytes: number; isUsed: boolean; readonly leave: () => void }

/** What was used last, as long as there is room for it. */
export class LruCache<Value> {
  readonly #kept = new Map<string, Entry & { readonly value: Value }>()
  readonly #room: CacheCapacity

  /** `room`: that it shares with others, or bytes of its own. */
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

  /** `bytes`: about. */
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
