/** Date parameters. https://hl7.org/fhir/R4/search.html#date */
import { type DateRange, parseDateRange } from '../../fhir/date-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { isElement } from '../../fhir/resource.ts'
import { and, not, or, type Predicate } from '../../ports/search/plan.ts'
import { type DocumentFields, namesOf } from '../fields.ts'
import { splitPrefix } from './prefix.ts'
import { malformedValueError, type SearchType } from './search-type.ts'

const { POSITIVE_INFINITY: FOREVER, NEGATIVE_INFINITY: EVER } = Number

export const date: SearchType = {
  modifiers: [],
  maxFields: 5,
  extractor({ field }) {
    const names = namesOf(field)
    // Do not group by `_lastUpdated`: each resource would be a group of its own.
    const isGrouped = field !== '_lastUpdated'
    return (fields, values) => {
      for (const { type, value } of values)
        if (typeof value === 'string') {
          const range = rangeOf(value, fields)
          addRange(fields, field, range, range)
          if (isGrouped) fields.group(names, value)
        }
        // A Timing is not indexed: the service's specification (4.2) excludes it from all comparisons.
        else if (type === 'Period' && isElement(value)) addRange(fields, field, rangeOf(value.start, fields), rangeOf(value.end, fields))
    }
  },
  lower(parameter, value, _modifier, { now, timeZone }) {
    const [prefix, text] = splitPrefix(value)
    const range = parseDateRange(text.replace(' ', '+'), timeZone)
    if (range === undefined)
      throw malformedValueError(parameter, 'a date: YYYY, YYYY-MM, YYYY-MM-DD or an instant, perhaps after a prefix such as ge')
    return compare(parameter.field, prefix, range.low, range.high, now)
  },
}

const rangeOf = (value: unknown, { reading }: DocumentFields) =>
  typeof value === 'string' ? parseDateRange(value, reading.timeZone) : undefined

function addRange(fields: DocumentFields, name: string, start: DateRange | undefined, end: DateRange | undefined): void {
  if (start === undefined && end === undefined) return
  const low = start?.low ?? EVER
  const high = end?.high ?? FOREVER
  if (low >= high) return
  fields.span(name, low, high)
  fields.sort(name, Math.max(low, -MAX_INSTANT), Math.min(high, MAX_INSTANT))
}

/** Sort value in milliseconds for an open end: one beyond the range of a Date. */
const MAX_INSTANT = 8_640_000_000_000_001

function compare(field: string, prefix: string, low: number, high: number, now: number | undefined): Predicate {
  const test = (relation: 'within' | 'intersects', from: number, to: number): Predicate => ({
    kind: 'span',
    field,
    relation,
    low: from,
    high: to,
  })
  switch (prefix) {
    case 'eq':
      return test('within', low, high)
    case 'ne':
      // Require an interval: a Timing has none, and no comparison may match it.
      return and(test('intersects', EVER, FOREVER), not(test('within', low, high)))
    case 'gt':
      return test('intersects', high, FOREVER)
    case 'lt':
      return test('intersects', EVER, low)
    case 'ge':
      return or(test('intersects', high, FOREVER), test('within', low, high))
    case 'le':
      return or(test('intersects', EVER, low), test('within', low, high))
    case 'sa':
      return test('within', high, FOREVER)
    case 'eb':
      return test('within', EVER, low)
    default: {
      if (now === undefined) throw fhirError(400, 'not-supported', `The prefix ap of ${field} depends on the time: not in a condition`)
      const slack = Math.abs(now - low) / 10
      return test('intersects', low - slack, high + slack)
    }
  }
}
