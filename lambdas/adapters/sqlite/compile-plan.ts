/** Lowers a predicate to SQL over the postings. Every condition becomes a test on the document `c.doc`, and most a set of documents. */
import type { LabelTest, Predicate, RangeTest } from '../../search/plan.ts'
import { TICK } from './budget.ts'
import { isPresent } from './sorting.ts'

export type Bound = string | number
export type Sql = { readonly text: string; readonly values: readonly Bound[] }

/** The kind (a type of a tenant) that is searched, and the numbers of its fields. */
export type Numbers = {
  readonly kind: number
  /** Undefined for one that no document has. */
  readonly field: (name: string) => number | undefined
  /** The combinations of fields that the field is in: where its keys stand. */
  readonly combinations: (name: string) => readonly number[]
  /** No document has more than one interval of the field. */
  readonly isSingle: (name: string) => boolean
}

/** The field under which a document's compartments stand. */
export const COMPARTMENT = '#compartment'
/** The field whose only key is the document's id: found where the live documents are listed, without postings of its own. */
export const ID = '_id:code'

/** SQLite takes 32,766 variables; longer lists travel as one JSON text. */
const LONGEST_LIST = 200
/** SQLite takes 500 terms of a compound, and each may have some of its own. */
const MOST_SETS = 100

export const sql = (text: string, ...values: readonly Bound[]): Sql => ({ text, values })

export const joined = (parts: readonly Sql[], separator: string, whenEmpty = ''): Sql =>
  parts.length === 0
    ? sql(whenEmpty)
    : { text: parts.map(({ text }) => text).join(separator), values: parts.flatMap(({ values }): readonly Bound[] => values) }

/** The conjuncts of a predicate, flattened. */
export const conjuncts = (p: Predicate): readonly Predicate[] => (p.kind === 'all' ? p.of.flatMap(conjuncts) : [p])

/** A query that yields the documents of a condition, some perhaps twice; undefined for conditions that only exclude. */
export function setOf(p: Predicate, numbers: Numbers): Sql | undefined {
  switch (p.kind) {
    case 'some': {
      if (p.of.length > MOST_SETS) return undefined
      const sets = p.of.map((each) => setOf(each, numbers))
      return sets.every((set) => set !== undefined) ? joined(sets, ' UNION ALL ', NOTHING) : undefined
    }
    case 'all':
    case 'not':
    // Sort values are kept with the document: looking at one is quick, listing them all is not.
    case 'present':
      return undefined
    default:
      return documentsOf(p, numbers)
  }
}

/** The field of intervals a condition is about alone; undefined for others. */
export function spanFieldOf(p: Predicate): string | undefined {
  if (p.kind === 'span') return p.field
  if (p.kind !== 'some' || p.of.length === 0) return undefined
  const [first, ...others] = p.of.map(spanFieldOf)
  return others.every((field) => field === first) ? first : undefined
}

/** The documents whose one interval of the field meets all conditions: one scan. */
export function spansOf(field: string, conditions: readonly Predicate[], numbers: Numbers): Sql {
  const number = numbers.field(field)
  if (number === undefined) return sql(NOTHING)
  const { text, values } = joined(conditions.map(spanTest), ' AND ')
  return { text: `SELECT x.doc FROM span x WHERE x.field = ${number} AND ${text}`, values }
}

function spanTest(p: Predicate): Sql {
  const { text, values } = p.kind === 'some' ? joined(p.of.map(spanTest), ' OR ') : interval(p as RangeTest, 'low', 'high')
  return { text: `(${text})`, values }
}

/** No document twice in the set. */
export const isDistinct = (p: Predicate): boolean =>
  (p.kind === 'key' && p.oneOf.length === 1) || (p.kind === 'compartment' && p.oneOf.length === 1)

/** A condition on `c.doc`. */
export function testOf(p: Predicate, numbers: Numbers): Sql {
  switch (p.kind) {
    case 'all':
    case 'some':
      return balanced(
        p.of.map((each) => testOf(each, numbers)),
        p.kind,
      )
    case 'not': {
      const { text, values } = testOf(p.of, numbers)
      return { text: `NOT (${text})`, values }
    }
    case 'present': {
      const number = numbers.field(p.field)
      return sql(number === undefined ? '0' : `(SELECT ${isPresent('x.', number)} FROM document x WHERE x.doc = c.doc)`)
    }
    case 'keyRange':
    case 'contains':
    case 'tuple':
    case 'near': {
      const { text, values } = documentsOf(p, numbers)
      return { text: `c.doc IN (${text})`, values }
    }
    default:
      return lookUp(p, numbers)
  }
}

/** Halves, so that the expression of a long list is not deeper than SQLite takes. */
function balanced(parts: readonly Sql[], kind: 'all' | 'some'): Sql {
  if (parts.length === 0) return sql(kind === 'all' ? '1' : '0')
  if (parts.length === 1) return parts[0]!
  const middle = parts.length >> 1
  const halves = [balanced(parts.slice(0, middle), kind), balanced(parts.slice(middle), kind)]
  const { text, values } = joined(halves, kind === 'all' ? ' AND ' : ' OR ')
  return { text: `(${text})`, values }
}

type Leaf = Exclude<Predicate, { kind: 'all' | 'some' | 'not' | 'present' }>

const NOTHING = 'SELECT NULL AS doc WHERE 0'

function documentsOf(p: Leaf, numbers: Numbers): Sql {
  const rows = rowsOf(p, numbers)
  if (rows === undefined) return sql(NOTHING)
  const { text, values } = bounds(p)
  return { text: `SELECT x.doc FROM ${rows.table} x WHERE ${rows.where} AND ${text}`, values }
}

function lookUp(p: Leaf, numbers: Numbers): Sql {
  const rows = rowsOf(p, numbers)
  if (rows === undefined) return sql('0')
  const { text, values } = bounds(p)
  const index = rows.table === 'span' ? ' INDEXED BY span_of' : ''
  return { text: `EXISTS (SELECT 1 FROM ${rows.table} x${index} WHERE ${rows.where} AND x.doc = c.doc AND ${text})`, values }
}

type Rows = { readonly table: 'posting' | 'live' | 'span' | 'tuple' | 'point'; readonly where: string }

/** The rows of a field; undefined when there are none. */
function rowsOf(p: Leaf, { kind, field, combinations }: Numbers): Rows | undefined {
  const name = p.kind === 'compartment' ? COMPARTMENT : p.field
  if (name === ID) return { table: 'live', where: `x.kind = ${kind}` }
  const table = TABLES[p.kind]
  if (table === 'posting' || table === 'tuple') {
    const numbers = combinations(name)
    return numbers.length === 0 ? undefined : { table, where: `x.combination IN (${numbers.join(', ')})` }
  }
  const number = field(name)
  return number === undefined ? undefined : { table, where: `x.field = ${number}` }
}

const TABLES: Readonly<Record<Leaf['kind'], Rows['table']>> = {
  key: 'posting',
  keyRange: 'posting',
  contains: 'posting',
  compartment: 'posting',
  tuple: 'tuple',
  near: 'point',
  span: 'span',
  number: 'span',
}

/** What the rows of the field must satisfy. */
function bounds(p: Leaf): Sql {
  switch (p.kind) {
    case 'key':
    case 'compartment':
      return isOneOf(columnOf(p), p.oneOf)
    case 'keyRange':
      return p.to === undefined ? sql(`${columnOf(p)} >= ?`, p.from) : sql(`${columnOf(p)} >= ? AND ${columnOf(p)} < ?`, p.from, p.to)
    case 'contains':
      return sql(`CASE WHEN ${TICK.text} THEN instr(${columnOf(p)}, ?) > 0 END`, p.text)
    case 'span':
    case 'number':
      return interval(p, 'low', 'high')
    case 'near':
      return around(p)
    case 'tuple':
      return joined(
        [...(p.key === undefined ? [] : [sql('x.key = ?', p.key)]), ...p.ranges.flatMap(inPlace), ...p.labels.map(labelled)],
        ' AND ',
        '1',
      )
  }
}

const columnOf = (p: Leaf): string => ('field' in p && p.field === ID ? 'x.id' : 'x.value')

function isOneOf(column: string, values: readonly string[]): Sql {
  if (values.length === 1) return sql(`${column} = ?`, values[0]!)
  if (values.length > LONGEST_LIST) return sql(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values))
  return sql(`${column} IN (${values.map(() => '?').join(', ')})`, ...values)
}

/** Bounds at infinity are left out, so that the other one picks the index. */
function interval({ kind, relation, low, high }: RangeTest, from: string, to: string): Sql {
  const isNumber = kind === 'number'
  const parts: Sql[] = []
  if (relation === 'within') {
    if (low !== Number.NEGATIVE_INFINITY) parts.push(sql(`x.${from} >= ?`, low))
    if (high !== Number.POSITIVE_INFINITY) parts.push(sql(`x.${to} ${isNumber ? '<' : '<='} ?`, high), sql(`x.${from} < ?`, high))
  } else {
    if (high !== Number.POSITIVE_INFINITY) parts.push(sql(`x.${from} < ?`, high))
    if (low !== Number.NEGATIVE_INFINITY) parts.push(sql(`x.${to} ${isNumber ? '>=' : '>'} ?`, low))
  }
  return joined(parts, ' AND ', '1')
}

/** An entry that has no interval at the place does not pass. */
const inPlace = (test: RangeTest, i: number): readonly Sql[] => [sql(`x.high${i} IS NOT NULL`), interval(test, `low${i}`, `high${i}`)]

const labelled = ({ text, whole }: LabelTest): Sql => sql('instr(x.labels, ?) > 0', `\n${text}${whole ? '\n' : ''}`)

/** Metres of a degree of latitude, at least. */
const DEGREE = 111_000

/** The parallels that bound the circle pick the index. */
const around = ({ latitude, longitude, metres }: Extract<Predicate, { kind: 'near' }>): Sql =>
  sql(
    'x.latitude BETWEEN ? AND ? AND metres_between(x.latitude, x.longitude, ?, ?) <= ?',
    latitude - metres / DEGREE,
    latitude + metres / DEGREE,
    latitude,
    longitude,
    metres,
  )
