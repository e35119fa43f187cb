/** Translates conditions of a plan into reads of the index. */
import { compareText, type Predicate } from '../../../ports/search/plan.ts'
import { intervalTestOf, rangesTestOf } from '../intervals/interval-test.ts'
import type { Intervals } from '../intervals/intervals.ts'
import { type DocList, type DocSet, union } from '../lists/document-sets.ts'
import type { Postings } from '../lists/postings.ts'
import type { TermQuery } from '../lists/term-lists.ts'
import type { TupleLists } from '../lists/tuple-lists.ts'
import { COMPARTMENT_FIELD, ID_FIELD, PRESENCE_KEY } from '../schema.ts'
import { BUDGET_CONDITION } from './budget.ts'
import { oneOfCondition, type Sql, sql } from './sql.ts'

/** Number of a kind (a resource type of a tenant), with the numbers of its fields. */
export type KindNumbers = {
  readonly kind: number
  /** Returns the number of a field by name, or undefined if no document ever had the field. */
  readonly field: (name: string) => number | undefined
  /** Returns the numbers of the combinations that contain the field. The keys of the field are listed under them. */
  readonly combinations: (name: string) => readonly number[]
  /**
   * Returns the numbers of the presence combinations that contain the field. Each lists the documents that have values in exactly its
   * fields.
   */
  readonly presence: (name: string) => readonly number[]
}

export type IndexSources = {
  readonly numbers: KindNumbers
  readonly postings: Postings
  readonly intervals: Intervals
  readonly tuples: TupleLists
  /** Runs an SQL query for document numbers, and returns these. */
  readonly rows: (query: Sql) => DocList
}

/**
 * Reads one condition. `estimate`: returns an upper bound for the number of documents, or Infinity if only reading can determine it.
 * `read`: returns all documents of `among` that meet the condition, and possibly others. `among` undefined: all documents of the kind.
 */
export type AccessPath = { readonly estimate: () => number; readonly read: (among: DocSet | undefined) => DocSet }

export type LeafPredicate = Exclude<Predicate, { kind: 'all' | 'some' | 'not' }>

/** Returns the access path of a condition, or undefined if the kind has nothing indexed for it, so that no document meets it. */
export function accessPathOf(p: LeafPredicate, sources: IndexSources): AccessPath | undefined {
  const { numbers } = sources
  switch (p.kind) {
    case 'key':
    case 'keyRange':
    case 'contains':
      if (p.field === ID_FIELD) return ofRows(idQuery(p, numbers), sources, p.kind === 'key' ? p.oneOf.length : undefined)
      return ofTerms(numbers.combinations(p.field), p, sources)
    case 'compartment':
      return ofTerms(numbers.combinations(COMPARTMENT_FIELD), p, sources)
    case 'present':
      return presencePathOf(p.field, sources)
    case 'span':
    case 'number':
      return intervalPathOf(p, sources)
    case 'tuple':
      return tuplesOf(p, sources)
    case 'near':
      return ofRows(nearQuery(p, numbers.field(p.field)), sources)
  }
}

/**
 * Returns the access path of a condition on the intervals of one field. Returns undefined for other conditions, and if no document ever had
 * the field.
 */
export function intervalPathOf(p: Predicate, { numbers, intervals }: IndexSources): AccessPath | undefined {
  const test = intervalTestOf(p)
  const field = test === undefined ? undefined : numbers.field(test.field)
  if (test === undefined || field === undefined) return undefined
  return { estimate: () => intervals.estimate([field], test), read: (among) => intervals.read([field], test, among) }
}

export const presencePathOf = (field: string, sources: IndexSources): AccessPath | undefined =>
  ofTerms(sources.numbers.presence(field), { kind: 'compartment', oneOf: [PRESENCE_KEY] }, sources)

function tuplesOf(p: Extract<LeafPredicate, { kind: 'tuple' }>, { numbers, tuples, intervals }: IndexSources): AccessPath | undefined {
  const alike = tuples.passing(p, numbers.combinations(p.field)).map(({ ranges, lists }) => ({
    fields: lists.map((list) => -list),
    test: rangesTestOf(p.ranges, ranges),
  }))
  if (alike.length === 0) return undefined
  return {
    estimate: () => alike.reduce((sum, { fields, test }) => sum + intervals.estimate(fields, test), 0),
    read: (among) => union(alike.map(({ fields, test }) => intervals.read(fields, test, among))),
  }
}

type OfKeys = Extract<LeafPredicate, { kind: 'key' | 'keyRange' | 'contains' | 'compartment' }>

function ofTerms(combinations: readonly number[], p: OfKeys, { postings }: IndexSources): AccessPath | undefined {
  if (combinations.length === 0) return undefined
  const terms: TermQuery = { combinations, condition: keyCondition('value', p), values: 'oneOf' in p ? p.oneOf : keyTest(p) }
  // `contains` must test every key of the field. Infinity makes it one of the last conditions that are read.
  const estimate = p.kind === 'contains' ? () => Number.POSITIVE_INFINITY : () => postings.estimate(terms)
  return { estimate, read: (among) => postings.read(terms, among) }
}

const ofRows = (query: Sql | undefined, { rows }: IndexSources, most = Number.POSITIVE_INFINITY): AccessPath | undefined =>
  query === undefined ? undefined : { estimate: () => most, read: () => rows(query) }

function keyCondition(column: string, p: OfKeys): Sql {
  switch (p.kind) {
    case 'key':
    case 'compartment':
      return oneOfCondition(column, p.oneOf)
    case 'keyRange':
      return p.to === undefined ? sql(`${column} >= ?`, p.from) : sql(`${column} >= ? AND ${column} < ?`, p.from, p.to)
    case 'contains':
      return sql(`CASE WHEN ${BUDGET_CONDITION.text} THEN instr(${column}, ?) > 0 END`, p.text)
  }
}

const keyTest = (p: Extract<OfKeys, { kind: 'keyRange' | 'contains' }>): ((value: string) => boolean) =>
  p.kind === 'contains'
    ? (value) => value.includes(p.text)
    : (value) => compareText(value, p.from) >= 0 && (p.to === undefined || compareText(value, p.to) < 0)

function idQuery(p: OfKeys, { kind }: KindNumbers): Sql {
  const { text, values } = keyCondition('id', p)
  return { text: `SELECT doc FROM place WHERE kind = ${kind} AND deleted = 0 AND ${text}`, values }
}

/** Metres in a degree of latitude, rounded down, so that the range of latitudes includes all points within the distance. */
const DEGREE = 111_000

/**
 * Returns the SQL for documents with a point within the distance, or undefined without a field. The range of latitudes lets SQLite use its
 * index. Only points in that range need the exact test of the distance.
 */
const nearQuery = (
  { latitude, longitude, metres }: Extract<LeafPredicate, { kind: 'near' }>,
  field: number | undefined,
): Sql | undefined =>
  field === undefined
    ? undefined
    : sql(
        `SELECT x.doc FROM point x WHERE x.field = ${field} AND x.latitude BETWEEN ? AND ? AND metres_between(x.latitude, x.longitude, ?, ?) <= ? AND ${BUDGET_CONDITION.text}`,
        latitude - metres / DEGREE,
        latitude + metres / DEGREE,
        latitude,
        longitude,
        metres,
      )
