/** Converts quantities in UCUM units to base units, so that 5 g equals 5000 mg. https://ucum.org/ucum */
import { UcumLhcUtils } from '@lhncbc/ucum-lhc'
import { cacheByText } from '../interned-texts.ts'
import { type Decimal, decimalOf, toNearestDouble } from './decimal.ts'
import { factorOf, multiplyByFactor } from './unit-factor.ts'

export const UCUM = 'http://unitsofmeasure.org'

/** Quantity in base units. `unit`: base units with their exponents. It is the same for all units of a dimension. */
export type BaseUnitQuantity = { readonly unit: string; readonly value: number }

/** Whether the code is a UCUM unit of at most 100 characters, even if it cannot be converted. */
export const isUnit: (code: string) => boolean = (code) => cachedUnit(code).isUnit

const cachedUnit = cacheByText(5_000, (code) => ({ isUnit: isSpecified(code) }))

const isSpecified = (code: string): boolean =>
  code !== '' && code.length <= 100 && UcumLhcUtils.getInstance().getSpecifiedUnit(code, 'validate').unit !== null

/** Conversion from a unit to base units (`unit`). `convert` returns NaN if the result is no finite number. */
export type UnitConversion = { readonly unit: string; readonly convert: (value: Decimal) => number }

/**
 * Converts a value to base units. Infinite values stay infinite. Returns undefined if the unit has no conversion, or the result is no
 * finite number.
 */
export function toBaseUnits(code: string, value: Decimal | number): BaseUnitQuantity | undefined {
  const conversion = conversionOf(code)
  if (conversion === undefined) return undefined
  const converted =
    typeof value !== 'number' ? conversion.convert(value) : Number.isFinite(value) ? conversion.convert(decimalOf(String(value))) : value
  return Number.isNaN(converted) ? undefined : { unit: conversion.unit, value: converted }
}

/**
 * Returns the conversion of a unit to base units. Returns undefined for a code that is no UCUM unit or only an annotation ({score}), for
 * units unrelated to others ([iU]), and for units whose values fall while those in base units rise ([pH]).
 */
export const conversionOf = (code: string): UnitConversion | undefined => cachedConversion(code).conversion

const cachedConversion = cacheByText(5_000, (code) => ({ conversion: makeConversion(code) }))

/**
 * Matches a code that is only an annotation. UCUM takes it for 1, but a score is no percentage. https://ucum.org/ucum#section-Curly-Braces
 */
const ANNOTATION = /^\{[^{}]*\}$/

function makeConversion(code: string): UnitConversion | undefined {
  if (code === '' || code.length > 100 || ANNOTATION.test(code)) return undefined
  const units = UcumLhcUtils.getInstance()
  const { unit: specified } = units.getSpecifiedUnit(code, 'validate')
  if (specified === null || specified.isArbitrary_ === true) return undefined
  const one = units.convertToBaseUnits(code, 1)
  if (one.status !== 'succeeded' || one.magnitude === null || !Number.isFinite(one.magnitude) || one.magnitude === 0) return undefined
  const dimensions = Object.entries(one.unitToExp).map(([base, exponent]) => `${base}${exponent}`)
  const unit = dimensions.toSorted().join('.')
  if (!one.fromUnitIsSpecial) {
    const factor = factorOf(code, one.magnitude)
    return { unit, convert: (value) => finite(multiplyByFactor(value, factor)) }
  }
  const { unit: base } = units.getSpecifiedUnit(['1', ...dimensions].join('.'), 'validate')
  if (base === null) return undefined
  const convert = (value: number): number => base.convertFrom(value, specified)
  return convert(1) < convert(2) ? { unit, convert: (value) => rounded(finite(convert(toNearestDouble(value)))) } : undefined
}

/** Returns NaN for infinite results, which would otherwise all be equal. */
const finite = (value: number): number => (Number.isFinite(value) ? value : Number.NaN)

/** Rounds to 15 significant digits, because binary fractions are inexact beyond them. Turns -0 into 0. */
const rounded = (value: number): number => Number(value.toPrecision(15)) + 0
