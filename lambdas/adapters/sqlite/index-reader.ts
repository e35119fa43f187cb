/** Answers plans from the postings of one index. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Hit, HitPage } from '../../ports/search-index.ts'
import { comparePositions, type Matching, type Plan, type SortKey } from '../../search/plan.ts'
import { type Budget, budgetOf, TICK } from './budget.ts'
import { joined, type Numbers, type Sql, sql } from './compile-plan.ts'
import { type Matches, matchesOf } from './matches.ts'
import { afterPosition, sortColumn } from './sort-columns.ts'
import { sideOf } from './sorting.ts'

/** Above so many matches the estimated total is absent. */
const COUNTED = 10_000
/** Types of a search that are explained. */
const MOST_EXPLAINED = 5
/** So many matches are sorted for a page; more are walked in the order that is asked for. */
const GATHERED = 2_000

export type ReaderOptions = {
  /** So many matches are sorted for a page. */
  readonly gathered?: number
  /** Milliseconds a search may take. */
  readonly budget?: number
}

/** `numbers`: of the match's kind. */
export type Match = { readonly hit: Hit; readonly held: string; readonly numbers: Numbers }

type Row = { readonly id: string; readonly version: number } & Readonly<Record<string, string | number | null>>
type Kind = { readonly kind: number; readonly type: string }
type FieldRow = { readonly field: number; readonly several: number }

export class IndexReader {
  readonly #db: DatabaseSync
  readonly #gathered: number
  readonly #statements = new Map<string, StatementSync>()
  readonly #budget: Budget

  constructor(db: DatabaseSync, { gathered = GATHERED, budget = Number.POSITIVE_INFINITY }: ReaderOptions = {}) {
    this.#db = db
    this.#gathered = gathered
    this.#budget = budgetOf(db, budget)
  }

  /** TooCostly when the budget is used up. */
  find(plan: Plan): HitPage {
    this.#budget.begin()
    const found = this.#kindsOf(plan).map((kind) => ({ kind, matches: this.#matchesOf(kind, plan) }))
    const total = this.#total(
      found.map(({ matches }) => matches),
      plan,
    )
    const shown = total === undefined ? {} : { total }
    const skip = plan.skip ?? 0
    const wanted = skip + plan.limit + 1
    if (plan.limit === 0 || total === 0) return { hits: [], more: false, ...shown }
    const hits: Hit[] = []
    for (const { kind, matches } of found) {
      if (plan.order.length === 0 && (hits.length >= wanted || kind.type < (plan.after?.type ?? ''))) continue
      hits.push(...this.#page(kind, matches, plan, plan.order.length === 0 ? wanted - hits.length : wanted))
    }
    if (found.length > 1 && plan.order.length > 0) hits.sort((a, b) => comparePositions(a.position, b.position, plan.order))
    return { hits: hits.slice(skip, wanted - 1), more: hits.length >= wanted, ...shown }
  }

  /** All matches, in no order. TooCostly when the budget is used up. */
  *matches(matching: Matching, order: readonly SortKey[]): Generator<Match> {
    this.#budget.begin()
    for (const kind of this.#kindsOf(matching)) {
      const { candidates, tests } = this.#matchesOf(kind, matching)
      const from = sql(`(${candidates.text}) c CROSS JOIN document d`, ...candidates.values)
      const { text, values } = this.#query(kind, { order }, from, [sql('d.doc = c.doc'), tests, TICK], ['d.held'])
      const numbers = this.#numbersOf(kind.kind)
      for (const row of this.#prepare(text).iterate(...values))
        yield { hit: hitOf(row as Row, kind, { order }), held: (row as { readonly held: string }).held, numbers }
    }
  }

  #kindsOf({ tenant, types }: Matching): readonly Kind[] {
    const rows = this.#prepare('SELECT kind, type FROM kind WHERE tenant = ?').all(tenant) as unknown as Kind[]
    const asked = new Set(types)
    return rows.filter(({ type }) => asked.has(type)).sort((a, b) => (a.type < b.type ? -1 : 1))
  }

  #matchesOf({ kind }: Kind, { where }: Matching): Matches {
    return matchesOf(where, this.#numbersOf(kind), sql('SELECT doc FROM live WHERE kind = ?', kind), (set, most) => this.#count(set, most))
  }

  #total(found: readonly Matches[], { total }: Plan): number | undefined {
    if (total === 'none') return undefined
    const most = total === 'accurate' ? Number.MAX_SAFE_INTEGER : COUNTED + 1
    let sum = 0
    for (const matches of found) {
      sum += this.#countMatches(matches, most - sum)
      if (sum > COUNTED && total === 'estimate') return undefined
    }
    return sum
  }

  #page(kind: Kind, matches: Matches, plan: Plan, wanted: number): readonly Hit[] {
    const most = this.#gathered
    const isLarge = matches.size > most && this.#countMatches(matches, most + 1) > most
    if (!isLarge) return this.#sorted(kind, matches, plan, wanted)
    if (plan.order.length === 0) return this.#walkedById(kind, matches, plan, wanted)
    const walked = this.#walkedInOrder(kind, matches, plan, wanted)
    return walked.length < wanted ? this.#sorted(kind, matches, plan, wanted) : walked
  }

  /** Sorts all matches. */
  #sorted(kind: Kind, matches: Matches, plan: Plan, wanted: number): readonly Hit[] {
    const { text, values } = this.#sorting(kind, matches, plan)
    const rows = this.#prepare(text).all(...values, wanted)
    return rows.map((row) => hitOf(row as Row, kind, plan))
  }

  /** Takes the number of hits as its last variable. */
  #sorting(kind: Kind, { candidates, tests }: Matches, plan: Plan): Sql {
    const from = sql(`(${candidates.text}) c CROSS JOIN document d`, ...candidates.values)
    const { text, values } = this.#query(kind, plan, from, [sql('d.doc = c.doc'), tests, TICK])
    const keys = plan.order.map(({ descending }, i) => `k${i} ${descending ? 'DESC' : 'ASC'} NULLS LAST`)
    return { text: `${text} ORDER BY ${[...keys, 'd.id'].join(', ')} LIMIT ?`, values }
  }

  /** For each type the statement that sorts all matches, and how SQLite goes about it. */
  explain(plan: Plan): readonly string[] {
    this.#budget.begin()
    return this.#kindsOf(plan)
      .slice(0, MOST_EXPLAINED)
      .flatMap((kind) => {
        const { text, values } = this.#sorting(kind, this.#matchesOf(kind, plan), plan)
        const steps = this.#prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values, plan.limit) as unknown as readonly {
          readonly detail: string
        }[]
        return [
          `${kind.type}: ${text} ← ${JSON.stringify([...values, plan.limit])}`,
          ...steps.map(({ detail }) => `${kind.type}: ${detail}`),
        ]
      })
  }

  /** Looks at the documents in the order of their ids until there are enough. */
  #walkedById(kind: Kind, { everyTest }: Matches, { after }: Plan, wanted: number): readonly Hit[] {
    const from = after?.type === kind.type ? sql('AND c.id > ?', after.id) : sql('')
    const text = `SELECT c.id, d.version FROM live c CROSS JOIN document d
      WHERE c.kind = ? ${from.text} AND ${everyTest.text} AND ${TICK.text} AND d.doc = c.doc ORDER BY c.id LIMIT ?`
    const rows = this.#prepare(text).all(kind.kind, ...from.values, ...everyTest.values, wanted)
    return rows.map((row) => hitOf(row as Row, kind, { order: [] }))
  }

  /** Looks at the documents in the order of the first sort key until there are enough and no more of the same value. Those without a value are left out. */
  #walkedInOrder(kind: Kind, { everyTest }: Matches, plan: Plan, wanted: number): readonly Hit[] {
    const { param, descending } = plan.order[0]!
    const field = this.#numbersOf(kind.kind).field(param)
    const first = plan.after?.values[0]
    if (field === undefined || first === null) return []
    const side = sideOf('c.', field, descending)
    const index = this.#orderIndex(field, descending)
    const start = first === undefined ? sql('1') : sql(`${side} ${descending ? '<=' : '>='} ?`, first)
    const from = sql(`document c INDEXED BY ${index} CROSS JOIN document d`)
    const { text, values } = this.#query(kind, plan, from, [
      sql(`${sideOf('c.', field, false)} IS NOT NULL AND d.doc = c.doc`),
      start,
      everyTest,
      TICK,
    ])
    const hits: Hit[] = []
    for (const row of this.#prepare(`${text} ORDER BY ${side} ${descending ? 'DESC' : 'ASC'}`).iterate(...values)) {
      const hit = hitOf(row as Row, kind, plan)
      if (hits.length >= wanted && hit.position.values[0] !== hits.at(-1)!.position.values[0]) break
      hits.push(hit)
    }
    return hits.sort((a, b) => comparePositions(a.position, b.position, plan.order)).slice(0, wanted)
  }

  #query(
    kind: Kind,
    { order, after }: Pick<Plan, 'order' | 'after'>,
    from: Sql,
    conditions: readonly Sql[],
    more: readonly string[] = [],
  ): Sql {
    const { field } = this.#numbersOf(kind.kind)
    const keys = order.map((key, i) => `${sortColumn(key, field)} AS k${i}`)
    const where = joined(after === undefined ? conditions : [...conditions, afterPosition(after, order, kind.type, field)], ' AND ')
    const columns = ['d.id', 'd.version', ...more, ...keys].join(', ')
    const text = `SELECT ${columns} FROM ${from.text} WHERE ${where.text}`
    return { text, values: [...from.values, ...where.values] }
  }

  #countMatches({ candidates, tests }: Matches, most: number): number {
    const values = [...candidates.values, ...tests.values]
    return this.#count({ text: `SELECT c.doc FROM (${candidates.text}) c WHERE ${tests.text} AND ${TICK.text}`, values }, most)
  }

  #count({ text, values }: Sql, most: number): number {
    return (this.#prepare(`SELECT count(*) AS n FROM (SELECT 1 FROM (${text}) LIMIT ?)`).get(...values, most) as { readonly n: number }).n
  }

  /** Made when a large result is first sorted by the parameter, and kept up to date from then on. */
  #orderIndex(field: number, descending: boolean): string {
    const name = `sorting_${descending ? 'high' : 'low'}_${field}`
    if (this.#prepare("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?").get(name) === undefined)
      this.#db.exec(`CREATE INDEX ${name} ON document (${sideOf('', field, descending)}) WHERE ${sideOf('', field, false)} IS NOT NULL`)
    return name
  }

  #numbersOf(kind: number): Numbers {
    const ofField = this.#prepare('SELECT field, several FROM field WHERE kind = ? AND name = ?')
    const ofCombinations = this.#prepare('SELECT combination FROM combined WHERE field = ?')
    const row = once((name) => ofField.get(kind, name) as FieldRow | undefined)
    const combinations = once((name) =>
      ofCombinations.all(row(name)?.field ?? null).map((each) => (each as { readonly combination: number }).combination),
    )
    return { kind, field: (name) => row(name)?.field, combinations, isSingle: (name) => row(name)?.several === 0 }
  }

  #prepare(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      if (this.#statements.size > 500) this.#statements.clear()
      statement = this.#db.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}

/** Asks once for each name. */
function once<Found>(ask: (name: string) => Found): (name: string) => Found {
  const answers = new Map<string, Found>()
  return (name) => {
    if (!answers.has(name)) answers.set(name, ask(name))
    return answers.get(name)!
  }
}

const hitOf = (row: Row, { type }: Kind, { order }: Pick<Plan, 'order'>): Hit => ({
  type,
  id: row.id,
  version: row.version,
  position: { values: order.map((_, i) => row[`k${i}`] ?? null), type, id: row.id },
})
