/** Number parameters. https://hl7.org/fhir/R4/search.html#number */
import { decimalText, isDecimal } from '../../fhir/json.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import { above } from '../../ports/search/doubles.ts'
import { all, not, type Predicate, type RangeTest } from '../../ports/search/plan.ts'
import { namesOf } from '../fields.ts'
import type { SearchParameter } from '../parameters.ts'
import { prefixOf } from './prefix.ts'
import { malformed, type SearchType } from './search-type.ts'

const { POSITIVE_INFINITY: MOST, NEGATIVE_INFINITY: LEAST } = Number
const FORM = /^[+-]?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,3})?$/

export const number: SearchType = {
  modifiers: [],
  extractor({ field }) {
    const names = namesOf(field)
    return (fields, values) => {
      for (const { type, value } of values) {
        const [low, high] = type === 'Range' && isElement(value) ? boundsOf(value) : [numberOf(value), numberOf(value)]
        if (low === undefined || high === undefined) continue
        fields.number(field, low, high)
        if (typeof value === 'number' || isDecimal(value)) fields.group(names, decimalText(value))
        if (low <= high) fields.sort(field, Math.max(low, -Number.MAX_VALUE), Math.min(high, Number.MAX_VALUE))
      }
    }
  },
  lower(parameter, value) {
    const { field } = parameter
    const test = (prefix: string, number: Precise): Predicate => ({ ...numberTest(prefix, number), field })
    return compareWith(numberAfterPrefix(parameter, value), { ...ANY_NUMBER, field }, test)
  },
}

/** A number of a resource, whichever way json.ts keeps it. */
export function numberOf(value: unknown): number | undefined {
  const number = typeof value === 'number' ? value : isDecimal(value) ? Number(decimalText(value)) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** Of a Range; open where it has no bound, undefined where the bound is no number. */
export const boundsOf = ({ low, high }: Element): readonly [low: number | undefined, high: number | undefined] => [
  boundOf(low, LEAST),
  boundOf(high, MOST),
]

const boundOf = (quantity: unknown, open: number): number | undefined => (isElement(quantity) ? numberOf(quantity.value) : open)

/** Of `ne`: `isThere`, a value, and none that is equal. */
export const compareWith = (
  { prefix, text }: { readonly prefix: string; readonly text: string },
  isThere: Predicate,
  predicateOf: (prefix: string, number: Precise) => Predicate,
): Predicate => (prefix === 'ne' ? all(isThere, not(predicateOf('eq', preciseOf(text)))) : predicateOf(prefix, preciseOf(text)))

/** Passed by every number. */
export const ANY_NUMBER: RangeTest = { kind: 'number', relation: 'intersects', low: LEAST, high: MOST }

/** A number after its prefix. FhirError 400. */
export function numberAfterPrefix(parameter: SearchParameter, value: string): { readonly prefix: string; readonly text: string } {
  const [prefix, text] = prefixOf(value)
  if (!FORM.test(text)) throw malformed(parameter, 'a number, perhaps after a prefix such as ge')
  return { prefix, text }
}

/** A number as it is asked for: itself, and the interval its precision implies. */
export type Precise = { readonly exact: number; readonly low: number; readonly high: number }

export function preciseOf(text: string): Precise {
  const [low, high] = impliedRange(text)
  return { exact: Number(text), low, high }
}

/** eq takes the precision the text implies: 100 is [99.5, 100.5), 100.00 is [99.995, 100.005). The others compare with the number itself. */
export function numberTest(prefix: string, { exact, low, high }: Precise): RangeTest {
  const within = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'within', low: from, high: to })
  const reaches = (from: number, to: number): RangeTest => ({ kind: 'number', relation: 'intersects', low: from, high: to })
  switch (prefix) {
    case 'eq':
      return within(low, high)
    case 'gt':
      return reaches(above(exact), MOST)
    case 'ge':
      return reaches(exact, MOST)
    case 'lt':
      return reaches(LEAST, exact)
    case 'le':
      return reaches(LEAST, above(exact))
    case 'sa':
      return within(above(exact), MOST)
    case 'eb':
      return within(LEAST, exact)
    default: {
      const slack = Math.abs(exact) / 10
      return reaches(Math.min(low, exact - slack), Math.max(high, above(exact + slack)))
    }
  }
}

/**
 * https://hl7.org/fhir/R4/search.html#number: half a unit of the last digit around the number. 1e2 has one significant digit, for which
 * that page gives [95, 105): as if it were 1.0e2.
 */
export function impliedRange(text: string): readonly [low: number, high: number] {
  const [, sign = '', whole = '', fraction = '', exponent] = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = fraction === '' && exponent !== undefined ? `${whole}0` : whole + fraction
  const power = Number(exponent ?? 0) - (digits.length - whole.length)
  // In whole tenths of the last digit: adding floating-point halves would blur the bounds (0.1 + 0.05).
  const tenths = BigInt(digits) * (sign === '-' ? -10n : 10n)
  const low = Number(`${tenths - 5n}e${power - 1}`)
  const high = Number(`${tenths + 5n}e${power - 1}`)
  // Finer than a double: the number itself.
  return low < high ? [low, high] : [Number(text), above(Number(text))]
}
