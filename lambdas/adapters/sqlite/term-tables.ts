/**
 * All terms of a combination of fields with their documents, decoded: which values some documents have is asked of all of them. Kept in bounded
 * memory until a term of the combination is written.
 */
import type { DocSet } from './docs.ts'

/** A value for each of its chunks. */
export type TermTable = readonly (readonly [value: string, docs: DocSet])[]

export class TermTables {
  readonly #most: number
  readonly #bytesOf: (table: TermTable) => number
  readonly #tables = new Map<number, TermTable>()
  #bytes = 0

  /** In bytes: all tables at most, and what one takes. */
  constructor(most: number, bytesOf: (table: TermTable) => number) {
    this.#most = most
    this.#bytesOf = bytesOf
  }

  get(combination: number): TermTable | undefined {
    return this.#tables.get(combination)
  }

  /** Unless it is too large. */
  keep(combination: number, table: TermTable): void {
    const bytes = this.#bytesOf(table)
    if (bytes > this.#most) return
    if (this.#bytes + bytes > this.#most) this.clear()
    this.#tables.set(combination, table)
    this.#bytes += bytes
  }

  drop(combination: number): void {
    const table = this.#tables.get(combination)
    if (table === undefined) return
    this.#tables.delete(combination)
    this.#bytes -= this.#bytesOf(table)
  }

  clear(): void {
    this.#tables.clear()
    this.#bytes = 0
  }
}
