/** Lowers a predicate to SQL over the postings. Every condition becomes either a set of documents or a test on one document. */
import type { Predicate } from '../../search/plan.ts'

export type Bound = string | number
export type Sql = { readonly text: string; readonly values: readonly Bound[] }

/** The number of a field, undefined for one that no document has. */
export type FieldNumber = (name: string) => number | undefined

const NOTHING: Sql = { text: 'SELECT NULL AS doc WHERE 0', values: [] }
/** SQLite takes 32,766 variables; longer lists travel as one JSON text. */
const LONGEST_LIST = 200

const sql = (text: string, ...values: readonly Bound[]): Sql => ({ text, values })

/** A query that yields the documents of a condition; undefined for conditions that only exclude. */
export function setOf(p: Predicate, field: FieldNumber): Sql | undefined {
  switch (p.kind) {
    case 'some': {
      const sets = p.of.map((each) => setOf(each, field))
      if (sets.some((set) => set === undefined)) return undefined
      return sets.length === 0 ? NOTHING : joined(sets as Sql[], ' UNION ')
    }
    case 'all':
    case 'not':
    // Sort values are clustered by document: looking one up is quick, listing them all is not.
    case 'present':
      return undefined
    default:
      return rowsOf(p, field, 'doc')
  }
}

/** A condition on `d.doc`. */
export function testOf(p: Predicate, field: FieldNumber): Sql {
  switch (p.kind) {
    case 'all':
      return p.of.length === 0
        ? sql('1')
        : wrapped(
            joined(
              p.of.map((each) => testOf(each, field)),
              ' AND ',
            ),
          )
    case 'some':
      return p.of.length === 0
        ? sql('0')
        : wrapped(
            joined(
              p.of.map((each) => testOf(each, field)),
              ' OR ',
            ),
          )
    case 'not': {
      const { text, values } = testOf(p.of, field)
      return sql(`NOT (${text})`, ...values)
    }
    case 'key':
    case 'present': {
      const { text, values } = rowsOf(p, field, '1')
      return sql(`EXISTS (${text} AND x.doc = d.doc)`, ...values)
    }
    default: {
      const { text, values } = rowsOf(p, field, 'doc')
      return sql(`d.doc IN (${text})`, ...values)
    }
  }
}

type Leaf = Exclude<Predicate, { kind: 'all' | 'some' | 'not' }>

/** `SELECT column` of the rows of one condition; ends in a WHERE that can be continued. */
function rowsOf(p: Leaf, fieldNumber: FieldNumber, column: 'doc' | '1'): Sql {
  const field = p.kind === 'compartment' ? fieldNumber(COMPARTMENT) : fieldNumber(p.field)
  if (field === undefined) return sql(`SELECT ${column} FROM posting x WHERE 0`)
  const from = (table: string): string => `SELECT ${column === 'doc' ? 'x.doc' : '1'} FROM ${table} x WHERE x.field = ${field}`
  switch (p.kind) {
    case 'key':
    case 'compartment':
      return isOneOf(from('posting'), p.oneOf)
    case 'keyRange':
      return p.to === undefined
        ? sql(`${from('posting')} AND x.value >= ?`, p.from)
        : sql(`${from('posting')} AND x.value >= ? AND x.value < ?`, p.from, p.to)
    case 'contains':
      return sql(`${from('posting')} AND instr(x.value, ?) > 0`, p.text)
    case 'span':
      return p.relation === 'within'
        ? sql(`${from('span')} AND x.low >= ? AND x.low < ? AND x.high <= ?`, p.low, p.high, p.high)
        : sql(`${from('span')} AND x.low < ? AND x.high > ?`, p.high, p.low)
    case 'number': {
      const end = p.high === Number.POSITIVE_INFINITY ? '<=' : '<'
      return p.relation === 'within'
        ? sql(`${from('span')} AND x.low >= ? AND x.high ${end} ?`, p.low, p.high)
        : sql(`${from('span')} AND x.low ${end} ? AND x.high >= ?`, p.high, p.low)
    }
    case 'present':
      return sql(from('sorting'))
    case 'near':
    case 'tuple':
      throw new TypeError(`no parameter makes ${p.kind} yet`)
  }
}

/** The field under which a document's compartments stand. */
export const COMPARTMENT = '#compartment'

function isOneOf(select: string, values: readonly string[]): Sql {
  if (values.length === 1) return sql(`${select} AND x.value = ?`, values[0]!)
  if (values.length > LONGEST_LIST) return sql(`${select} AND x.value IN (SELECT value FROM json_each(?))`, JSON.stringify(values))
  return sql(`${select} AND x.value IN (${values.map(() => '?').join(', ')})`, ...values)
}

const joined = (parts: readonly Sql[], separator: string): Sql => ({
  text: parts.map(({ text }) => text).join(separator),
  values: parts.flatMap(({ values }) => values),
})

const wrapped = ({ text, values }: Sql): Sql => ({ text: `(${text})`, values })

/** The conjuncts of a predicate, flattened. */
export const conjuncts = (p: Predicate): readonly Predicate[] => (p.kind === 'all' ? p.of.flatMap(conjuncts) : [p])
