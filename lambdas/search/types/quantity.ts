/** Quantity parameters. https://hl7.org/fhir/R4/search.html#quantity */
import { type Element, isElement } from '../../fhir/resource.ts'
import { encodeDouble, nextDoubleAbove, nextDoubleBelow } from '../../ports/search/doubles.ts'
import { or, type Predicate, type RangeTest } from '../../ports/search/plan.ts'
import type { DocumentFields } from '../fields.ts'
import { cacheByCode, cacheByText, cachePerResource } from '../interned-texts.ts'
import { type Decimal, decimalOf } from './decimal.ts'
import {
  ANY_NUMBER,
  boundsOf,
  comparisonPredicate,
  numberOf,
  numberTestOf,
  numberTextOf,
  parsePrefixedNumber,
  queryNumberOf,
} from './number.ts'
import { orderedRangePredicate } from './ordered-key.ts'
import { malformedValueError, type SearchType, splitValue, unescapeValue } from './search-type.ts'
import { textOf } from './tokens.ts'
import { conversionOf, toBaseUnits, UCUM } from './ucum.ts'

export type Interval = readonly [low: number, high: number]

/**
 * Value or interval of an element, with its unit. `bounds`: texts of numbers. `comparator`: side of the value on which the true value lies.
 */
type Measured = {
  readonly bounds: readonly [low: string, high: string]
  readonly comparator: string
  readonly system: string
  readonly code: string
  readonly unit: string
}

/**
 * Search type of quantities. A single value is indexed as a key: its unit, then its value. An interval is indexed as a tuple whose key is
 * the unit.
 * Fields: `:coded` by system and code, `:system` by system, `:unit` by code or unit, `:canonical` in base units, `:value` without a unit.
 */
export const quantity: SearchType = {
  modifiers: [],
  maxFields: 7,
  extractor({ field }) {
    const names = {
      value: `${field}:value`,
      unit: `${field}:unit`,
      system: `${field}:system`,
      coded: `${field}:coded`,
      canonical: `${field}:canonical`,
    }
    return (fields, values, resource) => {
      for (const value of values) {
        const forms = quantityFormsOf(value, resource)
        for (const { range, units, keys } of forms)
          units.forEach(({ kind, unit }, i) => {
            add(fields, names[kind], keys[i], unit, range)
          })
        const sorted = forms.at(-1)?.range
        if (sorted !== undefined) fields.sort(field, Math.max(sorted[0], -Number.MAX_VALUE), Math.min(sorted[1], Number.MAX_VALUE))
      }
    }
  },
  lower(parameter, value) {
    const { field: name } = parameter
    const [number = '', ...unit] = splitValue(value, '|').map(unescapeValue)
    if (unit.length !== 0 && unit.length !== 2) throw malformedValueError(parameter, 'of the form number or number|system|code')
    const [system = '', code = ''] = unit
    // Require a value: a quantity may have none, and then even `ne` must not match it.
    const isThere = valueTest(`${name}:value`, '', ANY_NUMBER)
    const test = (prefix: string, text: string): Predicate => measuredTest(name, prefix, text, { system, code })
    return comparisonPredicate(parsePrefixedNumber(parameter, number), isThere, test)
  },
}

/**
 * Unit of a number. `kind` is the suffix of its index field. Labels in composites: `value ` any unit, `unit text|`, `system system|`,
 * `coded system|code|`, `canonical base units|`.
 */
type Unit = {
  readonly kind: 'value' | 'unit' | 'system' | 'coded' | 'canonical'
  readonly unit: string
  readonly label: string
}

/** Value of a quantity, with all units in which it has this number. `keys`: each unit followed by the number. Empty for an interval. */
export type QuantityForm = { readonly range: Interval; readonly units: readonly Unit[]; readonly keys: readonly string[] }

/** Returns the forms of a quantity: as written, and then in base units if the number differs there. */
export const quantityFormsOf = cachePerResource(({ type, value }) => (isElement(value) ? formsOf(measuredOf(type, value)) : []))

function formsOf(measured: Measured | undefined): readonly QuantityForm[] {
  if (measured === undefined) return []
  const { bounds, comparator, system, code, unit } = measured
  const range: Interval = [Number(bounds[0]), Number(bounds[1])]
  if (range[0] > range[1]) return []
  const written = system === '' ? unitsOf(code, unit) : [...unitsOf(code, unit), systemUnit(system)]
  const base = system === UCUM ? canonical(code, bounds) : undefined
  const form = (range: Interval, units: readonly Unit[]) => formOf(comparedWith(comparator, range), units)
  if (base === undefined) return [form(range, code === '' ? written : [...written, codedUnit(system, code)])]
  const inBase = canonicalUnit(base.unit)
  if (base.range[0] === range[0] && base.range[1] === range[1]) return [form(range, [...written, inBase])]
  return [form(range, written), form(base.range, [inBase])]
}

/**
 * Returns the range of the true value. The comparator says on which side of the given value it lies.
 * https://hl7.org/fhir/R4/valueset-quantity-comparator.html
 */
function comparedWith(comparator: string, range: Interval): Interval {
  const [low, high] = range
  switch (comparator) {
    case '<':
      return [MIN, nextDoubleBelow(low)]
    case '<=':
      return [MIN, high]
    case '>=':
      return [low, MAX]
    case '>':
      return [nextDoubleAbove(high), MAX]
    default:
      return range
  }
}

const { POSITIVE_INFINITY: MAX, NEGATIVE_INFINITY: MIN } = Number

function formOf(range: Interval, units: readonly Unit[]): QuantityForm {
  const number = range[0] === range[1] ? encodeDouble(range[0]) : undefined
  return { range, units, keys: number === undefined ? [] : units.map(({ unit }) => unit + number) }
}

const MAX_CACHED = 5_000

const unitOf = (kind: Unit['kind'], unit: string): Unit => ({ kind, unit, label: `${kind} ${unit}` })

const unitsOf = cacheByCode(MAX_CACHED, (code, unit): readonly Unit[] => [
  unitOf('value', ''),
  ...[...new Set([code, unit])].filter((text) => text !== '').map((text) => unitOf('unit', `${text}|`)),
])

const systemUnit = cacheByText(MAX_CACHED, (system) => unitOf('system', `${system}|`))

const codedUnit = cacheByCode(MAX_CACHED, (system, code) => unitOf('coded', `${system}|${code}|`))

const canonicalUnit = cacheByText(MAX_CACHED, (base) => unitOf('canonical', `${base}|`))

function measuredTest(
  name: string,
  prefix: string,
  text: string,
  { system, code }: { readonly system: string; readonly code: string },
): Predicate {
  const test = numberTestOf(prefix, queryNumberOf(text))
  if (code === '') return system === '' ? valueTest(`${name}:value`, '', test) : valueTest(`${name}:system`, `${system}|`, test)
  if (system === '') return valueTest(`${name}:unit`, `${code}|`, test)
  const base = system === UCUM ? conversionOf(code) : undefined
  const inBase = base && queryNumberOf(text, base.convert)
  return inBase === undefined || Number.isNaN(inBase.exact)
    ? valueTest(`${name}:coded`, `${system}|${code}|`, test)
    : valueTest(`${name}:canonical`, `${base!.unit}|`, numberTestOf(prefix, inBase))
}

/**
 * Returns the test of a value in a unit. Keys of single values need only the range, because `within` and `intersects` are the same for
 * them. The tuples of intervals also need the relation.
 */
const valueTest = (field: string, unit: string, test: RangeTest): Predicate =>
  or(orderedRangePredicate(field, unit, test), { kind: 'tuple', field, key: unit, labels: [], ranges: [test] })

function add(fields: DocumentFields, field: string, key: string | undefined, unit: string, range: Interval): void {
  if (key === undefined) fields.tuple(field, { key: unit, labels: [], ranges: [range] })
  else fields.key(field, key)
}

function canonical(code: string, [low, high]: Measured['bounds']): { readonly unit: string; readonly range: Interval } | undefined {
  const from = toBaseUnits(code, boundOf(low))
  const to = low === high ? from : toBaseUnits(code, boundOf(high))
  return from === undefined || to === undefined ? undefined : { unit: from.unit, range: [from.value, to.value] }
}

const boundOf = (text: string): Decimal | number => (Number.isFinite(Number(text)) ? decimalOf(text) : Number(text))

/**
 * Returns the value and unit of an element, or undefined if it has no number. The unit of a Range is that of a bound, the unit of
 * SampledData that of its origin. https://hl7.org/fhir/R4/datatypes.html#quantity
 */
function measuredOf(type: string, value: Element): Measured | undefined {
  if (type === 'Range') return intervalOf(boundsOf(value), isElement(value.low) ? value.low : value.high)
  if (type === 'SampledData') return isElement(value.origin) ? intervalOf(boundsOfSamples(value, value.origin), value.origin) : undefined
  const number = numberTextOf(value.value)
  return intervalOf([number, number], type === 'Money' ? { system: CURRENCIES, code: value.currency } : value)
}

const CURRENCIES = 'urn:iso:std:iso:4217'

function intervalOf([low, high]: readonly (string | undefined)[], unit: unknown): Measured | undefined {
  if (low === undefined || high === undefined || !isElement(unit)) return undefined
  const { system, code, unit: text, comparator } = unit
  return { bounds: [low, high], comparator: textOf(comparator), system: textOf(system), code: textOf(code), unit: textOf(text) }
}

/** Returns the bounds of SampledData: the limits of the device, or if missing the extremes of the samples (factor × sample + origin). */
function boundsOfSamples({ lowerLimit, upperLimit, factor, data }: Element, origin: Element): readonly (string | undefined)[] {
  const samples = (textOf(data).match(/\S+/g) ?? []).map(Number).filter(Number.isFinite)
  const from = numberOf(origin.value) ?? 0
  const values = samples.map((sample) => sample * (numberOf(factor) ?? 1) + from)
  const outermost = (choose: (a: number, b: number) => number): string | undefined =>
    values.length === 0 ? undefined : String(values.reduce((a, b) => choose(a, b)))
  return [numberTextOf(lowerLimit) ?? outermost(Math.min), numberTextOf(upperLimit) ?? outermost(Math.max)]
}
