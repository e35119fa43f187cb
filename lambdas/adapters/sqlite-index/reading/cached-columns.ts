/**
 * Cache of one number per document, for values that many searches read. A column has the numbers of the documents that searches needed so
 * far. They are read from SQLite once.
 */
import type { DocList } from '../lists/document-sets.ts'
import type { Statements } from '../statements.ts'
import { BUDGET_CONDITION } from './budget.ts'

export type Value = string | number | null

/** Data that a column keeps besides its numbers. `bytes`: its approximate size in memory. */
export type Legend = { readonly bytes: number }

/** Describes a column. Descriptions with the same name must give the same numbers. */
export type ColumnSource<L extends Legend> = {
  readonly name: string
  /** SQL of a value of document `d`. */
  readonly sql: string
  /** Creates the legend of a new column. */
  readonly legend: () => L
  /** Returns the number for a value, or UNKNOWN if the legend has no room for it. */
  readonly numberOf: (value: Value, legend: L) => number
}

/** `numbers`: by document number; UNKNOWN for documents whose number is not cached. */
export type Column<L extends Legend> = { readonly numbers: Float64Array; readonly legend: L }

/** Maximum bytes of all columns. Above it, the columns that were not used for the longest time are dropped. */
const ROOM = 32_000_000

/** Number of documents whose values are read into memory at once. */
const AT_ONCE = 1_000

export const UNKNOWN = Number.NaN

export class CachedColumns {
  readonly #statements: Statements
  readonly #room: number
  /** Columns by name. The most recently used one is last. */
  readonly #columns = new Map<string, Column<Legend>>()

  /** `room`: maximum bytes of all columns. */
  constructor(statements: Statements, room = ROOM) {
    this.#statements = statements
    this.#room = room
  }

  /**
   * Returns a column with the numbers of all `docs`, or undefined if it has no room for them. Throws `too-costly` or SearchPreempted if the
   * search must end. The column then keeps the numbers that were read, so the next search reads fewer.
   */
  of<L extends Legend>(docs: DocList, source: ColumnSource<L>): Column<L> | undefined {
    const column = this.#grown(docs.at(-1) ?? 0, source)
    this.#columns.delete(source.name)
    if (column.numbers.byteLength > this.#room) return undefined
    this.#dropOldest(this.#room - bytesOf(column))
    this.#columns.set(source.name, column)
    const unknown = unknownOf(docs, column)
    if (unknown.length === 0 || this.#learn(unknown, column, source)) return column
    // Without its legend the column can serve other documents later.
    this.#columns.delete(source.name)
    return undefined
  }

  /** Removes the cached numbers of a document. Must be called when its row changes. */
  forget(doc: number): void {
    for (const { numbers } of this.#columns.values()) if (doc < numbers.length) numbers[doc] = UNKNOWN
  }

  clear(): void {
    this.#columns.clear()
  }

  /** Returns the cached column, or a new one, enlarged up to document `last`. */
  #grown<L extends Legend>(last: number, { name, legend }: ColumnSource<L>): Column<L> {
    const known = this.#columns.get(name) as Column<L> | undefined
    if (known !== undefined && last < known.numbers.length) return known
    // Room for a quarter more documents than needed now.
    const numbers = new Float64Array(Math.ceil((last + 1) * 1.25)).fill(UNKNOWN)
    if (known !== undefined) numbers.set(known.numbers)
    return { numbers, legend: known?.legend ?? legend() }
  }

  /** Reads the numbers of documents into the column. Returns false if it has no room for all of them. */
  #learn<L extends Legend>(unknown: readonly number[], column: Column<L>, { sql, numberOf }: ColumnSource<L>): boolean {
    const text = `SELECT d.doc, ${sql} FROM json_each(?) c CROSS JOIN document d WHERE d.doc = c.value AND ${BUDGET_CONDITION.text}`
    for (let i = 0; i < unknown.length; i += AT_ONCE) {
      const docs = unknown.slice(i, i + AT_ONCE)
      const rows = this.#statements.lists(text).all(`[${docs.join(',')}]`) as unknown as readonly (readonly [number, Value])[]
      for (const [doc, value] of rows) column.numbers[doc] = numberOf(value, column.legend)
      if (unknownOf(docs, column).length > 0) return false
    }
    return true
  }

  /** Drops the columns that were not used for the longest time, until the others take at most `most` bytes. */
  #dropOldest(most: number): void {
    let bytes = [...this.#columns.values()].reduce((sum, column) => sum + bytesOf(column), 0)
    for (const [name, column] of this.#columns) {
      if (bytes <= most) return
      this.#columns.delete(name)
      bytes -= bytesOf(column)
    }
  }
}

const bytesOf = ({ numbers, legend }: Column<Legend>): number => numbers.byteLength + legend.bytes

/** Returns the documents whose numbers are not cached. Each search calls it, so it costs little if all are. */
function unknownOf(docs: ArrayLike<number>, { numbers }: Column<Legend>): readonly number[] {
  const unknown: number[] = []
  for (let i = 0; i < docs.length; i++) if (Number.isNaN(numbers[docs[i]!])) unknown.push(docs[i]!)
  return unknown
}
