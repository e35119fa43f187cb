/** Quantities of UCUM units as quantities of base units, so that 5 g equals 5000 mg. https://ucum.org/ucum */
import { UcumLhcUtils } from '@lhncbc/ucum-lhc'

export const UCUM = 'http://unitsofmeasure.org'

/** `unit`: base units with their exponents, the same for all units of a dimension. */
export type Canonical = { readonly unit: string; readonly value: number }

type Conversion = { readonly unit: string; readonly convert: (value: number) => number }

const MOST_KNOWN = 5_000
const known = new Map<string, Conversion | undefined>()

/** undefined: not a UCUM unit, or one that has no relation to others, such as [iU]. */
export function canonicalOf(code: string, value: number): Canonical | undefined {
  if (!known.has(code)) {
    if (known.size >= MOST_KNOWN) known.clear()
    known.set(code, conversionOf(code))
  }
  const conversion = known.get(code)
  if (conversion === undefined) return undefined
  const converted = rounded(conversion.convert(value))
  return Number.isNaN(converted) ? undefined : { unit: conversion.unit, value: converted }
}

/** What binary fractions add in the last digits is cut off. */
const rounded = (value: number): number => (Number.isFinite(value) ? Number(value.toPrecision(15)) : value)

function conversionOf(code: string): Conversion | undefined {
  if (code === '' || code.length > 100) return undefined
  const units = UcumLhcUtils.getInstance()
  const { unit: specified } = units.getSpecifiedUnit(code, 'validate')
  if (specified === null || specified.isArbitrary_ === true) return undefined
  const one = units.convertToBaseUnits(code, 1)
  if (one.status !== 'succeeded' || one.magnitude === null) return undefined
  const unit = Object.entries(one.unitToExp)
    .map(([base, exponent]) => `${base}${exponent}`)
    .sort()
    .join('.')
  const { magnitude } = one
  if (!one.fromUnitIsSpecial) return { unit, convert: (value) => value * magnitude }
  return {
    unit,
    convert: (value) => (Number.isFinite(value) ? (units.convertToBaseUnits(code, value).magnitude ?? Number.NaN) : value),
  }
}
