/** Every setting of the service: name, type, default, meaning. The only reader of process.env, and never while it is imported. */
import { isTimeZone } from '../fhir/time-zone.ts'

export type SettingKind = 'integer' | 'list' | 'switch' | 'time zone' | readonly string[]

export type Setting = {
  /** The environment variable is FHIR_ and the name in capitals: FHIR_MAX_BODY_BYTES. */
  readonly name: string
  readonly kind: SettingKind
  readonly fallback: string
  readonly doc: string
}

const setting = <const Name extends string, const Kind extends SettingKind>(name: Name, kind: Kind, fallback: string, doc: string) => ({
  name,
  kind,
  fallback,
  doc,
})

// biome-ignore format: a table
export const SETTINGS = [
  setting('clientIds', ['required', 'optional'], 'required', 'POST without an id: required answers 400, optional lets the server choose a UUID'),
  setting('conditionalUpdateIdMismatch', ['accept', 'reject'], 'accept', 'a conditional update whose body has another id than the match: apply it to the match, or answer 400'),
  setting('noOpUpdates', ['version', 'ignore'], 'version', 'an update that changes nothing: a new version all the same, or none'),
  setting('versioning', 'switch', 'on', 'off: vread answers 404 and histories show current versions only (all versions are kept)'),
  setting('referentialIntegrity', 'switch', 'off', 'on: a reference to a resource that is not there answers 422, the deletion of one that others refer to 409'),
  setting('timeZone', 'time zone', 'UTC', 'IANA name of the time zone of dates without an offset'),
  setting('maxTransactionEntries', 'integer', '5000', 'entries of a batch or transaction; more are answered 413'),
  setting('maxBodyBytes', 'integer', '16000000', 'size of a request body in bytes; more is answered 413'),
  setting('maxRequests', 'integer', '1000', 'requests under way at once; more are answered 503'),
  setting('allowedOrigins', 'list', '*', 'origins whose browsers may call the server, separated by commas, or *; in open mode only loopback origins are let in'),
  setting('auditRetentionDays', 'integer', '90', 'days for which audit records are kept'),
  setting('searchBudget', 'integer', '10000', 'milliseconds a search may take before it is answered 503'),
] as const satisfies readonly Setting[]

type Value<Kind> = Kind extends 'integer'
  ? number
  : Kind extends 'switch'
    ? boolean
    : Kind extends 'list'
      ? readonly string[]
      : Kind extends readonly (infer Choice)[]
        ? Choice
        : string

export type Config = { readonly [S in (typeof SETTINGS)[number] as S['name']]: Value<S['kind']> }

export const variableOf = (name: string): string => `FHIR_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** RangeError that names the variable where a value does not fit. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  return Object.fromEntries(SETTINGS.map((each) => [each.name, parse(each, environment[variableOf(each.name)] ?? each.fallback)])) as Config
}

function parse({ name, kind }: Setting, text: string): unknown {
  const refuse = (expected: string): never => {
    throw new RangeError(`${variableOf(name)} is "${text}", but must be ${expected}`)
  }
  switch (kind) {
    case 'integer':
      return /^\d{1,15}$/.test(text) ? Number(text) : refuse('a whole number')
    case 'switch':
      return text === 'on' || text === 'true' ? true : text === 'off' || text === 'false' ? false : refuse('on or off')
    case 'list':
      return text.split(',').map((item) => item.trim())
    case 'time zone':
      return isTimeZone(text) ? text : refuse('the name of a time zone, such as Europe/Berlin')
    default:
      return kind.includes(text) ? text : refuse(`one of ${kind.join(', ')}`)
  }
}
