/**
 * JSON for FHIR: decimals keep their text, and errors that JSON.parse would silently accept are rejected.
 * https://hl7.org/fhir/R4/json.html, https://hl7.org/fhir/R4/datatypes.html#decimal
 *
 * A number that a double would write differently (1.10, 1e3, thirty digits) is a string in the tree: U+0000, then the text. Input with
 * U+0000 is rejected, so no other string begins like this.
 */
import { findJsonFault } from './json-fault.ts'
import { fhirError } from './outcome.ts'

/** Maximum nesting of objects and arrays. Deeper bodies are rejected with 400. */
export const MAX_JSON_DEPTH = 64

/**
 * Returns the tree of a JSON text. Throws FhirError 400 with line and column for invalid JSON, duplicate keys and `__proto__`. Also throws
 * FhirError 400 for U+0000, and for texts beyond the limits on depth, properties, objects and decimals.
 */
export function parseJson(text: string): unknown {
  const scanned = scan(text)
  checkSize(scanned, text.length)
  if (text.includes('\\u0000') && /(?:^|[^\\])(?:\\\\)*\\u0000/.test(text))
    throw fhirError(400, 'value', 'The character U+0000 is not allowed in FHIR strings')
  let tree: unknown
  try {
    tree = JSON.parse(scanned.text)
  } catch {
    throw faulty(text)
  }
  if (countMembers(tree) !== scanned.members) throw faulty(text)
  return tree
}

/**
 * Maximum properties of one object. More are rejected with 400. No FHIR element has nearly as many, and JSON.parse takes a second for a
 * million.
 */
const WIDEST = 1_000
/**
 * Minimum average characters per object or array. Texts with fewer are rejected with 400, unless they have at most `SHORT` objects and
 * arrays.
 */
const SHORTEST = 5
const SHORT = 1_000
/**
 * Minimum average characters per preserved decimal, with the element that holds it: `{"value":1.0}`. Texts with fewer are rejected with
 * 400, unless they have at most `SHORT` such decimals.
 */
const SHORTEST_DECIMAL = 10

const refused = (fault: string): Error => fhirError(400, 'structure', `The JSON ${fault}`)

function checkSize({ deepest, widest, nested }: Scan, length: number): void {
  if (deepest > MAX_JSON_DEPTH) throw refused(`is nested deeper than ${MAX_JSON_DEPTH} levels`)
  if (widest > WIDEST) throw refused(`has an object of more than ${WIDEST} properties`)
  if (nested > SHORT && nested > length / SHORTEST) throw refused('has more objects and arrays than a resource of its length can have')
}

/** Decodes and parses the bytes. Throws FhirError 400 if they are not UTF-8, and the errors of `parseJson`. */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = UTF8.decode(bytes)
  } catch {
    throw fhirError(400, 'structure', 'The body is not valid UTF-8')
  }
  return parseJson(text)
}

/** Returns the JSON text of a tree. Preserved decimals become numbers again. */
export function writeJson(tree: unknown): string {
  const text = JSON.stringify(tree)
  // Search without the opening quote: quotes are frequent, and a backslash is found fast.
  return text.includes('\\u0000') ? text.replace(/"\\u0000([^"]*)"/g, '$1') : text
}

export const isDecimal = (value: unknown): value is string => typeof value === 'string' && value.charCodeAt(0) === 0

/** Returns the text of a preserved decimal or of a number. */
export const decimalTextOf = (value: string | number): string => (typeof value === 'number' ? String(value) : value.slice(1))

const UTF8 = new TextDecoder('utf-8', { fatal: true })

function faulty(text: string): Error {
  const { line, column, reason } = findJsonFault(text)
  return fhirError(400, 'structure', `The body is not valid JSON: ${reason} (line ${line}, column ${column})`)
}

type Scan = {
  readonly text: string
  readonly members: number
  readonly deepest: number
  /** Largest number of members of one object. */
  readonly widest: number
  /** Number of objects and arrays. */
  readonly nested: number
}

const QUOTE = 34
const MINUS = 45
const COLON = 58
const POINT = 46
const ZERO = 48
const NINE = 57

/**
 * Scans the text once: counts members, objects and arrays, and measures the depth. Turns numbers that must keep their text into strings.
 * Throws FhirError 400 for more preserved decimals than a resource can have.
 */
function scan(text: string): Scan {
  let members = 0
  let nested = 0
  let depth = 0
  let deepest = 0
  let widest = 0
  /** Members so far of the open object at each depth, up to the maximum depth. Deeper texts are rejected after the scan. */
  const widths = new Int32Array(MAX_JSON_DEPTH + 1)
  let out = ''
  let copied = 0
  let decimals = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) i = endOfString(text, i)
    else if (c === COLON) {
      members++
      if (depth <= MAX_JSON_DEPTH && ++widths[depth]! > widest) widest++
    } else if (c === 123 || c === 91) {
      nested++
      if (++depth > deepest) deepest = depth
      if (depth <= MAX_JSON_DEPTH) widths[depth] = 0
    } else if (c === 125 || c === 93) depth--
    else if (c === MINUS || (c >= ZERO && c <= NINE)) {
      const end = endOfNumber(text, i)
      if (!isPlain(text, i, end) && losesText(text.slice(i, end)) && !isName(text, end)) {
        out += `${text.slice(copied, i)}"\\u0000${text.slice(i, end)}"`
        copied = end
        if (++decimals > SHORT && decimals * SHORTEST_DECIMAL > text.length)
          throw refused('has more decimals than a resource of its length can have')
      }
      i = end - 1
    }
  }
  return { text: copied === 0 ? text : out + text.slice(copied), members, deepest, widest, nested }
}

/** Returns the index of the closing quote of the string that begins at `start`. Returns the length of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === 92) backslashes++
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1
  for (; end < text.length; end++) {
    const c = text.charCodeAt(end)
    // Digits and . + - e E
    if (!((c >= ZERO && c <= NINE) || c === POINT || c === 43 || c === 45 || c === 101 || c === 69)) break
  }
  return end
}

/**
 * Whether a colon follows the number, as after a property name without quotes. Such a number stays as it is, so that JSON.parse rejects it.
 */
function isName(text: string, end: number): boolean {
  let next = end
  while (' \t\n\r'.includes(text.charAt(next)) && next < text.length) next++
  return text.charCodeAt(next) === COLON
}

/**
 * Whether a number has the most common form, in which a double keeps its text: at most 15 characters, no sign or exponent, no leading zero,
 * and no trailing zero after a point. A fast check before `losesText`.
 */
function isPlain(text: string, start: number, end: number): boolean {
  if (end - start > 15 || text.charCodeAt(start) === ZERO) return false
  let hasPoint = false
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i)
    if (c === POINT) hasPoint = true
    else if (c < ZERO || c > NINE) return false
  }
  return !hasPoint || text.charCodeAt(end - 1) !== ZERO
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Whether a double would change the text of a number. False for malformed numbers, which JSON.parse rejects. */
const losesText = (token: string): boolean => String(Number(token)) !== token && NUMBER.test(token)

/**
 * Returns the number of members of all objects; NaN if one is named `__proto__`. Duplicate keys make it smaller than the scanned number.
 */
function countMembers(tree: unknown): number {
  if (typeof tree !== 'object' || tree === null) return 0
  let count = 0
  if (Array.isArray(tree)) {
    for (const item of tree) count += countMembers(item)
    return count
  }
  for (const key in tree) {
    const value = (tree as Record<string, unknown>)[key]
    count += key === '__proto__' ? Number.NaN : 1
    if (typeof value === 'object') count += countMembers(value)
  }
  return count
}
