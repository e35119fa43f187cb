/** Number parameters. https://hl7.org/fhir/R4/search.html#number */
import { decimalTextOf, isDecimal } from '../../fhir/json.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import { nextDoubleAbove } from '../../ports/search/doubles.ts'
import { and, not, type Predicate, type RangeTest } from '../../ports/search/plan.ts'
import { namesOf } from '../fields.ts'
import type { SearchParameter } from '../parameters.ts'
import { type Decimal, decimalOf, toNearestDouble } from './decimal.ts'
import { splitPrefix } from './prefix.ts'
import { malformedValueError, type SearchType } from './search-type.ts'

const { POSITIVE_INFINITY: MAX, NEGATIVE_INFINITY: MIN } = Number
const FORM = /^[+-]?\d{1,1000}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,3})?$/

export const number: SearchType = {
  modifiers: [],
  maxFields: 5,
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values) => {
      for (const { type, value } of values) {
        const bounds = type === 'Range' && isElement(value) ? boundsOf(value) : [numberTextOf(value), numberTextOf(value)]
        const [low, high] = bounds.map((text) => (text === undefined ? undefined : Number(text)))
        if (low === undefined || high === undefined) continue
        fields.number(field, low, high)
        if (typeof value === 'number' || isDecimal(value)) fields.group(names, decimalTextOf(value))
        if (low <= high) fields.sort(field, Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE))
      }
    }
  },
  lower(parameter, value) {
    const { field } = parameter
    const test = (prefix: string, text: string): Predicate => ({ ...numberTestOf(prefix, queryNumberOf(text)), field })
    return comparisonPredicate(parsePrefixedNumber(parameter, value), { ...ANY_NUMBER, field }, test)
  },
}

/** Returns a number of a resource as a double, or undefined if it is none. json.ts stores numbers in two forms, and both are read. */
export function numberOf(value: unknown): number | undefined {
  const text = numberTextOf(value)
  return text === undefined ? undefined : Number(text)
}

/**
 * Maximum characters of a number that is read exactly. Longer numbers are rounded to doubles, because exact parsing takes time with the
 * square of their length.
 */
const LONGEST_TEXT = 1_000

/** Returns the text of a number, rounded if it is very long. Returns undefined if the value is no number or is beyond all doubles. */
export function numberTextOf(value: unknown): string | undefined {
  if (typeof value !== 'number' && !isDecimal(value)) return undefined
  const text = decimalTextOf(value)
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  return text.length > LONGEST_TEXT ? String(number) : text
}

/** Returns the texts of the bounds of a Range. A missing bound is infinite. A bound without a number is undefined. */
export const boundsOf = ({ low, high }: Element): readonly [low: string | undefined, high: string | undefined] => [
  boundOf(low, MIN),
  boundOf(high, MAX),
]

const boundOf = (quantity: unknown, open: number): string | undefined => (isElement(quantity) ? numberTextOf(quantity.value) : String(open))

/** Returns the predicate of a comparison. `ne`: there is a value (`isThere`), and none of the values passes `eq`. */
export const comparisonPredicate = (
  { prefix, text }: { readonly prefix: string; readonly text: string },
  isThere: Predicate,
  predicateOf: (prefix: string, text: string) => Predicate,
): Predicate => (prefix === 'ne' ? and(isThere, not(predicateOf('eq', text))) : predicateOf(prefix, text))

/** Test that every number passes. */
export const ANY_NUMBER: RangeTest = { kind: 'number', relation: 'intersects', low: MIN, high: MAX }

/** Splits a query value into prefix and number. Throws FhirError 400 for a malformed number. */
export function parsePrefixedNumber(parameter: SearchParameter, value: string): { readonly prefix: string; readonly text: string } {
  const [prefix, text] = splitPrefix(value)
  if (!FORM.test(text)) throw malformedValueError(parameter, 'a number, perhaps after a prefix such as ge')
  return { prefix, text }
}

/**
 * Number of a query, as doubles. `exact`: the number. `low`, `high`: interval of its precision. `about`: interval of the prefix `ap`. Both
 * intervals contain `exact`.
 */
export type QueryNumber = {
  readonly exact: number
  readonly low: number
  readonly high: number
  readonly about: readonly [low: number, high: number]
}

/** Parses the number of a query. `convert`: converts it to the unit of the keys. It must be an increasing function. */
export function queryNumberOf(text: string, convert: (value: Decimal) => number = toNearestDouble): QueryNumber {
  const { digits, exponent } = decimalOf(text)
  const exact = convert({ digits, exponent })
  // Rounding to doubles may move both ends to one side of the number. Widen the interval so that it contains the number.
  const inInterval = ([low, high]: readonly [Decimal, Decimal]): readonly [number, number] => {
    const [from, to] = [convert(low), convert(high)]
    return [Math.min(from, exact), to > exact ? to : nextDoubleAbove(exact)]
  }
  const [low, high] = inInterval(impliedRange(text))
  const tenth = (times: bigint): Decimal => ({ digits: digits * times, exponent: exponent - 1 })
  const [from, to] = inInterval(digits < 0n ? [tenth(11n), tenth(9n)] : [tenth(9n), tenth(11n)])
  return { exact, low, high, about: [Math.min(low, from), Math.max(high, nextDoubleAbove(to))] }
}

/**
 * Returns the test of a prefix. `eq` uses the precision of the text: 100 is [99.5, 100.5), 100.00 is [99.995, 100.005). `ap` uses the
 * interval `about`. All other prefixes compare with the exact number.
 */
export function numberTestOf(prefix: string, { exact, low, high, about }: QueryNumber): RangeTest {
  const within = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'within', low: from, high: to })
  const reaches = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'intersects', low: from, high: to })
  switch (prefix) {
    case 'eq':
      return within(low, high)
    case 'gt':
      return reaches(nextDoubleAbove(exact), MAX)
    case 'ge':
      return reaches(exact, MAX)
    case 'lt':
      return reaches(MIN, exact)
    case 'le':
      return reaches(MIN, nextDoubleAbove(exact))
    case 'sa':
      return within(nextDoubleAbove(exact), MAX)
    case 'eb':
      return within(MIN, exact)
    default:
      return reaches(...about)
  }
}

/**
 * Returns the interval from half a unit of the last digit below the number to half a unit above. https://hl7.org/fhir/R4/search.html#number
 * 1e2 has one significant digit. That page gives [95, 105) for it, so it is read as 1.0e2.
 */
function impliedRange(text: string): readonly [low: Decimal, high: Decimal] {
  const { digits, exponent } = decimalOf(text)
  const hasOneDigitMore = /^[+-]?\d+[eE]/.test(text)
  // The number in tenths of its last significant digit.
  const tenths = digits * (hasOneDigitMore ? 100n : 10n)
  const power = exponent - (hasOneDigitMore ? 2 : 1)
  return [
    { digits: tenths - 5n, exponent: power },
    { digits: tenths + 5n, exponent: power },
  ]
}
