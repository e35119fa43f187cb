/**
 * Sort values of a document, stored as JSON in its row. A property is `l` or `h`, followed by the number of the parameter's field. `l` is
 * the low value, null if there is none. `h` is the high value, present only if it differs.
 */
import type { SortValues } from '../../ports/search/search-index.ts'

/** Returns the JSON for the parameters in `present`, which are those with values in the document. `keys`: sort values by parameter. */
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

/** JSON of a document without sort values. */
export const NO_SORTING = '{}'

/** Writes numbers beyond safe integers as doubles. SQLite would otherwise return integers that JavaScript cannot represent. */
function scalar(value: string | number): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return Number.isSafeInteger(value) ? String(value) : value.toExponential()
}

/**
 * Returns SQL for the value by which a row of the table `document` is sorted: the low value ascending, the high one descending. `document`:
 * alias with a dot, or empty.
 */
export const sortValueSql = (document: string, field: number, descending: boolean): string =>
  descending ? `coalesce(${document}sorting ->> 'h${field}', ${document}sorting ->> 'l${field}')` : `${document}sorting ->> 'l${field}'`
