/** Settings of scheduled exports. */
import type { ScheduledExport } from '../../lambdas/export/schedules/schedules.ts'
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { unacceptedName } from './setting-checks.ts'

/** Scheduled export and its schedule. Default: a `system` export of the tenant `default`. */
export type ExportSetting = Omit<ScheduledExport, 'level' | 'tenant' | 'epoch'> & {
  readonly level?: ScheduledExport['level']
  readonly tenant?: string
  /** Schedule in UTC: `rate(1 day)` or `cron(0 3 * * ? *)`. */
  readonly schedule: string
  /**
   * Maximum age of the last complete export in hours, counted from its transaction time. Above it an alarm is raised. Default: two
   * intervals of a rate. A cron schedule requires it.
   */
  readonly late?: number
  /** ARN of the KMS key that encrypts `bucket`; absent if no KMS key does. */
  readonly bucketKey?: string
}

/** Prefix in another owner's bucket that receives export files. `key`: ARN of the key that encrypts the bucket. */
export type ExportTarget = { readonly bucket: string; readonly prefix: string; readonly key?: string }

const NAMES = ['name', 'schedule', 'client', 'tenant', 'level', 'group', 'types', 'sinceLast', 'late', 'bucket', 'bucketKey']
/** Maximum scheduled exports; more are rejected. One event, whose size is limited, passes all of them to the sweep. */
export const MAX_EXPORTS = 50
const UNITS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** Throws RangeError if an export is invalid. The message names the location. `related`: other settings that the check depends on. */
export function checkExports(exports: unknown, related: { readonly access: string; readonly hasTenants: boolean }): void {
  if (!Array.isArray(exports) || exports.length > MAX_EXPORTS) throw new RangeError(`exports must be a list of at most ${MAX_EXPORTS}`)
  if (exports.length > 0 && related.access !== 'token')
    throw new RangeError(
      `exports require access "token", not "${related.access}", because each runs with the permissions of a registered client`,
    )
  const names = new Set<unknown>()
  for (const [i, each] of exports.entries()) {
    const fault = faultIn(each, related.hasTenants)
    if (fault !== undefined) throw new RangeError(`exports[${i}]${fault}`)
    if (names.has(each.name)) throw new RangeError(`exports[${i}].name "${each.name}" is already the name of another export`)
    names.add(each.name)
  }
}

type ExportInput = Readonly<Partial<Record<keyof ExportSetting, unknown>>>

function faultIn(input: unknown, hasTenants: boolean): string | undefined {
  if (typeof input !== 'object' || input === null) return ' must be an object'
  const unknown = Object.keys(input).find((name) => !NAMES.includes(name))
  if (unknown !== undefined) return unacceptedName(`.${unknown}`, NAMES)
  return [...checksOf(input, hasTenants)].find(([isInvalid]) => isInvalid)?.[1]
}

function* checksOf(
  { name, schedule, client, tenant, level, group, types, sinceLast, late, bucket, bucketKey }: ExportInput,
  hasTenants: boolean,
) {
  const fits = (value: unknown, pattern: RegExp): boolean => typeof value === 'string' && pattern.test(value)
  const optional = (value: unknown, fitting: boolean): boolean => value !== undefined && !fitting
  yield [!fits(name, /^[A-Za-z0-9-]{1,40}$/), '.name must have 1 to 40 characters: A to Z, a to z, 0 to 9 and -'] as const
  yield [
    !fits(schedule, RATE) && !fits(schedule, CRON),
    '.schedule must be an expression such as rate(1 day) or cron(0 3 * * ? *)',
  ] as const
  yield [!fits(client, /^[A-Za-z0-9._-]{1,64}$/), '.client must be the id of a registered client'] as const
  yield [
    optional(tenant, fits(tenant, /^[A-Za-z0-9_-]{1,64}$/)),
    '.tenant must be the name of a tenant: 1 to 64 letters, digits, _ and -',
  ] as const
  yield [hasTenants && tenant === undefined, '.tenant is missing: with tenancy "on" an export requires it'] as const
  yield [!hasTenants && optional(tenant, tenant === DEFAULT_TENANT), `.tenant must be "${DEFAULT_TENANT}" with tenancy "off"`] as const
  yield [optional(level, fits(level, /^(?:system|patient|group)$/)), '.level must be system, patient or group'] as const
  yield [level === 'group' && !fits(group, /^[A-Za-z0-9.-]{1,64}$/), '.group must be the id of a Group'] as const
  yield [level !== 'group' && group !== undefined, '.group requires the level group'] as const
  yield [optional(types, areTypes(types)), '.types must be a list of resource types'] as const
  yield [optional(sinceLast, typeof sinceLast === 'boolean'), '.sinceLast must be true or false'] as const
  yield [optional(late, typeof late === 'number' && late > 0), '.late must be a number of hours above 0'] as const
  yield [optional(bucket, fits(bucket, /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/)), '.bucket must be the name of an S3 bucket'] as const
  yield [optional(bucketKey, fits(bucketKey, KEY)), '.bucketKey must be the ARN of a KMS key'] as const
  yield [bucketKey !== undefined && bucket === undefined, '.bucketKey requires bucket'] as const
  yield [
    late === undefined && fits(schedule, CRON),
    '.late is missing: a cron schedule requires the hours after which a run is late',
  ] as const
}

const RATE = /^rate\((?:1 (?:minute|hour|day)|(?!1 )[1-9]\d{0,4} (?:minutes|hours|days))\)$/
const CRON = /^cron\([^\s()]+(?: [^\s()]+){5}\)$/

const KEY = /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+$/

const areTypes = (types: unknown): boolean =>
  Array.isArray(types) && types.length > 0 && types.every((type) => typeof type === 'string' && isResourceType(type))

/** Returns the maximum age of the last complete export in milliseconds. */
export const latenessLimitOf = ({ schedule, late }: ExportSetting): number => {
  const [, count, unit] = /^rate\((\d+) (\w+?)s?\)$/.exec(schedule) ?? []
  return late === undefined ? 2 * Number(count) * UNITS[unit!]! : late * UNITS.hour!
}

/** Returns where files of a schedule are copied to; undefined: not copied. `prefix`: start of their keys, with a trailing slash. */
export const targetOf = ({ name, tenant = DEFAULT_TENANT, bucket, bucketKey }: ExportSetting): ExportTarget | undefined =>
  bucket === undefined ? undefined : { bucket, prefix: `${tenant}/${name}/`, ...(bucketKey === undefined ? {} : { key: bucketKey }) }
