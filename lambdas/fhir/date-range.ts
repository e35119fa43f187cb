/** FHIR dates as ranges of instants. A date covers the interval that its precision leaves open. https://hl7.org/fhir/R4/search.html#date */
import { instantOf } from './time-zone.ts'

/** Range in milliseconds since 1970, from `low` (inclusive) to `high` (exclusive). */
export type DateRange = { readonly low: number; readonly high: number }

const FORM = /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?)?)?$/

/** Index in `YYYY-MM-DDThh:mm:ss.fff` at which each part after the year begins. */
const [MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION] = [5, 8, 11, 14, 17, 20] as const

/**
 * Returns the range of a date, dateTime or instant, or undefined for any other text. A time without seconds is valid, as in searches.
 * `timeZone`: IANA name of the zone for values without an offset; UTC if absent.
 */
export function parseDateRange(text: string, timeZone?: string): DateRange | undefined {
  if (!FORM.test(text)) return undefined
  const { length } = text
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2)
  const month = length > MONTH ? twoDigits(text, MONTH) - 1 : 0
  const day = length > DAY ? twoDigits(text, DAY) : 1
  if (year === 0 || month > 11 || day < 1 || (day > 28 && day > daysIn(year, month))) return undefined
  if (length > HOUR) return momentRange(text, year, month, day, timeZone)
  const local = (ms: number): number => (timeZone === undefined ? ms : instantOf(ms, timeZone))
  if (length < MONTH) return { low: local(utc(year, 0)), high: local(utc(year + 1, 0)) }
  if (length < DAY) return { low: local(utc(year, month)), high: local(utc(year, month + 1)) }
  return { low: local(utc(year, month, day)), high: local(utc(year, month, day + 1)) }
}

function momentRange(text: string, year: number, month: number, day: number, timeZone: string | undefined): DateRange | undefined {
  const end = endOfTime(text)
  const hour = twoDigits(text, HOUR)
  const minute = twoDigits(text, MINUTE)
  const second = end > SECOND ? twoDigits(text, SECOND) : 0
  if (hour > 23 || minute > 59 || second > 60 || !isOffset(text, end)) return undefined
  const localTime = utc(year, month, day, hour, minute, second)
  const low = end < text.length ? localTime - offsetAt(text, end) : timeZone === undefined ? localTime : instantOf(localTime, timeZone)
  if (end < SECOND) return { low, high: low + 60_000 }
  if (end < FRACTION) return { low, high: low + 1_000 }
  const exact = low + Math.floor(Number(`0.${text.slice(FRACTION, end)}`) * 1000)
  return { low: exact, high: exact + Math.max(1, 10 ** (3 + FRACTION - end)) }
}

/** Returns the index at which the time zone offset (`Z`, `+01:00`) begins, or the length of the text if there is none. */
function endOfTime(text: string): number {
  if (text.endsWith('Z')) return text.length - 1
  const sign = text.at(-'+hh:mm'.length)
  return sign === '+' || sign === '-' ? text.length - '+hh:mm'.length : text.length
}

/**
 * Whether the time zone offset at index `at` is valid: absent, `Z`, or at most 14 hours. https://hl7.org/fhir/R4/datatypes.html#dateTime
 */
function isOffset(text: string, at: number): boolean {
  if (at === text.length || text[at] === 'Z') return true
  const [hours, minutes] = [twoDigits(text, at + 1), twoDigits(text, at + 4)]
  return minutes < 60 && hours * 60 + minutes <= 14 * 60
}

/** Returns the time zone offset at index `at` in milliseconds. Zones east of UTC are positive. */
function offsetAt(text: string, at: number): number {
  if (text[at] === 'Z') return 0
  return (text[at] === '-' ? -1 : 1) * (twoDigits(text, at + 1) * 60 + twoDigits(text, at + 4)) * 60_000
}

const ZERO = 48
const twoDigits = (text: string, at: number): number => (text.charCodeAt(at) - ZERO) * 10 + text.charCodeAt(at + 1) - ZERO

/** Returns milliseconds since 1970. `month`: 0 to 11. Date.UTC maps the years 0 to 99 to 1900 to 1999; setUTCFullYear does not. */
function utc(year: number, month: number, day = 1, hour = 0, minute = 0, second = 0): number {
  if (year > 99) return Date.UTC(year, month, day, hour, minute, second)
  return new Date(Date.UTC(2000, month, day, hour, minute, second)).setUTCFullYear(year, month, day)
}

const daysIn = (year: number, month: number): number => new Date(Date.UTC(year > 99 ? year : year + 400, month + 1, 0)).getUTCDate()
