/** Quantity parameters. https://hl7.org/fhir/R4/search.html#quantity */
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Fields } from '../fields.ts'
import { type Predicate, type RangeTest, some } from '../plan.ts'
import { boundsOf, compareWith, numberAfterPrefix, numberOf, numberTest, type Precise } from './number.ts'
import { orderedKey, orderedRange } from './ordered-key.ts'
import { malformed, type SearchType, splitValue, unescapeValue } from './search-type.ts'
import { canonicalOf, UCUM } from './ucum.ts'

/** A value, or an interval, and its unit. */
type Measured = { readonly low: number; readonly high: number; readonly system: string; readonly code: string; readonly unit: string }

/**
 * A value stands behind its unit in a key, an interval beside it in a tuple: `:coded` by system and code, `:unit` by code or unit alone,
 * `:canonical` in base units, `:value` without a unit.
 */
export const quantity: SearchType = {
  modifiers: [],
  extract(fields, name, { type, value }) {
    const forms = quantityForms(type, value)
    for (const { low, high, labels } of forms)
      for (const label of labels) {
        const space = label.indexOf(' ')
        add(fields, `${name}:${label.slice(0, space)}`, label.slice(space + 1), low, high)
      }
    const sorted = forms.at(-1)
    if (sorted !== undefined) fields.sort(name, Math.max(sorted.low, -Number.MAX_VALUE), Math.min(sorted.high, Number.MAX_VALUE))
  },
  lower(parameter, value) {
    const { field: name } = parameter
    const [number = '', ...unit] = splitValue(value, '|').map(unescapeValue)
    if (unit.length !== 0 && unit.length !== 2) throw malformed(parameter, 'of the form number or number|system|code')
    const [system = '', code = ''] = unit
    return compareWith(name, numberAfterPrefix(parameter, number), (prefix, number) => measuredTest(name, prefix, number, { system, code }))
  },
}

/** Numbers by what they count: `value ` anything, `coded system|code|`, `unit text|`, `canonical base units|`. */
export type QuantityForm = { readonly low: number; readonly high: number; readonly labels: readonly string[] }

/** As it is written, then in base units. */
export function quantityForms(type: string, value: unknown): readonly QuantityForm[] {
  const measured = isElement(value) ? measuredOf(type, value) : undefined
  if (measured === undefined || measured.low > measured.high) return []
  const { low, high, system, code, unit } = measured
  const units = [...new Set([code, unit])].filter((text) => text !== '')
  const written = ['value ', ...units.map((text) => `unit ${text}|`)]
  const base = system === UCUM ? canonical(code, low, high) : undefined
  if (base === undefined) return [{ low, high, labels: code === '' ? written : [...written, `coded ${system}|${code}|`] }]
  const label = `canonical ${base.unit}|`
  if (base.low === low && base.high === high) return [{ low, high, labels: [...written, label] }]
  return [
    { low, high, labels: written },
    { low: base.low, high: base.high, labels: [label] },
  ]
}

function measuredTest(
  name: string,
  prefix: string,
  number: Precise,
  { system, code }: { readonly system: string; readonly code: string },
): Predicate {
  const test = numberTest(prefix, number)
  if (code === '') return valueTest(`${name}:value`, '', test)
  if (system === '') return valueTest(`${name}:unit`, `${code}|`, test)
  const base = system === UCUM ? canonical(code, number.low, number.high) : undefined
  const exact = system === UCUM ? canonicalOf(code, number.exact) : undefined
  if (base === undefined || exact === undefined) return valueTest(`${name}:coded`, `${system}|${code}|`, test)
  return valueTest(`${name}:canonical`, `${base.unit}|`, numberTest(prefix, { exact: exact.value, low: base.low, high: base.high }))
}

/** A single value passes whether it has to lie within or to reach; an interval must do as it is told. */
const valueTest = (field: string, unit: string, test: RangeTest): Predicate =>
  some(orderedRange(field, unit, test), { kind: 'tuple', field, key: unit, labels: [], ranges: [test] })

function add(fields: Fields, field: string, unit: string, low: number, high: number): void {
  if (low === high) fields.key(field, unit + orderedKey(low))
  else fields.tuple(field, { key: unit, labels: [], ranges: [[low, high]] })
}

function canonical(
  code: string,
  low: number,
  high: number,
): { readonly unit: string; readonly low: number; readonly high: number } | undefined {
  const [from, to] = [canonicalOf(code, low), canonicalOf(code, high)]
  return from === undefined || to === undefined ? undefined : { unit: from.unit, low: from.value, high: to.value }
}

/** https://hl7.org/fhir/R4/datatypes.html#quantity; the unit of a Range is that of its bounds, of SampledData that of its origin. */
function measuredOf(type: string, value: Element): Measured | undefined {
  if (type === 'Range') return intervalOf(boundsOf(value), isElement(value.low) ? value.low : value.high)
  if (type === 'SampledData') return isElement(value.origin) ? intervalOf(boundsOfSamples(value, value.origin), value.origin) : undefined
  if (type === 'Money') return intervalOf([numberOf(value.value), numberOf(value.value)], { system: CURRENCIES, code: value.currency })
  return intervalOf([numberOf(value.value), numberOf(value.value)], value)
}

const CURRENCIES = 'urn:iso:std:iso:4217'

function intervalOf([low, high]: readonly (number | undefined)[], unit: unknown): Measured | undefined {
  if (low === undefined || high === undefined || !isElement(unit)) return undefined
  return { low, high, system: textOf(unit.system), code: textOf(unit.code), unit: textOf(unit.unit) }
}

/** The limits of what the device measures, or the samples themselves: factor × sample + origin. */
function boundsOfSamples({ lowerLimit, upperLimit, factor, data }: Element, origin: Element): readonly (number | undefined)[] {
  const samples = textOf(data)
    .split(/\s+/)
    .map(Number)
    .filter((sample, i, all) => all[i] !== undefined && Number.isFinite(sample))
  const from = numberOf(origin.value) ?? 0
  const values = samples.map((sample) => sample * (numberOf(factor) ?? 1) + from)
  const low = numberOf(lowerLimit) ?? (values.length === 0 ? undefined : values.reduce((a, b) => Math.min(a, b)))
  const high = numberOf(upperLimit) ?? (values.length === 0 ? undefined : values.reduce((a, b) => Math.max(a, b)))
  return [low, high]
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
