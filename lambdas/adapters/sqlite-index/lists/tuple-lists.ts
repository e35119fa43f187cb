/**
 * The lists of tuples. Tuples of a combination of fields that differ in nothing but their ranges are in one list, and stand among the intervals
 * (intervals.ts) under its number below zero: the ranges of each one after the other. Real documents need few lists, each of many tuples.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { LabelTest, Predicate } from '../../../ports/search/plan.ts'
import type { Tuple } from '../../../ports/search/search-index.ts'
import { BUDGET_CONDITION } from '../reading/budget.ts'
import { joinSql, type Sql, sql } from '../reading/sql.ts'
import { Statements } from '../statements.ts'

/** Lists whose tuples have so many ranges. */
export type TupleListGroup = { readonly ranges: number; readonly lists: readonly number[] }

type TupleTest = Extract<Predicate, { kind: 'tuple' }>

/** Lists whose numbers are known by heart. */
const MOST_KNOWN = 10_000

export class TupleLists {
  readonly #statements: Statements
  readonly #number
  readonly #add
  readonly #drop
  readonly #known = new Map<string, number>()

  constructor(db: DatabaseSync) {
    this.#statements = new Statements(db)
    this.#number = this.#statements.lists('SELECT list FROM tuples WHERE combination = ? AND key = ? AND ranges = ? AND labels = ?')
    this.#add = db.prepare('INSERT INTO tuples (combination, key, ranges, labels) VALUES (?, ?, ?, ?)')
    this.#drop = db.prepare('DELETE FROM tuples WHERE list = ?')
  }

  /** The number of a tuple's list, made when first met. */
  listOf(combination: number, { key, labels, ranges: { length } }: Tuple): number {
    const lines = linesOf(labels)
    const name = `${combination} ${length} ${lines.length} ${lines}${key}`
    let list = this.#known.get(name)
    if (list === undefined) {
      const row = this.#number.get(combination, key, length, lines) as unknown as [number] | undefined
      list = row?.[0] ?? Number(this.#add.run(combination, key, length, lines).lastInsertRowid)
      if (this.#known.size === MOST_KNOWN) this.#known.clear()
      this.#known.set(name, list)
    }
    return list
  }

  /** A list without tuples. */
  drop(list: number): void {
    this.#known.clear()
    this.#drop.run(list)
  }

  /** Forgets what it knows by heart: the transaction was rolled back. */
  clear(): void {
    this.#known.clear()
  }

  /** Those whose tuples pass if their ranges do. */
  passing({ key, labels, ranges }: TupleTest, combinations: readonly number[]): readonly TupleListGroup[] {
    if (combinations.length === 0) return []
    const ofKey = key === undefined ? [] : [sql('key = ?', key)]
    const { text, values } = joinSql([...ofKey, sql('ranges >= ?', ranges.length), ...labels.map(labelled), BUDGET_CONDITION], ' AND ')
    const where = `combination IN (${combinations.join(', ')}) AND ${text}`
    const rows = this.#statements.lists(`SELECT ranges, json_group_array(list) FROM tuples WHERE ${where} GROUP BY ranges`).all(...values)
    return (rows as unknown as readonly [number, string][]).map(([ranges, lists]) => ({ ranges, lists: JSON.parse(lists) as number[] }))
  }
}

/** Each label is a line, between line breaks, so that it is found whole or by its beginning. */
const linesOf = (labels: readonly string[]): string => (labels.length === 0 ? '' : `\n${labels.join('\n')}\n`)

const labelled = ({ text, whole }: LabelTest): Sql => sql('instr(labels, ?) > 0', `\n${text}${whole ? '\n' : ''}`)
