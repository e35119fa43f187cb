/** The sort values a document keeps, as JSON in its row: by the number of the parameter's field a low and, where it is another, a high one. */
import type { OrderKey } from '../../ports/search-index.ts'

/** `key`: undefined for a parameter that has values, but none to sort by. */
export const writeSorting = (values: readonly (readonly [field: number, key: OrderKey | undefined])[]): string =>
  `{${values
    .map(([field, key]) => {
      if (key === undefined) return `"l${field}":null`
      const low = `"l${field}":${scalar(key.low)}`
      return key.high === key.low ? low : `${low},"h${field}":${scalar(key.high)}`
    })
    .join(',')}}`

/** Of a document without any. */
export const NO_SORTING = '{}'

/** Numbers beyond safe integers are written as doubles: SQLite would give them back as integers that JavaScript has not. */
function scalar(value: string | number): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return Number.isSafeInteger(value) ? String(value) : value.toExponential()
}

/** The value a row of the table `document` is sorted by, in SQL. `document`: the row's name and a dot, or nothing. */
export const sideOf = (document: string, field: number, descending: boolean): string =>
  descending ? `coalesce(${document}sorting ->> 'h${field}', ${document}sorting ->> 'l${field}')` : `${document}sorting ->> 'l${field}'`
