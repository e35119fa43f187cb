/** Answers plans from the postings of one index. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Hit, HitPage } from '../../ports/search-index.ts'
import { comparePositions, type Plan, type Position, type Predicate, type SortKey } from '../../search/plan.ts'
import { type Bound, conjuncts, type FieldNumber, type Sql, setOf, testOf } from './compile-plan.ts'

/** Above so many matches the estimated total is absent. */
const COUNTED = 10_000
/** A condition with fewer documents than this drives the search; else the documents are walked in order. */
const SELECTIVE = 2_000

type Row = { readonly id: string; readonly version: number } & Readonly<Record<string, string | number | null>>
type Kind = { readonly kind: number; readonly type: string }

export class IndexReader {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  find(plan: Plan): HitPage {
    const kinds = this.#kindsOf(plan)
    const total = this.#total(kinds, plan)
    if (plan.limit === 0) return { hits: [], more: false, ...(total === undefined ? {} : { total }) }
    const wanted = (plan.skip ?? 0) + plan.limit + 1
    const found = plan.order.length === 0 ? this.#inOrderOfType(kinds, plan, wanted) : this.#merged(kinds, plan, wanted)
    const hits = found.slice(plan.skip ?? 0, wanted - 1)
    return { hits, more: found.length === wanted, ...(total === undefined ? {} : { total }) }
  }

  #kindsOf({ tenant, types }: Plan): readonly Kind[] {
    const rows = this.#prepare('SELECT kind, type FROM kind WHERE tenant = ?').all(tenant) as unknown as Kind[]
    const asked = new Set(types)
    return rows.filter(({ type }) => asked.has(type)).sort((a, b) => (a.type < b.type ? -1 : 1))
  }

  #inOrderOfType(kinds: readonly Kind[], plan: Plan, wanted: number): readonly Hit[] {
    const hits: Hit[] = []
    for (const kind of kinds) {
      if (plan.after !== undefined && kind.type < plan.after.type) continue
      if (hits.length === wanted) break
      hits.push(...this.#page(kind, plan, wanted - hits.length))
    }
    return hits
  }

  #merged(kinds: readonly Kind[], plan: Plan, wanted: number): readonly Hit[] {
    if (kinds.length === 1) return this.#page(kinds[0]!, plan, wanted)
    const hits = kinds.flatMap((kind) => this.#page(kind, plan, wanted))
    return hits.sort((a, b) => comparePositions(a.position, b.position, plan.order)).slice(0, wanted)
  }

  #page(kind: Kind, plan: Plan, wanted: number): readonly Hit[] {
    const field = this.#fieldsOf(kind.kind)
    const { from, where } = this.#candidates(kind.kind, plan.where, field)
    const keys = plan.order.map((key, i) => sortColumn(key, i, field))
    const after = plan.after === undefined ? undefined : afterPosition(plan.after, plan.order, kind.type)
    const text = `SELECT d.id, d.version${keys.map(({ column }) => `, ${column}`).join('')} FROM ${from.text}${keys.map(({ join }) => join).join('')}
      WHERE ${[...where.map(({ text }) => text), ...(after === undefined ? [] : [after.text])].join(' AND ')}
      ORDER BY ${[...keys.map(({ order }) => order), 'd.id'].join(', ')} LIMIT ?`
    const values = [...from.values, ...where.flatMap(({ values }) => values), ...(after?.values ?? []), wanted]
    const rows = this.#prepare(text).all(...values) as unknown as Row[]
    return rows.map((row) => ({
      type: kind.type,
      id: row.id,
      version: row.version,
      position: { values: plan.order.map((_, i) => row[`k${i}`] ?? null), type: kind.type, id: row.id },
    }))
  }

  /** Starts with the most selective condition, or walks all documents of the type in the order of their ids. */
  #candidates(kind: number, where: Predicate, field: FieldNumber): { readonly from: Sql; readonly where: readonly Sql[] } {
    const conditions = conjuncts(where)
    const driver = this.#driver(conditions, field)
    if (driver === undefined)
      return {
        from: { text: 'live l CROSS JOIN document d', values: [] },
        where: [{ text: 'l.kind = ? AND d.doc = l.doc', values: [kind] }, ...conditions.map((each) => testOf(each, field))],
      }
    const set = setOf(driver, field)!
    return {
      from: { text: `(SELECT DISTINCT doc FROM (${set.text})) c CROSS JOIN document d`, values: set.values },
      where: [{ text: 'd.doc = c.doc', values: [] }, ...conditions.filter((each) => each !== driver).map((each) => testOf(each, field))],
    }
  }

  #driver(conditions: readonly Predicate[], field: FieldNumber): Predicate | undefined {
    let best: Predicate | undefined
    let fewest = SELECTIVE
    for (const condition of conditions) {
      const set = setOf(condition, field)
      if (set === undefined) continue
      const size = this.#count(set, fewest)
      if (size < fewest) [best, fewest] = [condition, size]
      if (fewest === 0) break
    }
    return best
  }

  #count({ text, values }: Sql, most: number): number {
    return (this.#prepare(`SELECT count(*) AS n FROM (${text} LIMIT ?)`).get(...values, most) as { readonly n: number }).n
  }

  #total(kinds: readonly Kind[], { where, total }: Plan): number | undefined {
    if (total === 'none') return undefined
    const most = total === 'accurate' ? Number.MAX_SAFE_INTEGER : COUNTED + 1
    let sum = 0
    for (const { kind } of kinds) {
      sum += this.#countMatches(kind, where, most - sum)
      if (sum > COUNTED && total === 'estimate') return undefined
    }
    return sum
  }

  #countMatches(kind: number, where: Predicate, most: number): number {
    const field = this.#fieldsOf(kind)
    const conditions = conjuncts(where)
    // Postings hold live documents only: a single condition is counted where it stands.
    const single = conditions.length === 1 ? setOf(conditions[0]!, field) : undefined
    if (single !== undefined) return this.#count({ text: `SELECT DISTINCT doc FROM (${single.text})`, values: single.values }, most)
    const { from, where: tests } = this.#candidates(kind, where, field)
    return this.#count(
      {
        text: `SELECT d.doc FROM ${from.text} WHERE ${tests.map(({ text }) => text).join(' AND ')}`,
        values: [...from.values, ...tests.flatMap(({ values }) => values)],
      },
      most,
    )
  }

  #fieldsOf(kind: number): FieldNumber {
    const statement = this.#prepare('SELECT field FROM field WHERE kind = ? AND name = ?')
    return (name) => (statement.get(kind, name) as { readonly field: number } | undefined)?.field
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

/** Missing values stand last, ascending and descending. */
function sortColumn(
  { param, descending }: SortKey,
  i: number,
  field: FieldNumber,
): { readonly column: string; readonly join: string; readonly order: string } {
  const side = descending ? 'high' : 'low'
  return {
    column: `s${i}.${side} AS k${i}`,
    join: ` LEFT JOIN sorting s${i} ON s${i}.doc = d.doc AND s${i}.field = ${field(param) ?? -1}`,
    order: `s${i}.${side} ${descending ? 'DESC' : 'ASC'} NULLS LAST`,
  }
}

/** Strictly after a position: for each sort key, equal before it and beyond in it. */
function afterPosition({ values, type, id }: Position, order: readonly SortKey[], here: string): Sql {
  const ways: Sql[] = []
  const equal: Sql[] = []
  order.forEach(({ descending }, i) => {
    const column = `s${i}.${descending ? 'high' : 'low'}`
    const value = values[i] ?? null
    if (value !== null) {
      const beyond = `(${column} ${descending ? '<' : '>'} ? OR ${column} IS NULL)`
      ways.push(conjunction([...equal, { text: beyond, values: [value] }]))
    }
    equal.push(value === null ? { text: `${column} IS NULL`, values: [] } : { text: `${column} = ?`, values: [value] })
  })
  if (here === type) ways.push(conjunction([...equal, { text: 'd.id > ?', values: [id] }]))
  else if (here > type) ways.push(conjunction(equal))
  return ways.length === 0
    ? { text: '0', values: [] }
    : { text: `(${ways.map(({ text }) => text).join(' OR ')})`, values: ways.flatMap(({ values }) => values) }
}

const conjunction = (parts: readonly Sql[]): Sql => ({
  text: parts.length === 0 ? '1' : `(${parts.map(({ text }) => text).join(' AND ')})`,
  values: parts.flatMap(({ values }): readonly Bound[] => values),
})
