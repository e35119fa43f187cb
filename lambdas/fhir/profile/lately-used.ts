/** What was used last, as long as there is room for it: of what needs more than all of the room the last one stays alone. */
type Entry<Value> = { readonly value: Value; readonly bytes: number }

export class LatelyUsed<Value> {
  /** The last used come last. */
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
    this.#kept.delete(name)
    this.#kept.set(name, entry)
    return entry.value
  }

  /** `bytes`: about. */
  set(name: string, value: Value, bytes: number): void {
    this.delete(name)
    this.#kept.set(name, { value, bytes })
    this.#bytes += bytes
    for (const first of this.#kept.keys()) {
      if (this.#bytes <= this.#most || this.#kept.size === 1) break
      this.delete(first)
    }
  }

  delete(name: string): void {
    this.#bytes -= this.#kept.get(name)?.bytes ?? 0
    this.#kept.delete(name)
  }
}
