/** Quantities of UCUM units as quantities of base units, so that 5 g equals 5000 mg. https://ucum.org/ucum */
import { UcumLhcUtils } from '@lhncbc/ucum-lhc'
import { remembered } from '../interned-texts.ts'

export const UCUM = 'http://unitsofmeasure.org'

/** `unit`: base units with their exponents, the same for all units of a dimension. */
export type Canonical = { readonly unit: string; readonly value: number }

/** Whether it is a UCUM unit, of whatever relation to others. */
export const isUnit: (code: string) => boolean = (code) => knownUnit(code).isUnit

const knownUnit = remembered(5_000, (code) => ({ isUnit: isSpecified(code) }))

const isSpecified = (code: string): boolean =>
  code !== '' && code.length <= 100 && UcumLhcUtils.getInstance().getSpecifiedUnit(code, 'validate').unit !== null

type Conversion = { readonly unit: string; readonly convert: (value: number) => number }

/** undefined: not a UCUM unit, or one that has no relation to others: [iU], and what is counted in an annotation alone, {score}. */
export function canonicalOf(code: string, value: number): Canonical | undefined {
  const { unit, convert } = knownConversion(code)
  const converted = rounded(convert(value))
  return Number.isNaN(converted) ? undefined : { unit, value: converted }
}

const knownConversion = remembered(5_000, (code) => conversionOf(code) ?? NONE)

const NONE: Conversion = { unit: '', convert: () => Number.NaN }

/** UCUM takes it for 1; a score is no percentage. https://ucum.org/ucum#section-Curly-Braces */
const ANNOTATION = /^\{[^{}]*\}$/

/** What binary fractions add in the last digits is cut off, and the sign of a zero. */
const rounded = (value: number): number =>
  (Number.isInteger(value) && Math.abs(value) < 1e15) || !Number.isFinite(value) ? value + 0 : Number(value.toPrecision(15))

function conversionOf(code: string): Conversion | undefined {
  if (code === '' || code.length > 100 || ANNOTATION.test(code)) return undefined
  const units = UcumLhcUtils.getInstance()
  const { unit: specified } = units.getSpecifiedUnit(code, 'validate')
  if (specified === null || specified.isArbitrary_ === true) return undefined
  const one = units.convertToBaseUnits(code, 1)
  if (one.status !== 'succeeded' || one.magnitude === null) return undefined
  const dimensions = Object.entries(one.unitToExp).map(([base, exponent]) => `${base}${exponent}`)
  const unit = dimensions.toSorted().join('.')
  const { magnitude } = one
  if (!one.fromUnitIsSpecial) return { unit, convert: (value) => value * magnitude }
  const { unit: base } = units.getSpecifiedUnit(['1', ...dimensions].join('.'), 'validate')
  return { unit, convert: (value) => (Number.isFinite(value) ? (base?.convertFrom(value, specified) ?? Number.NaN) : value) }
}
