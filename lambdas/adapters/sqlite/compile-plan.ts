/** Lowers a predicate to SQL over the postings. Every condition becomes a test on the document `c.doc`, and most a set of documents. */
import type { Predicate } from '../../search/plan.ts'
import { TICK } from './budget.ts'

export type Bound = string | number
export type Sql = { readonly text: string; readonly values: readonly Bound[] }

/** The number of a field, undefined for one that no document has. */
export type FieldNumber = (name: string) => number | undefined

/** The field under which a document's compartments stand. */
export const COMPARTMENT = '#compartment'

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
export function setOf(p: Predicate, field: FieldNumber): Sql | undefined {
  switch (p.kind) {
    case 'some': {
      if (p.of.length > MOST_SETS) return undefined
      const sets = p.of.map((each) => setOf(each, field))
      return sets.every((set) => set !== undefined) ? joined(sets, ' UNION ALL ', NOTHING) : undefined
    }
    case 'all':
    case 'not':
    // Sort values are clustered by document: looking one up is quick, listing them all is not.
    case 'present':
      return undefined
    default:
      return documentsOf(p, field)
  }
}

/** No document twice in the set. */
export const isDistinct = (p: Predicate): boolean =>
  (p.kind === 'key' && p.oneOf.length === 1) || (p.kind === 'compartment' && p.oneOf.length === 1)

/** A condition on `c.doc`. */
export function testOf(p: Predicate, field: FieldNumber): Sql {
  switch (p.kind) {
    case 'all':
    case 'some':
      return balanced(
        p.of.map((each) => testOf(each, field)),
        p.kind,
      )
    case 'not': {
      const { text, values } = testOf(p.of, field)
      return { text: `NOT (${text})`, values }
    }
    case 'keyRange':
    case 'contains': {
      const { text, values } = documentsOf(p, field)
      return { text: `c.doc IN (${text})`, values }
    }
    default:
      return lookUp(p, field)
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

type Leaf = Exclude<Predicate, { kind: 'all' | 'some' | 'not' }>

const NOTHING = 'SELECT NULL AS doc WHERE 0'

const fieldOf = (p: Leaf, field: FieldNumber): number | undefined => field(p.kind === 'compartment' ? COMPARTMENT : p.field)

function documentsOf(p: Leaf, field: FieldNumber): Sql {
  const number = fieldOf(p, field)
  if (number === undefined) return sql(NOTHING)
  const { text, values } = bounds(p)
  return { text: `SELECT x.doc FROM ${tableOf(p)} x WHERE x.field = ${number} AND ${text}`, values }
}

function lookUp(p: Leaf, field: FieldNumber): Sql {
  const number = fieldOf(p, field)
  if (number === undefined) return sql('0')
  const { text, values } = bounds(p)
  const index = p.kind === 'span' || p.kind === 'number' ? ' INDEXED BY span_of' : ''
  return { text: `EXISTS (SELECT 1 FROM ${tableOf(p)} x${index} WHERE x.field = ${number} AND x.doc = c.doc AND ${text})`, values }
}

function tableOf({ kind }: Leaf): string {
  if (kind === 'span' || kind === 'number') return 'span'
  return kind === 'present' ? 'sorting' : 'posting'
}

/** What the rows of the field must satisfy. */
function bounds(p: Leaf): Sql {
  switch (p.kind) {
    case 'key':
    case 'compartment':
      return isOneOf(p.oneOf)
    case 'keyRange':
      return p.to === undefined ? sql('x.value >= ?', p.from) : sql('x.value >= ? AND x.value < ?', p.from, p.to)
    case 'contains':
      return sql(`CASE WHEN ${TICK.text} THEN instr(x.value, ?) > 0 END`, p.text)
    case 'span':
    case 'number':
      return interval(p)
    case 'present':
      return sql('1')
    case 'near':
    case 'tuple':
      throw new TypeError(`no parameter makes ${p.kind} yet`)
  }
}

function isOneOf(values: readonly string[]): Sql {
  if (values.length === 1) return sql('x.value = ?', values[0]!)
  if (values.length > LONGEST_LIST) return sql('x.value IN (SELECT value FROM json_each(?))', JSON.stringify(values))
  return sql(`x.value IN (${values.map(() => '?').join(', ')})`, ...values)
}

/** Bounds at infinity are left out, so that the other one picks the index. */
function interval({ kind, relation, low, high }: Extract<Leaf, { kind: 'span' | 'number' }>): Sql {
  const isNumber = kind === 'number'
  const parts: Sql[] = []
  if (relation === 'within') {
    if (low !== Number.NEGATIVE_INFINITY) parts.push(sql('x.low >= ?', low))
    if (high !== Number.POSITIVE_INFINITY) parts.push(sql(`x.high ${isNumber ? '<' : '<='} ?`, high), sql(`x.low < ?`, high))
  } else {
    if (high !== Number.POSITIVE_INFINITY) parts.push(sql('x.low < ?', high))
    if (low !== Number.NEGATIVE_INFINITY) parts.push(sql(`x.high ${isNumber ? '>=' : '>'} ?`, low))
  }
  return joined(parts, ' AND ', '1')
}
