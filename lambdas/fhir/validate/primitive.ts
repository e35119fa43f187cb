/** Formats of primitive types. https://hl7.org/fhir/R4/datatypes.html#primitive */
import { isDecimal } from '../json.ts'
import { isIdText } from '../resource.ts'
import { findNarrativeProblem } from './narrative.ts'

/** Returns the problem of a value, or undefined if it is valid. */
export type PrimitiveCheck = (value: unknown) => string | undefined

export function primitiveCheckOf(type: string): PrimitiveCheck | undefined {
  return CHECKS.get(type)
}

const text = (fault: (value: string) => string | undefined): PrimitiveCheck => {
  return (value) => {
    if (typeof value !== 'string' || value.charCodeAt(0) === 0) return 'A string is expected'
    return value === '' ? 'A string may not be empty' : fault(value)
  }
}

/**
 * Returns a check by pattern. Texts longer than `LONGEST` are invalid, because a pattern that repeats a group exhausts the stack on them.
 */
const matching = (pattern: RegExp, fault: string): PrimitiveCheck =>
  text((value) => (value.length <= LONGEST && pattern.test(value) ? undefined : fault))

const whole = (low: number, high: number): PrimitiveCheck => {
  return (value) => {
    if (typeof value !== 'number' && !isDecimal(value)) return 'A number is expected'
    return Number.isInteger(value) && (value as number) >= low && (value as number) <= high
      ? undefined
      : `An integer from ${low} to ${high} is expected`
  }
}

const LONGEST = 1024 * 1024
const MAX_INTEGER = 2_147_483_647

const plainText = text((value) => {
  if (CONTROL.test(value)) return 'Control characters are not allowed'
  return value.length > LONGEST ? `A string may have ${LONGEST} characters` : undefined
})

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/

const dated = (pattern: RegExp, fault: string): PrimitiveCheck =>
  text((value) => {
    if (!pattern.test(value)) return fault
    return isDay(value) ? undefined : 'There is no such day'
  })

/** Whether the day of a date exists. There is no 30 February and no year 0. */
function isDay(value: string): boolean {
  if (value.startsWith('0000')) return false
  if (value.length < 10) return true
  const day = Number(value.slice(8, 10))
  if (day <= 28) return true
  const [year, month] = [Number(value.slice(0, 4)), Number(value.slice(5, 7))]
  return day <= (month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : DAYS[month]!)
}

const DAYS = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const YEAR = '\\d{4}'
const MONTH = '(?:0[1-9]|1[0-2])'
const DAY = '(?:0[1-9]|[12]\\d|3[01])'
const TIME = '(?:[01]\\d|2[0-3]):[0-5]\\d:(?:[0-5]\\d|60)(?:\\.\\d+)?'
const ZONE = '(?:Z|[+-](?:(?:0\\d|1[0-3]):[0-5]\\d|14:00))'

const uri = text((value) => (SPACE.test(value) ? 'A URI may not contain white space' : undefined))

/** Pattern for white space, declared once: a pattern within a function would be created for every value. */
const SPACE = /\s/

const id = text((value) => (isIdText(value) ? undefined : 'An id has 1 to 64 letters, digits, - and .'))

/** Checks the form of base64: its alphabet with white space anywhere, a multiple of four characters, and at most two `=` at the end. */
const base64 = text((value) => {
  const padding = value.includes('=') ? value.slice(value.indexOf('=')) : ''
  if (NO_BASE64.test(value) || NO_PADDING.test(padding) || charactersOf(padding) > 2) return 'This is not base64'
  return charactersOf(value) % 4 === 0 ? undefined : 'This is not base64: its length is not a multiple of four'
})

// Search for invalid characters: a match from end to end would need stack for every character.
const NO_BASE64 = /[^A-Za-z0-9+/=\s]/
const NO_PADDING = /[^=\s]/

/** Returns the number of characters that are not white space. Call it only for texts whose other characters are ASCII. */
function charactersOf(text: string): number {
  if (!SPACE.test(text)) return text.length
  let count = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c > 32 && c < 127) count++
  }
  return count
}

/** Invalid white space of a code: anything other than single spaces between words. */
const NO_CODE = /^ | $| {2}|[^\S ]/

const CHECKS: ReadonlyMap<string, PrimitiveCheck> = new Map<string, PrimitiveCheck>([
  ['boolean', (value) => (typeof value === 'boolean' ? undefined : 'true or false is expected')],
  ['integer', whole(-MAX_INTEGER - 1, MAX_INTEGER)],
  ['unsignedInt', whole(0, MAX_INTEGER)],
  ['positiveInt', whole(1, MAX_INTEGER)],
  ['decimal', (value) => (Number.isFinite(value) || isDecimal(value) ? undefined : 'A number is expected')],
  ['string', plainText],
  ['markdown', plainText],
  ['id', id],
  ['code', text((value) => (NO_CODE.test(value) ? 'A code has no white space at its ends, and single spaces within' : undefined))],
  ['uri', uri],
  ['url', uri],
  ['canonical', uri],
  ['oid', matching(/^urn:oid:[0-2](\.(0|[1-9]\d*))+$/, 'An OID looks like urn:oid:1.2.3')],
  [
    'uuid',
    matching(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
      'A UUID looks like urn:uuid:c757873d-ec9a-4326-a141-556f43239520',
    ),
  ],
  ['date', dated(new RegExp(`^${YEAR}(?:-${MONTH}(?:-${DAY})?)?$`), 'A date looks like 2024, 2024-05 or 2024-05-31')],
  [
    'dateTime',
    dated(
      new RegExp(`^${YEAR}(?:-${MONTH}(?:-${DAY}(?:T${TIME}${ZONE})?)?)?$`),
      'A dateTime looks like 2024, 2024-05, 2024-05-31 or 2024-05-31T08:15:00Z, with an offset where it has a time',
    ),
  ],
  [
    'instant',
    dated(new RegExp(`^${YEAR}-${MONTH}-${DAY}T${TIME}${ZONE}$`), 'An instant looks like 2024-05-31T08:15:00.123Z, with an offset'),
  ],
  ['time', matching(new RegExp(`^${TIME}$`), 'A time looks like 08:15:00')],
  ['base64Binary', base64],
  ['xhtml', text(findNarrativeProblem)],
])
