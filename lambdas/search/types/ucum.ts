/** Converts quantities in UCUM units to base units, so that 5 g equals 5000 mg. https://ucum.org/ucum */
import { UcumLhcUtils } from '@lhncbc/ucum-lhc'
import { cacheByText } from '../interned-texts.ts'
import { type Decimal, decimalOf, toNearestDouble } from './decimal.ts'
import { factorOf, multiplyByFactor } from './unit-factor.ts'

export const UCUM = 'http://unitsofmeasure.org'

/** Quantity in base units. `unit`: base units with their exponents, the same for all units of a dimension. */
export type BaseUnitQuantity = { readonly unit: string; readonly value: number }

/** Whether the code is a UCUM unit, with or without a conversion to other units. */
export const isUnit: (code: string) => boolean = (code) => cachedUnit(code).isUnit

const cachedUnit = cacheByText(5_000, (code) => ({ isUnit: isSpecified(code) }))

const isSpecified = (code: string): boolean =>
  code !== '' && code.length <= 100 && UcumLhcUtils.getInstance().getSpecifiedUnit(code, 'validate').unit !== null

/** Conversion from a unit to base units. `convert` returns NaN if the unit has no such value. */
export type UnitConversion = { readonly unit: string; readonly convert: (value: Decimal) => number }

/** Returns undefined for a unit without a conversion, and for a value that the unit does not have. Infinities stay. */
export function toBaseUnits(code: string, value: Decimal | number): BaseUnitQuantity | undefined {
  const conversion = conversionOf(code)
  if (conversion === undefined) return undefined
  const converted =
    typeof value !== 'number' ? conversion.convert(value) : Number.isFinite(value) ? conversion.convert(decimalOf(String(value))) : value
  return Number.isNaN(converted) ? undefined : { unit: conversion.unit, value: converted }
}

/**
 * Returns the conversion of a unit. Returns undefined for a code that is no UCUM unit or only an annotation ({score}). Also undefined:
 * units unrelated to others ([iU]), and units whose values fall while those in base units rise ([pH]).
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

/** Returns NaN for values beyond all doubles, which would otherwise be equal to each other. */
const finite = (value: number): number => (Number.isFinite(value) ? value : Number.NaN)

/** Removes the last digits, where binary fractions are inexact, and the sign of a zero. */
const rounded = (value: number): number => Number(value.toPrecision(15)) + 0
