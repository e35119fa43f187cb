/** The offset of a time zone at an instant, from the platform's own data. */

/** Needs none of the platform's data, which takes 10 ms to load: a cold start in most places. */
const UTC = 'UTC'

const FORMATS = new Map<string, Intl.DateTimeFormat>()
/** Offsets change at whole quarters of an hour. */
const QUARTER = 15 * 60_000
const MOST_KNOWN = 100_000
const known = new Map<string, number>()

export function isTimeZone(name: string): boolean {
  if (name === UTC) return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== ''
  } catch {
    return false
  }
}

/** The instant at which clocks of the zone show what clocks of UTC show at `shown`. Milliseconds since 1970. */
export function instantOf(shown: number, timeZone: string): number {
  const guess = shown - offsetAt(shown, timeZone)
  return shown - offsetAt(guess, timeZone)
}

/** Milliseconds east of UTC. */
function offsetAt(instant: number, timeZone: string): number {
  if (timeZone === UTC) return 0
  const quarter = Math.floor(instant / QUARTER)
  const key = `${timeZone} ${quarter}`
  let offset = known.get(key)
  if (offset === undefined) {
    if (known.size > MOST_KNOWN) known.clear()
    offset = readOffset(quarter * QUARTER, timeZone)
    known.set(key, offset)
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
