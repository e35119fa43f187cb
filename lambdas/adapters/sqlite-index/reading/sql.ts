/** SQL fragments with the values of their parameters. */

export type SqlValue = string | number
export type Sql = { readonly text: string; readonly values: readonly SqlValue[] }

export const sql = (text: string, ...values: readonly SqlValue[]): Sql => ({ text, values })

export const joinSql = (parts: readonly Sql[], separator: string, whenEmpty = ''): Sql =>
  parts.length === 0
    ? sql(whenEmpty)
    : { text: parts.map(({ text }) => text).join(separator), values: parts.flatMap(({ values }): readonly SqlValue[] => values) }

/**
 * Maximum values of a list that become one parameter each. A longer list is one JSON text, because SQLite accepts at most 32,766
 * parameters.
 */
const LONGEST_LIST = 200

export function oneOfCondition(column: string, values: readonly string[]): Sql {
  if (values.length === 1) return sql(`${column} = ?`, values[0]!)
  if (values.length > LONGEST_LIST) return sql(`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values))
  return sql(`${column} IN (${values.map(() => '?').join(', ')})`, ...values)
}
