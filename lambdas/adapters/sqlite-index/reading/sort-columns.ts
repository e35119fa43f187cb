/** Sort values in SQL: their columns, and what stands after a position. Missing values stand last, ascending and descending. */
import type { HitPosition, SortKey } from '../../../ports/search/plan.ts'
import { sortValueSql } from '../sorting.ts'
import type { KindNumbers } from './compile-plan.ts'
import { joinSql, type Sql, sql } from './sql.ts'

/** A value of the document `d`. */
export function sortColumn({ field, descending }: SortKey, numberOf: KindNumbers['field']): string {
  const number = numberOf(field)
  return number === undefined ? 'NULL' : sortValueSql('d.', number, descending)
}

/** Strictly after a position, for documents of the type `here`: for each sort key, equal before it and beyond in it. */
export function afterPositionCondition(
  { values, type, id }: HitPosition,
  order: readonly SortKey[],
  here: string,
  field: KindNumbers['field'],
): Sql {
  const ways: Sql[] = []
  const equal: Sql[] = []
  order.forEach((key, i) => {
    const column = sortColumn(key, field)
    const value = values[i] ?? null
    if (value !== null) ways.push(conjunction([...equal, sql(`(${column} ${key.descending ? '<' : '>'} ? OR ${column} IS NULL)`, value)]))
    equal.push(value === null ? sql(`${column} IS NULL`) : sql(`${column} = ?`, value))
  })
  if (here === type) ways.push(conjunction([...equal, sql('d.id > ?', id)]))
  else if (here > type) ways.push(conjunction(equal))
  const { text, values: bound } = joinSql(ways, ' OR ', '0')
  return { text: `(${text})`, values: bound }
}

function conjunction(parts: readonly Sql[]): Sql {
  const { text, values } = joinSql(parts, ' AND ', '1')
  return { text: `(${text})`, values }
}
