/** A FHIR date stands for the interval its precision leaves open. https://hl7.org/fhir/R4/search.html#date */
import { instantOf } from './time-zone.ts'

/** Milliseconds since 1970; from `low` up to, not including, `high`. */
export type DateRange = { readonly low: number; readonly high: number }

const FORM = /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?)?)?$/

/**
 * undefined for what is no date, dateTime or instant. Minutes without seconds are allowed, as in searches.
 * `timeZone`: IANA name of the zone of what has no offset; absent: UTC.
 */
export function dateRange(text: string, timeZone?: string): DateRange | undefined {
  const parts = FORM.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour, minute, second, fraction, offset] = parts
  const y = Number(year)
  const m = Number(month ?? 1) - 1
  const d = Number(day ?? 1)
  if (m > 11 || d < 1 || d > daysIn(y, m) || Number(hour ?? 0) > 24 || Number(minute ?? 0) > 59 || Number(second ?? 0) > 60)
    return undefined
  const local = (ms: number): number => (timeZone === undefined ? ms : instantOf(ms, timeZone))
  if (month === undefined) return { low: local(utc(y, 0)), high: local(utc(y + 1, 0)) }
  if (day === undefined) return { low: local(utc(y, m)), high: local(utc(y, m + 1)) }
  if (hour === undefined) return { low: local(utc(y, m, d)), high: local(utc(y, m, d + 1)) }
  const shown = utc(y, m, d, Number(hour), Number(minute), Number(second ?? 0))
  const low = offset === undefined ? local(shown) : shown - offsetOf(offset)
  if (second === undefined) return { low, high: low + 60_000 }
  if (fraction === undefined) return { low, high: low + 1_000 }
  const exact = low + Math.floor(Number(fraction) * 1000)
  return { low: exact, high: exact + Math.max(1, 10 ** (4 - fraction.length)) }
}

/** Date.UTC takes the years 0 to 99 for 1900 to 1999; setUTCFullYear does not. */
function utc(year: number, month: number, day = 1, hour = 0, minute = 0, second = 0): number {
  if (year > 99) return Date.UTC(year, month, day, hour, minute, second)
  return new Date(Date.UTC(2000, month, day, hour, minute, second)).setUTCFullYear(year, month, day)
}

const daysIn = (year: number, month: number): number => new Date(Date.UTC(year > 99 ? year : year + 400, month + 1, 0)).getUTCDate()

/** Milliseconds east of UTC. */
function offsetOf(offset: string): number {
  if (offset === 'Z') return 0
  const [hours = 0, minutes = 0] = offset.slice(1).split(':').map(Number)
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
