/**
 * Assigns tuples to lists. Tuples share a list if they have the same combination, key, labels and number of ranges. Their ranges are stored
 * as intervals (intervals.ts) under the negated list number, one tuple after another. Typical documents need few lists, each with many
 * tuples.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { LabelTest, Predicate } from '../../../ports/search/plan.ts'
import type { Tuple } from '../../../ports/search/search-index.ts'
import { BUDGET_CONDITION } from '../reading/budget.ts'
import { joinSql, type Sql, sql } from '../reading/sql.ts'
import { Statements } from '../statements.ts'

/** Numbers of lists whose tuples all have `ranges` ranges. */
export type TupleListGroup = { readonly ranges: number; readonly lists: readonly number[] }

type TupleTest = Extract<Predicate, { kind: 'tuple' }>

/** Maximum cached list numbers. One more clears the cache. */
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

  /** Returns the number of a tuple's list. Creates the list on first use. */
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

  /** Deletes a list. Precondition: it has no tuples left. */
  drop(list: number): void {
    this.#known.clear()
    this.#drop.run(list)
  }

  /** Clears the cache. Must be called after a rollback, because cached lists may have been rolled back. */
  clear(): void {
    this.#known.clear()
  }

  /**
   * Returns the lists with a matching key, matching labels and enough ranges, by number of ranges. A tuple in them matches if its ranges
   * pass.
   */
  passing({ key, labels, ranges }: TupleTest, combinations: readonly number[]): readonly TupleListGroup[] {
    if (combinations.length === 0) return []
    const ofKey = key === undefined ? [] : [sql('key = ?', key)]
    const { text, values } = joinSql([...ofKey, sql('ranges >= ?', ranges.length), ...labels.map(labelled), BUDGET_CONDITION], ' AND ')
    const where = `combination IN (${combinations.join(', ')}) AND ${text}`
    const rows = this.#statements.lists(`SELECT ranges, json_group_array(list) FROM tuples WHERE ${where} GROUP BY ranges`).all(...values)
    return (rows as unknown as readonly [number, string][]).map(([ranges, lists]) => ({ ranges, lists: JSON.parse(lists) as number[] }))
  }
}

/** Puts each label on its own line, so that SQL can match a whole label or its beginning. */
const linesOf = (labels: readonly string[]): string => (labels.length === 0 ? '' : `\n${labels.join('\n')}\n`)

const labelled = ({ text, whole }: LabelTest): Sql => sql('instr(labels, ?) > 0', `\n${text}${whole ? '\n' : ''}`)
