/**
 * FHIRPath functions and operators on single values. An empty operand is undefined, for which most of them return undefined.
 * http://hl7.org/fhirpath/N1/#functions
 */
import { decimalTextOf, isDecimal } from '../json.ts'
import { compareOperands, toNumber, truthOf } from './compare.ts'
import { TooCostly } from './work-budget.ts'

export type Operator = (...operands: readonly unknown[]) => unknown

const text = (apply: (text: string, ...rest: readonly string[]) => unknown): Operator => {
  return (value, ...rest) => {
    if (typeof value !== 'string' || !rest.every((operand) => typeof operand === 'string')) return undefined
    return apply(value, ...rest)
  }
}

const numeric = (apply: (a: number, b: number) => number): Operator => {
  return (left, right) => {
    const [a, b] = [toNumber(left), toNumber(right)]
    if (a === undefined || b === undefined) return undefined
    const result = apply(a, b)
    // Round to 15 significant digits, which a double always holds: 1.8 - 1.2 is 0.6.
    return Number.isFinite(result) ? Number(result.toPrecision(15)) : undefined
  }
}

const ordered = (test: (order: number) => boolean): Operator => {
  return (left, right) => {
    const order = compareOperands(left, right)
    return order === undefined ? undefined : test(order)
  }
}

const toText = (value: unknown): string | undefined => {
  if (typeof value === 'number' || isDecimal(value)) return decimalTextOf(value)
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : undefined
}

const add = numeric((a, b) => a + b)

export const OPERATORS: Readonly<Record<string, Operator>> = Object.freeze(
  Object.assign(Object.create(null) as Record<string, Operator>, {
    not: (value) => (value === undefined ? undefined : truthOf(value) === false),
    xor: (a, b) => (a === undefined || b === undefined ? undefined : truthOf(a) !== truthOf(b)),
    sameTime: ordered((order) => order === 0),
    otherTime: ordered((order) => order !== 0),
    '<': ordered((order) => order < 0),
    '<=': ordered((order) => order <= 0),
    '>': ordered((order) => order > 0),
    '>=': ordered((order) => order >= 0),
    '+': (a, b) => (typeof a === 'string' && typeof b === 'string' && !isDecimal(a) && !isDecimal(b) ? a + b : add(a, b)),
    '-': numeric((a, b) => a - b),
    '*': numeric((a, b) => a * b),
    '/': numeric((a, b) => a / b),
    div: numeric((a, b) => Math.trunc(a / b)),
    mod: numeric((a, b) => a % b),
    '&': (a, b) => (toText(a) ?? '') + (toText(b) ?? ''),
    startsWith: text((value, start) => value.startsWith(start!)),
    endsWith: text((value, end) => value.endsWith(end!)),
    contains: text((value, part) => value.includes(part!)),
    indexOf: text((value, part) => value.indexOf(part!)),
    matches: text((value, pattern) => regex(pattern!, 's').test(value)),
    replaceMatches: text((value, pattern, replacement) =>
      pattern === '' ? value : replacedMatches(value, regex(pattern!, 'g'), replacement!),
    ),
    replace: text((value, part, replacement) => replaced(value, part!, replacement!)),
    upper: text((value) => value.toUpperCase()),
    lower: text((value) => value.toLowerCase()),
    length: text((value) => value.length),
    substring: (value, start, length) => {
      if (typeof value !== 'string' || typeof start !== 'number' || start < 0 || start >= value.length) return undefined
      return typeof length === 'number' ? value.slice(start, start + Math.max(length, 0)) : value.slice(start)
    },
    toInteger: (value) => {
      if (typeof value === 'boolean') return Number(value)
      return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : Number.isInteger(value) ? value : undefined
    },
    toDecimal: (value) => {
      if (typeof value === 'boolean') return Number(value)
      return typeof value === 'string' && /^[+-]?\d+(\.\d+)?$/.test(value) ? Number(value) : toNumber(value)
    },
    toString: toText,
  } satisfies Record<string, Operator>),
)

/** Maximum characters of the result of a replacement. Longer results throw TooCostly. */
const LONGEST = 2 ** 24

function replaced(value: string, part: string, replacement: string): string {
  if (replacement.length > part.length) {
    let grown = value.length
    for (let at = value.indexOf(part); at >= 0 && at < value.length; at = value.indexOf(part, at + (part.length || 1))) {
      grown += replacement.length - part.length
      if (grown > LONGEST) throw new TooCostly()
    }
  }
  return value.replaceAll(part, () => replacement)
}

/**
 * Returns the text with all matches replaced. In `replacement`, `$1` is a group, `$&` the match and `$$` a dollar sign. References to the
 * text before and after the match stay as they are written. Throws TooCostly if the result could exceed `LONGEST`.
 */
function replacedMatches(value: string, pattern: RegExp, replacement: string): string {
  let grown = value.length * replacement.split('$').length
  // Count the matches only if a match at each character could exceed the limit.
  if (grown + (value.length + 1) * replacement.length > LONGEST)
    for (const _ of value.matchAll(pattern)) {
      grown += replacement.length
      if (grown > LONGEST) throw new TooCostly()
    }
  return value.replace(
    pattern,
    replacement.replace(/\$([$`'])/g, (pair, after) => (after === '$' ? pair : `$${pair}`)),
  )
}

const regexes = new Map<string, RegExp>()
const MAX_REGEXES = 1_000

/** Returns the compiled pattern, from a cache if possible. Most patterns are literals of expressions, and therefore few. */
function regex(pattern: string, flags = ''): RegExp {
  const key = `${flags}/${pattern}`
  const cached = regexes.get(key)
  if (cached !== undefined) {
    cached.lastIndex = 0
    return cached
  }
  const compiled = new RegExp(pattern, flags)
  if (regexes.size >= MAX_REGEXES) regexes.clear()
  regexes.set(key, compiled)
  return compiled
}
