/** The sort values a document keeps, as JSON in its row: by the number of the parameter's field a low and, where it is another, a high one. */
import type { SortValues } from '../../ports/search/search-index.ts'

/** Of the fields that a document has values of; `keys` has those it is sorted by. */
export function serializeSorting(
  present: readonly string[],
  keys: Readonly<Record<string, SortValues>>,
  fieldOf: (name: string) => number,
): string {
  let text = ''
  for (const parameter of present) {
    const key = keys[parameter]
    const field = fieldOf(parameter)
    text += text === '' ? '"l' : ',"l'
    if (key === undefined) text += `${field}":null`
    else if (key.high === key.low) text += `${field}":${scalar(key.low)}`
    else text += `${field}":${scalar(key.low)},"h${field}":${scalar(key.high)}`
  }
  return `{${text}}`
}

/** Of a document without any. */
export const NO_SORTING = '{}'

/** Numbers beyond safe integers are written as doubles: SQLite would give them back as integers that JavaScript has not. */
function scalar(value: string | number): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return Number.isSafeInteger(value) ? String(value) : value.toExponential()
}

/** The value a row of the table `document` is sorted by, in SQL. `document`: the row's name and a dot, or nothing. */
export const sortValueSql = (document: string, field: number, descending: boolean): string =>
  descending ? `coalesce(${document}sorting ->> 'h${field}', ${document}sorting ->> 'l${field}')` : `${document}sorting ->> 'l${field}'`
