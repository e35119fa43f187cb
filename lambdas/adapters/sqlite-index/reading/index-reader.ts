/** Executes plans on one index: finds the documents that match, then reads the hits of the page. */
import type { DatabaseSync } from 'node:sqlite'
import { comparePositions, type Freshness, type Matching, type Plan, predicateOf, type SortKey } from '../../../ports/search/plan.ts'
import type { Hit, HitPage } from '../../../ports/search/search-index.ts'
import type { IndexNumbers } from '../index-numbers.ts'
import type { Intervals } from '../intervals/intervals.ts'
import { type DocBits, type DocList, type DocSet, difference, docListOf, hasDoc, listOf, NO_DOCS, toBits } from '../lists/document-sets.ts'
import type { Postings } from '../lists/postings.ts'
import type { TupleLists } from '../lists/tuple-lists.ts'
import { ID_FIELD } from '../schema.ts'
import { sortValueSql } from '../sorting.ts'
import { Statements } from '../statements.ts'
import { BUDGET_CONDITION, type SearchBudget } from './budget.ts'
import type { IndexSources } from './compile-plan.ts'
import { keysOf } from './document-keys.ts'
import { LatestMatches } from './latest-matches.ts'
import { matchesOf } from './matches.ts'
import { type Kind, KindNumbersCache } from './numbers-of.ts'
import type { PageCandidates } from './page-candidates.ts'
import { afterPositionCondition, sortColumn } from './sort-columns.ts'
import { joinSql, type Sql, sql } from './sql.ts'

/** Maximum total that a plan with `total: 'estimate'` reports. With more matches, the page has no total. */
const COUNTED = 10_000
/** Maximum types that `explain` describes. Further types are omitted. */
const MOST_EXPLAINED = 5
/**
 * Maximum matches per type that are sorted at once. More are read in the requested order, until the page is full. If too few of them have a
 * sort value, they are sorted nevertheless.
 */
const GATHERED = 2_000

export type IndexReaderParts = {
  readonly db: DatabaseSync
  readonly numbers: IndexNumbers
  readonly postings: Postings
  readonly intervals: Intervals
  readonly tuples: TupleLists
  /** Numbers of documents that are only partly in the lists. Searches must exclude them. */
  readonly hidden: ReadonlySet<number>
  readonly budget: SearchBudget
  readonly leading: PageCandidates
  /** Maximum matches per type that are sorted at once. Default: GATHERED. */
  readonly gathered?: number
}

/** Row of a hit: id, version and sort values of the document, then further columns of the query. */
type HitRow = readonly [id: string, version: number, ...values: (string | number | null)[]]
/** Matches of a kind. */
export type KindMatches = Kind & { readonly docs: DocSet; readonly sources: IndexSources }

/** `entry`: JSON of the forward entry, if it was requested. */
type ReadHit = { readonly hit: Hit; readonly doc: number; readonly entry: string }

export class IndexReader {
  readonly #parts: IndexReaderParts
  readonly #gathered: number
  readonly #statements: Statements
  readonly #numbers: KindNumbersCache
  readonly #latest = new LatestMatches<readonly KindMatches[]>()
  /** Documents for which the SQL function `is_match` returns 1. */
  #matching: DocBits = toBits(NO_DOCS)

  constructor(parts: IndexReaderParts) {
    this.#parts = parts
    this.#gathered = parts.gathered ?? GATHERED
    this.#statements = new Statements(parts.db)
    this.#numbers = new KindNumbersCache(this.#statements, () => parts.numbers.changes)
    parts.db.function('is_match', (doc) => {
      parts.budget.tick()
      return hasDoc(this.#matching, Number(doc)) ? 1 : 0
    })
  }

  /** Clears the cached matches. Must be called before every change of the index. */
  onChange(): void {
    this.#latest.clear()
  }

  /** Returns a page of hits. Throws the fault `too-costly` if its time budget is used up, or SearchPreempted if it must yield. */
  find(plan: Plan): HitPage {
    const found = this.found(plan)
    const matches = found.reduce((sum, { docs }) => sum + docs.length, 0)
    const shown = plan.total === 'none' || (plan.total === 'estimate' && matches > COUNTED) ? {} : { total: matches }
    const skip = plan.skip ?? 0
    const wanted = skip + plan.limit + 1
    if (plan.limit === 0 || matches === 0) return { hits: [], more: false, ...shown }
    const hits: Hit[] = []
    for (const each of found) {
      if (plan.order.length === 0 && (hits.length >= wanted || each.type < (plan.after?.type ?? ''))) continue
      hits.push(...this.#page(each, plan, plan.order.length === 0 ? wanted - hits.length : wanted))
    }
    if (found.length > 1 && plan.order.length > 0) hits.sort((a, b) => comparePositions(a.position, b.position, plan.order))
    return { hits: hits.slice(skip, wanted - 1), more: hits.length >= wanted, ...shown }
  }

  /** Returns different keys of a field among the matches, at most `limit`. Throws `too-costly` or SearchPreempted as `find` does. */
  distinct(matching: Matching & Freshness, field: string, limit: number): readonly string[] {
    const keys = new Set<string>()
    for (const each of this.found(matching))
      for (const key of this.#keysAmong(each, field)) {
        keys.add(key)
        if (keys.size >= limit) return [...keys]
      }
    return [...keys]
  }

  /**
   * Returns for each type the conditions in reading order, with the number of documents left after each, then the SQL that sorts the first
   * page.
   */
  explain(plan: Plan): readonly string[] {
    this.#parts.budget.begin()
    return this.#kindsOf(plan)
      .slice(0, MOST_EXPLAINED)
      .flatMap((kind) => {
        const sources = this.#sourcesOf(kind)
        const steps: string[] = []
        const docs = matchesOf(predicateOf(plan, kind.type), sources, ({ condition, most, left }) =>
          steps.push(`${kind.type}: ${textOf(condition)}: ${Number.isFinite(most) ? `at most ${most}` : 'unknown'}, ${left} left`),
        )
        const { text, values } = this.#sorting({ ...kind, docs: NO_DOCS, sources }, plan)
        return [...steps, `${kind.type}: ${text} ← ${JSON.stringify([...values, plan.limit])}, with ${docs.length} documents`]
      })
  }

  /** Starts a search: returns its matches by kind, sorted by type. Throws `too-costly` or SearchPreempted as `find` does. */
  found(matching: Matching & Freshness): readonly KindMatches[] {
    this.#parts.budget.begin(matching.budget)
    return this.#latest.of(matching, () =>
      this.#kindsOf(matching).flatMap((kind) => {
        const sources = this.#sourcesOf(kind)
        const docs = this.#visible(matchesOf(predicateOf(matching, kind.type), sources))
        return docs.length === 0 ? [] : [{ ...kind, docs, sources }]
      }),
    )
  }

  /**
   * Yields documents, unordered, with the sort values of `order`. `entries`: also reads their forward entries. Throws `too-costly` or
   * SearchPreempted as `find` does.
   */
  *hits(found: KindMatches, order: readonly SortKey[], entries: boolean): Generator<ReadHit> {
    const more = ['d.doc', ...(entries ? ['d.held'] : [])]
    const { text, values } = this.#query(found, { order }, GIVEN, [sql('d.doc = c.value'), BUDGET_CONDITION], more)
    for (const each of this.#statements.each(text, jsonOf(found.docs), ...values)) {
      const row = each as HitRow
      yield { hit: hitOf(row, found, { order }), doc: Number(row[2 + order.length]), entry: String(row[3 + order.length] ?? '') }
    }
  }

  #visible(docs: DocSet): DocSet {
    const { hidden } = this.#parts
    return hidden.size === 0 ? docs : difference(docs, docListOf(Uint32Array.from(hidden)))
  }

  #kindsOf({ tenant, types }: Matching): readonly Kind[] {
    const asked = new Set(types)
    return this.#numbers.kinds(tenant).filter(({ type }) => asked.has(type))
  }

  #sourcesOf({ kind }: Kind): IndexSources {
    const { postings, intervals, tuples } = this.#parts
    return { numbers: this.#numbers.of(kind), postings, intervals, tuples, rows: (query) => this.#rows(query) }
  }

  #rows({ text, values }: Sql): DocList {
    const rows = this.#statements.lists(text).all(...values) as unknown as readonly [number][]
    return docListOf(Uint32Array.from(rows, ([doc]) => doc))
  }

  /**
   * Yields the keys of a field among the matches, possibly several times. Reads the lists of the keys or the forward entries, whichever
   * costs less.
   */
  *#keysAmong(found: KindMatches, field: string): Generator<string> {
    const { docs, sources } = found
    const { postings } = this.#parts
    const combinations = sources.numbers.combinations(field)
    if (field !== ID_FIELD && combinations.length === 0) return
    if (field !== ID_FIELD && postings.isSmall(combinations, docs.length)) return yield* postings.valuesAmong(combinations, docs)
    for (const { hit, entry } of this.hits(found, [], true)) yield* keysOf({ id: hit.id, entry }, field, sources.numbers)
  }

  #page(found: KindMatches, plan: Plan, wanted: number): readonly Hit[] {
    const matches = found.docs.length
    if (matches <= this.#gathered) return this.#sorted(found, plan, wanted)
    if (plan.order.length === 0) return this.#walkedById(found, plan, wanted)
    const inOrder = this.#walkedInOrder(found, plan, wanted)
    return inOrder.length < wanted ? this.#sorted(found, plan, wanted) : inOrder
  }

  /** Returns the first `wanted` hits after the position of the plan. Sorts only the matches that can be among them. */
  #sorted(found: KindMatches, plan: Plan, wanted: number): readonly Hit[] {
    const { text, values } = this.#sorting({ ...found, docs: this.#leading(found, plan, wanted) }, plan)
    const rows = this.#statements.lists(text).all(...values, wanted)
    return rows.map((row) => hitOf(row as unknown as HitRow, found, plan))
  }

  #leading({ docs, type, sources }: KindMatches, { order: [first], after }: Plan, wanted: number): DocSet {
    if (first === undefined) {
      const by = { column: 'd.id', descending: false }
      return this.#parts.leading.of(docs, after?.type === type ? { ...by, after: after.id } : by, wanted)
    }
    const { descending } = first
    const by = { column: sortColumn(first, sources.numbers.field), descending }
    return this.#parts.leading.of(docs, after === undefined ? by : { ...by, after: after.values[0] ?? null }, wanted)
  }

  /** Returns the SQL that sorts the matches. The caller must add the value of its last parameter, the maximum number of hits. */
  #sorting(found: KindMatches, plan: Plan): Sql {
    const { text, values } = this.#query(found, plan, GIVEN, [sql('d.doc = c.value'), BUDGET_CONDITION])
    const keys = plan.order.map(({ descending }, i) => `k${i} ${descending ? 'DESC' : 'ASC'} NULLS LAST`)
    return { text: `${text} ORDER BY ${[...keys, 'd.id'].join(', ')} LIMIT ?`, values: [jsonOf(found.docs), ...values] }
  }

  /** Returns the first `wanted` hits after the position of the plan. Reads the documents by ascending id until it has enough. */
  #walkedById(found: KindMatches, { after }: Plan, wanted: number): readonly Hit[] {
    this.#matching = toBits(found.docs)
    const from = after?.type === found.type ? after.id : ''
    const text = `SELECT c.id, d.version FROM place c CROSS JOIN document d
      WHERE c.kind = ? AND c.id > ? AND is_match(c.doc) AND d.doc = c.doc ORDER BY c.id LIMIT ?`
    const rows = this.#statements.lists(text).all(found.kind, from, wanted)
    return rows.map((row) => hitOf(row as unknown as HitRow, found, { order: [] }))
  }

  /**
   * Returns the first `wanted` hits after the position of the plan, or fewer if too few have a sort value. Reads the documents in the order
   * of the first sort key, until it has enough and the value of that key changes.
   */
  #walkedInOrder(found: KindMatches, plan: Plan, wanted: number): readonly Hit[] {
    const { field: name, descending } = plan.order[0]!
    const field = found.sources.numbers.field(name)
    const first = plan.after?.values[0]
    if (field === undefined || first === null) return []
    this.#matching = toBits(found.docs)
    const side = sortValueSql('c.', field, descending)
    const start = first === undefined ? sql('1') : sql(`${side} ${descending ? '<=' : '>='} ?`, first)
    const from = `document c INDEXED BY ${this.#orderIndex(field, descending)} CROSS JOIN document d`
    const isMatch = sql(`${sortValueSql('c.', field, false)} IS NOT NULL AND is_match(c.doc) AND d.doc = c.doc`)
    const { text, values } = this.#query(found, plan, from, [isMatch, start])
    const hits: Hit[] = []
    for (const row of this.#statements.each(`${text} ORDER BY ${side} ${descending ? 'DESC' : 'ASC'}`, ...values)) {
      const hit = hitOf(row as HitRow, found, plan)
      if (hits.length >= wanted && hit.position.values[0] !== hits.at(-1)!.position.values[0]) break
      hits.push(hit)
    }
    return hits.sort((a, b) => comparePositions(a.position, b.position, plan.order)).slice(0, wanted)
  }

  #query(
    { type, sources }: KindMatches,
    { order, after }: Pick<Plan, 'order' | 'after'>,
    from: string,
    conditions: readonly Sql[],
    more: readonly string[] = [],
  ): Sql {
    const { field } = sources.numbers
    const keys = order.map((key, i) => `${sortColumn(key, field)} AS k${i}`)
    const where = joinSql(after === undefined ? conditions : [...conditions, afterPositionCondition(after, order, type, field)], ' AND ')
    return { text: `SELECT ${['d.id', 'd.version', ...keys, ...more].join(', ')} FROM ${from} WHERE ${where.text}`, values: where.values }
  }

  /** Returns the name of the SQLite index on a sort value. Creates it on first use; SQLite then keeps it up to date. */
  #orderIndex(field: number, descending: boolean): string {
    const name = `sorting_${descending ? 'high' : 'low'}_${field}`
    if (this.#statements.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?").get(name) === undefined)
      this.#parts.db.exec(
        `CREATE INDEX ${name} ON document (${sortValueSql('', field, descending)}) WHERE ${sortValueSql('', field, false)} IS NOT NULL`,
      )
    return name
  }
}

/** FROM clause for the documents of a JSON list, which is the first parameter of the statement. */
const GIVEN = 'json_each(?) c CROSS JOIN document d'

const jsonOf = (docs: DocSet): string => `[${listOf(docs).join(',')}]`

const MOST_SHOWN = 500

/** Returns the text of a condition for `explain`, cut after MOST_SHOWN characters. */
const textOf = ({ kind, ...rest }: Plan['where']): string =>
  `${kind} ${JSON.stringify(rest, (_, value) => (Math.abs(value) === Number.POSITIVE_INFINITY ? String(value) : value))}`.slice(
    0,
    MOST_SHOWN,
  )

const hitOf = ([id, version, ...values]: HitRow, { type }: Kind, { order }: Pick<Plan, 'order'>): Hit => ({
  type,
  id,
  version,
  position: { values: values.slice(0, order.length), type, id },
})
