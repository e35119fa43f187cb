/**
 * Addition of durations to dates and times. It replaces that of fhirpath.js, which computes in the time zone of the process and loses the
 * offset. http://hl7.org/fhirpath/N1/#datetime-arithmetic
 */

/** Date or time of fhirpath.js. Its `minus` calls `plus`, so a new `plus` corrects both. */
type Moment = { readonly asStr: string; readonly ctx: unknown; plus(duration: Duration): Moment }
type Duration = {
  readonly unit: string
  readonly value: { toNumber(): number }
  readonly _fhirQuantityInfo?: { readonly calendarUnit?: string } | null
}
type MomentClass = new (context: unknown, text: string) => Moment

/** Replaces the addition of fhirpath.js for all dates and times. `moment`: any of them. */
export function correctAddition(moment: object): void {
  let base: object = moment
  while (!Object.hasOwn(base, 'plus')) base = Object.getPrototypeOf(base)
  const prototype = base as Moment
  const { plus } = prototype
  prototype.plus = function (this: Moment, duration) {
    // The original `plus` throws if this duration cannot be added to this value.
    plus.call(this, duration)
    return new (this.constructor as MomentClass)(this.ctx, sumOf(this.asStr, duration))
  }
}

const DATE = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?/
const TIME = /^T?(\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?)?/
const OFFSET = /(?:Z|[+-]\d\d:\d\d)$/
/** Day for a value that is only a time. */
const ANY_DAY = ['2000', '01', '01']

/**
 * Returns the date or time moved by the duration. Its offset and precision stay, except that seconds may gain milliseconds. Throws if the
 * year is not 0001 to 9999.
 */
function sumOf(text: string, duration: Duration): string {
  const date = DATE.exec(text)
  const rest = text.slice(date?.[0].length ?? 0)
  const parts = [...(date ?? ['', ...ANY_DAY]).slice(1), ...(TIME.exec(rest) ?? []).slice(1)].filter((part) => part !== undefined)
  const moment = shift(amountOf(duration, parts.length), parts)
  const year = moment.getUTCFullYear()
  if (Number.isNaN(year) || (date !== null && (year < 1 || year > 9999)))
    throw new Error(`${text} plus ${duration.value.toNumber()} ${duration.unit} is out of range: years are 0001 to 9999`)
  const iso = isoOf(moment, parts.length)
  return date === null ? iso.slice('2000-01-01T'.length) : iso + (OFFSET.exec(rest)?.[0] ?? '')
}

const DAY = 86_400_000
/** Months per calendar unit. */
const MONTHS: Readonly<Record<string, number>> = { year: 12, month: 1 }
/** Milliseconds per calendar unit, and per UCUM unit that fhirpath.js can add. */
const MILLISECONDS: Readonly<Record<string, number>> = {
  ...{ week: 7 * DAY, day: DAY, hour: 3_600_000, minute: 60_000, second: 1_000, millisecond: 1 },
  ...{ wk: 7 * DAY, d: DAY, h: 3_600_000, min: 60_000, s: 1_000, ms: 1 },
}
/**
 * Milliseconds of the last part of a value, by its number of parts from year to fraction. Durations are truncated to multiples of it. A
 * year has 365 days, a month 30.
 */
const STEPS = [365 * DAY, 30 * DAY, DAY, 3_600_000, 60_000, 1, 1]

type Amount = { readonly months: number; readonly milliseconds: number }

function amountOf({ unit, value, _fhirQuantityInfo: info }: Duration, parts: number): Amount {
  const name = (info?.calendarUnit ?? unit).replaceAll("'", '').replace(/(?<=..)s$/, '')
  const [count, whole] = [value.toNumber(), Math.trunc(value.toNumber())]
  const months = MONTHS[name]
  if (months !== undefined) return { months: parts === 1 ? 12 * Math.trunc((whole * months) / 12) : whole * months, milliseconds: 0 }
  const length = MILLISECONDS[name]!
  // For units longer than a second, the fraction of the count is ignored.
  const steps = Math.trunc(((length > 1_000 ? whole : count) * length) / STEPS[parts - 1]!)
  if (parts <= 2) return { months: parts === 1 ? 12 * steps : steps, milliseconds: 0 }
  return { months: 0, milliseconds: steps * STEPS[parts - 1]! }
}

function shift({ months, milliseconds }: Amount, parts: readonly string[]): Date {
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = parts.map(Number)
  const lastDay = new Date(0)
  lastDay.setUTCFullYear(year, month + months, 0)
  const moment = new Date(0)
  moment.setUTCFullYear(year, month - 1 + months, Math.min(day, lastDay.getUTCDate()))
  // Treat a leap second as the second before it.
  moment.setUTCHours(hour, minute, Math.min(second, 59), Number((parts[6] ?? '').slice(0, 3).padEnd(3, '0')))
  return new Date(moment.getTime() + milliseconds)
}

/** Length of an ISO text, by its number of parts from year to fraction. */
const LENGTHS = [4, 7, 10, 13, 16, 19, 23]

function isoOf(moment: Date, parts: number): string {
  const hasFraction = parts === 6 && moment.getUTCMilliseconds() !== 0
  return moment.toISOString().slice(0, LENGTHS[hasFraction ? 6 : parts - 1])
}
