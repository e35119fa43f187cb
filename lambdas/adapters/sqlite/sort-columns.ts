/** Sort values in SQL: their columns, and what stands after a position. Missing values stand last, ascending and descending. */
import type { Position, SortKey } from '../../search/plan.ts'
import { joined, type Numbers, type Sql, sql } from './compile-plan.ts'

/** A high value that equals the low one is not stored. */
export const sideOf = (table: string, descending: boolean): string => {
  const prefix = table === '' ? '' : `${table}.`
  return descending ? `coalesce(${prefix}high, ${prefix}low)` : `${prefix}low`
}

export const sortColumn = (
  { param, descending }: SortKey,
  i: number,
  field: Numbers['field'],
): { readonly column: string; readonly join: string } => ({
  column: `${sideOf(`s${i}`, descending)} AS k${i}`,
  join: ` LEFT JOIN sorting s${i} ON s${i}.doc = d.doc AND s${i}.field = ${field(param) ?? -1}`,
})

/** Strictly after a position, for documents of the type `here`: for each sort key, equal before it and beyond in it. */
export function afterPosition({ values, type, id }: Position, order: readonly SortKey[], here: string): Sql {
  const ways: Sql[] = []
  const equal: Sql[] = []
  order.forEach(({ descending }, i) => {
    const column = sideOf(`s${i}`, descending)
    const value = values[i] ?? null
    if (value !== null) ways.push(conjunction([...equal, sql(`(${column} ${descending ? '<' : '>'} ? OR ${column} IS NULL)`, value)]))
    equal.push(value === null ? sql(`${column} IS NULL`) : sql(`${column} = ?`, value))
  })
  if (here === type) ways.push(conjunction([...equal, sql('d.id > ?', id)]))
  else if (here > type) ways.push(conjunction(equal))
  const { text, values: bound } = joined(ways, ' OR ', '0')
  return { text: `(${text})`, values: bound }
}

function conjunction(parts: readonly Sql[]): Sql {
  const { text, values } = joined(parts, ' AND ', '1')
  return { text: `(${text})`, values }
}
