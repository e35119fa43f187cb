/** What was used last, as long as there is room for it: of what needs more than all of the room the last one stays alone. */
type Entry<Value> = { readonly value: Value; readonly bytes: number; isUsed: boolean }

export class LatelyUsed<Value> {
  /** In the order in which they came, or were passed over as used. */
  readonly #kept = new Map<string, Entry<Value>>()
  readonly #most: number
  #bytes = 0

  /** `most`: bytes. */
  constructor(most: number) {
    this.#most = most
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
    this.#kept.set(name, { value, bytes, isUsed: false })
    this.#bytes += bytes
    for (const [first, entry] of this.#kept) {
      if (this.#bytes <= this.#most || this.#kept.size === 1) break
      if (entry.isUsed) this.#passOver(first, entry)
      else if (first !== name) this.delete(first)
    }
  }

  delete(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0
    this.#kept.delete(name)
  }

  /** It has to be used again until its turn comes again. Moved here and not when it is used: that happens far more often. */
  #passOver(name: string, entry: Entry<Value>): void {
    entry.isUsed = false
    this.#kept.delete(name)
    this.#kept.set(name, entry)
  }
}
