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

const { POSITIVE_INFINITY: MOST, NEGATIVE_INFINITY: LEAST } = Number
const FORM = /^[+-]?\d{1,1000}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,3})?$/

export const number: SearchType = {
  modifiers: [],
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

/** A number of a resource, whichever way json.ts keeps it. */
export function numberOf(value: unknown): number | undefined {
  const text = numberTextOf(value)
  return text === undefined ? undefined : Number(text)
}

/** Longer texts are read as their doubles: the time to read digits grows with the square of their number. */
const LONGEST_TEXT = 1_000

/** The text of a number that a double can be near to. */
export function numberTextOf(value: unknown): string | undefined {
  if (typeof value !== 'number' && !isDecimal(value)) return undefined
  const text = decimalTextOf(value)
  const number = Number(text)
  if (!Number.isFinite(number)) return undefined
  return text.length > LONGEST_TEXT ? String(number) : text
}

/** The texts of the bounds of a Range; infinite where it has no bound, undefined where the bound is no number. */
export const boundsOf = ({ low, high }: Element): readonly [low: string | undefined, high: string | undefined] => [
  boundOf(low, LEAST),
  boundOf(high, MOST),
]

const boundOf = (quantity: unknown, open: number): string | undefined => (isElement(quantity) ? numberTextOf(quantity.value) : String(open))

/** Of `ne`: `committedCondition`, a value, and none that is equal. */
export const comparisonPredicate = (
  { prefix, text }: { readonly prefix: string; readonly text: string },
  isThere: Predicate,
  predicateOf: (prefix: string, text: string) => Predicate,
): Predicate => (prefix === 'ne' ? and(isThere, not(predicateOf('eq', text))) : predicateOf(prefix, text))

/** Passed by every number. */
export const ANY_NUMBER: RangeTest = { kind: 'number', relation: 'intersects', low: LEAST, high: MOST }

/** A number after its prefix. FhirError 400. */
export function parsePrefixedNumber(parameter: SearchParameter, value: string): { readonly prefix: string; readonly text: string } {
  const [prefix, text] = splitPrefix(value)
  if (!FORM.test(text)) throw malformedValueError(parameter, 'a number, perhaps after a prefix such as ge')
  return { prefix, text }
}

/** A number of a query as doubles: itself, the interval its precision implies, and the interval of `ap`. The number is in both. */
export type QueryNumber = {
  readonly exact: number
  readonly low: number
  readonly high: number
  readonly about: readonly [low: number, high: number]
}

/** `convert`: from the unit of the number to the unit of the keys; it must rise with the number. */
export function queryNumberOf(text: string, convert: (value: Decimal) => number = toNearestDouble): QueryNumber {
  const { digits, exponent } = decimalOf(text)
  const exact = convert({ digits, exponent })
  // If the interval is finer than a double, both ends are one number, or lie on one side of the value.
  const inInterval = ([low, high]: readonly [Decimal, Decimal]): readonly [number, number] => {
    const [from, to] = [convert(low), convert(high)]
    return [Math.min(from, exact), to > exact ? to : nextDoubleAbove(exact)]
  }
  const [low, high] = inInterval(impliedRange(text))
  const tenth = (times: bigint): Decimal => ({ digits: digits * times, exponent: exponent - 1 })
  const [from, to] = inInterval(digits < 0n ? [tenth(11n), tenth(9n)] : [tenth(9n), tenth(11n)])
  return { exact, low, high, about: [Math.min(low, from), Math.max(high, nextDoubleAbove(to))] }
}

/** eq takes the precision the text implies: 100 is [99.5, 100.5), 100.00 is [99.995, 100.005). The others compare with the number itself. */
export function numberTestOf(prefix: string, { exact, low, high, about }: QueryNumber): RangeTest {
  const within = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'within', low: from, high: to })
  const reaches = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'intersects', low: from, high: to })
  switch (prefix) {
    case 'eq':
      return within(low, high)
    case 'gt':
      return reaches(nextDoubleAbove(exact), MOST)
    case 'ge':
      return reaches(exact, MOST)
    case 'lt':
      return reaches(LEAST, exact)
    case 'le':
      return reaches(LEAST, nextDoubleAbove(exact))
    case 'sa':
      return within(nextDoubleAbove(exact), MOST)
    case 'eb':
      return within(LEAST, exact)
    default:
      return reaches(...about)
  }
}

/**
 * https://hl7.org/fhir/R4/search.html#number: half a unit of the last digit around the number. 1e2 has one significant digit, for which
 * that page gives [95, 105): as if it were 1.0e2.
 */
function impliedRange(text: string): readonly [low: Decimal, high: Decimal] {
  const { digits, exponent } = decimalOf(text)
  const hasOneDigitMore = /^[+-]?\d+[eE]/.test(text)
  // In tenths of the last digit.
  const tenths = digits * (hasOneDigitMore ? 100n : 10n)
  const power = exponent - (hasOneDigitMore ? 2 : 1)
  return [
    { digits: tenths - 5n, exponent: power },
    { digits: tenths + 5n, exponent: power },
  ]
}
