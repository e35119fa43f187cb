/**
 * Dictionaries for packed versions, as cached by one connection. They never change and are never removed. Each is stored in two tables, and
 * so in two parts of the file, because many versions cannot be read without it.
 */
import type { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { isFault } from '../../../ports/faults.ts'
import { damagedError, toStoreFault } from '../damage.ts'

const TABLES = ['dictionary', 'dictionary_copy'] as const

type Row = { readonly bytes: Uint8Array; readonly sum: number }

/** Returns the CRC-32 of a dictionary. It is signed, so that SQLite stores it in at most four bytes. */
const sumOf = (bytes: Uint8Array): number => crc32(bytes) | 0

export class Dictionaries {
  readonly #db: DatabaseSync
  readonly #known = new Map<number, Uint8Array>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Returns the intact dictionaries of a type, the oldest first. */
  soundOf(type: string): readonly (readonly [dictionary: number, bytes: Uint8Array])[] {
    const numbers = new Set(TABLES.flatMap((table) => this.#numbersIn(table, type)))
    return [...numbers]
      .sort((a, b) => a - b)
      .flatMap((dictionary) => {
        const bytes = this.#read(dictionary)
        return bytes === undefined ? [] : [[dictionary, bytes] as const]
      })
  }

  /** Returns the dictionary. Throws the fault `store-damaged` if neither table has an intact copy. */
  bytesOf(dictionary: number): Uint8Array {
    const bytes = this.#known.get(dictionary) ?? this.#read(dictionary)
    if (bytes === undefined) throw damagedError('a dictionary of versions is not what was written')
    this.#known.set(dictionary, bytes)
    return bytes
  }

  #read(dictionary: number): Uint8Array | undefined {
    for (const table of TABLES) {
      const bytes = this.#readFrom(table, dictionary)
      if (bytes !== undefined) return bytes
    }
    return undefined
  }

  #readFrom(table: string, dictionary: number): Uint8Array | undefined {
    return unlessDamaged(() => {
      const row = this.#db.prepare(`SELECT bytes, sum FROM ${table} WHERE dictionary = ?`).get(dictionary) as Row | undefined
      // guard: dictionary-checksum
      return row !== undefined && sumOf(row.bytes) === row.sum ? row.bytes : undefined
    })
  }

  #numbersIn(table: string, type: string): readonly number[] {
    const rows = unlessDamaged(() => this.#db.prepare(`SELECT dictionary FROM ${table} WHERE type = ?`).all(type)) ?? []
    return rows.map(({ dictionary }) => dictionary as number)
  }
}

/** Returns the result of the read, or undefined if it fails because the table is damaged. */
function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (isFault(toStoreFault(error), 'store-damaged')) return undefined
    throw error
  }
}

/** Throws the fault `store-damaged` unless every dictionary is intact in both tables. */
export function checkDictionaries(db: DatabaseSync): void {
  const [table, copy] = TABLES
  for (const { n, m } of db
    .prepare(`SELECT d.dictionary AS n, c.dictionary AS m FROM ${table} d FULL JOIN ${copy} c USING (dictionary)`)
    .all())
    if (n === null || m === null) throw damagedError('a dictionary of versions is missing')
  for (const each of TABLES)
    for (const { bytes, sum } of db.prepare(`SELECT bytes, sum FROM ${each}`).iterate() as unknown as Iterable<Row>)
      if (sumOf(bytes) !== sum) throw damagedError('a dictionary of versions is not what was written')
}

/** Stores a dictionary in both tables and returns its number. Requires an open transaction. */
export function addDictionary(db: DatabaseSync, type: string, bytes: Uint8Array): number {
  const last = TABLES.map((table) => db.prepare(`SELECT max(dictionary) AS last FROM ${table}`).get()?.last as number | null)
  const number = Math.max(...last.map((each) => each ?? 0)) + 1
  for (const table of TABLES) db.prepare(`INSERT INTO ${table} VALUES (?, ?, ?, ?)`).run(number, type, bytes, sumOf(bytes))
  return number
}
