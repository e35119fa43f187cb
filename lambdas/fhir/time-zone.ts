/** Offset of a time zone at an instant, from the time zone data of the platform. */

/** Time zone that needs no platform data. Loading that data takes 10 ms, usually during a cold start. */
const UTC = 'UTC'

const FORMATS = new Map<string, Intl.DateTimeFormat>()
/** Quarter of an hour in milliseconds. Offsets change only at quarters of an hour, so they are cached for each quarter. */
const QUARTER = 15 * 60_000
const MAX_CACHED = 100_000
const cache = new Map<string, number>()

export function isTimeZone(name: string): boolean {
  if (name === UTC) return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== ''
  } catch {
    return false
  }
}

/**
 * Returns the instant at which clocks in the time zone show a local time. Both are in milliseconds since 1970; the local time is encoded as
 * if it were UTC.
 */
export function instantOf(localTime: number, timeZone: string): number {
  const guess = localTime - offsetAt(localTime, timeZone)
  return localTime - offsetAt(guess, timeZone)
}

/** Returns the offset of a time zone at an instant, in milliseconds. Zones east of UTC are positive. */
function offsetAt(instant: number, timeZone: string): number {
  if (timeZone === UTC) return 0
  const quarter = Math.floor(instant / QUARTER)
  const key = `${timeZone} ${quarter}`
  let offset = cache.get(key)
  if (offset === undefined) {
    if (cache.size > MAX_CACHED) cache.clear()
    offset = readOffset(quarter * QUARTER, timeZone)
    cache.set(key, offset)
  }
  return offset
}

function readOffset(instant: number, timeZone: string): number {
  const parts = formatOf(timeZone).formatToParts(instant)
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = /([+\-−])(\d{1,2}):?(\d{2})?(?::(\d{2}))?/.exec(name) ?? []
  const size = (Number(hours) * 60 + Number(minutes)) * 60_000 + Number(seconds) * 1000
  return sign === '-' || sign === '−' ? -size : size
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = FORMATS.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    FORMATS.set(timeZone, format)
  }
  return format
}
