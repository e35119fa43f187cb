/** SQL of sort values, and of the condition for documents after a position. Missing values sort last, both ascending and descending. */
import type { HitPosition, SortKey } from '../../../ports/search/plan.ts'
import { sortValueSql } from '../sorting.ts'
import type { KindNumbers } from './compile-plan.ts'
import { joinSql, type Sql, sql } from './sql.ts'

/** Returns SQL for the sort value of document `d`, which is NULL if no document ever had the field. */
export function sortColumn({ field, descending }: SortKey, numberOf: KindNumbers['field']): string {
  const number = numberOf(field)
  return number === undefined ? 'NULL' : sortValueSql('d.', number, descending)
}

/**
 * Returns the SQL condition for documents of type `here` after a position in the sort order. They are equal to it in some of the first sort
 * keys and later in the next key. If all sort keys are equal, the type, then the id decides.
 */
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
