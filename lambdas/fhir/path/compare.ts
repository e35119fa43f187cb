/** Equality and order of FHIRPath values. http://hl7.org/fhirpath/N1/#equality */
import { decimalTextOf, isDecimal } from '../json.ts'

/** Placeholder for a primitive that has extensions but no value. */
export const NO_VALUE = Object.freeze({})

/**
 * Returns a value as a boolean. Any value that is not a boolean is true; undefined stays undefined.
 * http://hl7.org/fhirpath/N1/#singleton-evaluation-of-collections
 */
export const truthOf = (value: unknown): boolean | undefined => (value === undefined || typeof value === 'boolean' ? value : true)

/** Returns a number or preserved decimal as a number, and undefined for other values. */
export function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  return isDecimal(value) ? Number(decimalTextOf(value)) : undefined
}

export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a === 'object' && typeof b === 'object') return a !== null && b !== null && sameMembers(a, b)
  const number = toNumber(a)
  return number !== undefined && number === toNumber(b)
}

function sameMembers(a: object, b: object): boolean {
  const keys = Object.keys(a)
  if (Array.isArray(a) !== Array.isArray(b) || keys.length !== Object.keys(b).length) return false
  return keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key as never], b[key as never]))
}

export const areListsEqual = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, index) => isEqual(value, b[index]))

/**
 * Whether two collections are equivalent. The order of items is ignored. Strings are compared without letter case, outer white space and
 * the length of inner white space.
 */
export function isEquivalent(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false
  const left = b.map(loosely)
  return a.map(loosely).every((value) => {
    const at = left.findIndex((other) => isEqual(value, other))
    if (at >= 0) left.splice(at, 1)
    return at >= 0
  })
}

const loosely = (value: unknown): unknown => (typeof value === 'string' ? value.trim().toLowerCase().replace(/\s+/g, ' ') : value)

export function areDistinct(values: readonly unknown[]): boolean {
  // Most values are texts, which need no identity key.
  const texts = new Set<unknown>()
  const others = new Set<unknown>()
  for (const value of values) {
    if (typeof value === 'string' && !isDecimal(value)) texts.add(value)
    else others.add(identityKeyOf(value))
  }
  return texts.size + others.size === values.length
}

export function distinctValuesOf(values: readonly unknown[]): readonly unknown[] {
  const seen = new Set<unknown>()
  return values.filter((value) => seen.size !== seen.add(identityKeyOf(value)).size)
}

/** Returns a key that equal values share and different values do not. */
export function identityKeyOf(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return ordered(value)
  const number = toNumber(value)
  return number ?? (typeof value === 'string' ? JSON.stringify(value) : value)
}

function ordered(value: object): string {
  if (Array.isArray(value)) return `[${value.map(identityKeyOf).join()}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${String(identityKeyOf(item))}`).join()}}`
}

/**
 * Compares two values: returns a negative number, zero or a positive number. Returns undefined if they have no order: different kinds,
 * units or precisions.
 */
export function compareOperands(a: unknown, b: unknown): number | undefined {
  const [x, y] = [toNumber(a), toNumber(b)]
  if (x !== undefined || y !== undefined) return x === undefined || y === undefined ? undefined : x - y
  if (typeof a === 'string' && typeof b === 'string') {
    if (DATE.test(a) && DATE.test(b)) return compareDates(a, b)
    if (TIME.test(a) && TIME.test(b)) return compareTimes(a, b)
    return a < b ? -1 : a > b ? 1 : 0
  }
  if (isQuantity(a) && isQuantity(b))
    return a.system === b.system && a.code === b.code && a.unit === b.unit ? compareOperands(a.value, b.value) : undefined
  return undefined
}

const DATE = /^\d{4}(-|$)/
const TIME = /^T?\d\d:\d\d/
const OFFSET = /(Z|[+-]\d\d:\d\d)$/

function compareDates(a: string, b: string): number | undefined {
  if (a.length > 11 && b.length > 11) return compareMoments(a, b)
  const length = Math.min(a.length, b.length, 10)
  const [x, y] = [a.slice(0, length), b.slice(0, length)]
  if (x !== y) return x < y ? -1 : 1
  return a.length === b.length ? 0 : undefined
}

const SECONDS = '2024-05-31T08:15:00'.length

function compareMoments(a: string, b: string): number | undefined {
  const sameOffset = a.endsWith('Z') ? b.endsWith('Z') : a.slice(-6) === b.slice(-6)
  if (sameOffset && a.length === b.length) return a < b ? -1 : a > b ? 1 : 0
  if (OFFSET.test(a.slice(11)) !== OFFSET.test(b.slice(11))) return undefined
  if ((a.length < SECONDS || b.length < SECONDS) && compareTimes(a.slice(11), b.slice(11)) === undefined) return undefined
  return Date.parse(a) - Date.parse(b)
}

/**
 * Compares two times without their offsets. Returns undefined if they are equal up to the shorter precision. Seconds with and without a
 * fraction have the same precision.
 */
function compareTimes(a: string, b: string): number | undefined {
  const [x, y] = [a, b].map((text) => text.replace(/^T/, '').replace(OFFSET, '').split(':').map(Number)) as [number[], number[]]
  const at = x.findIndex((part, index) => part !== y[index])
  if (at >= 0 && y[at] !== undefined) return x[at]! - y[at]
  return x.length === y.length ? 0 : undefined
}

type QuantityLike = { readonly value?: unknown; readonly unit?: unknown; readonly system?: unknown; readonly code?: unknown }

const isQuantity = (value: unknown): value is QuantityLike => typeof value === 'object' && value !== null && 'value' in value
