/** Checks for values that settings in JSON can get wrong. Without them a misspelled name would silently leave the default in place. */
import { isIPv4 } from 'node:net'
import type { RetentionDays } from 'aws-cdk-lib/aws-logs'
import { RegionInfo } from 'aws-cdk-lib/region-info'
import { MAX_WRITERS } from '../../lambdas/export/workflow.ts'
import { isResourceType } from '../../lambdas/fhir/resource-types.ts'
import { MAX_WIDTH } from '../../lambdas/indexing/rebuild/workflow.ts'
import { VAULT_ARN } from './backup-settings.ts'
import { DOMAIN_SIZES, type DomainSize, MAX_REPLICAS, MAX_SEARCH_SHARDS, shapeOf } from './domain-sizes.ts'
import { MAX_SHARDS } from './index-shards.ts'
import { type CapacityUnits, NEW_TABLE } from './table-capacity.ts'

/** Check that returns the error with its location, or undefined if the value is valid. */
type Check = (value: unknown, location: string) => string | undefined

type Members = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value)

const must =
  (isValid: (value: unknown) => boolean, expectation: string): Check =>
  (value, location) =>
    isValid(value) ? undefined : `${location} must be ${expectation}`

const matches = (pattern: RegExp, expectation: string): Check =>
  must((value) => typeof value === 'string' && pattern.test(value), expectation)

const whole = (min: number, max = Number.MAX_SAFE_INTEGER): Check =>
  must(
    (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
    max === Number.MAX_SAFE_INTEGER ? `a whole number from ${min} on` : `a whole number from ${min} to ${max}`,
  )

/** Returns the message for a misspelled name. `accepted`: names that are valid there. */
export const unacceptedName = (name: string, accepted: readonly string[]): string =>
  `${name} is not a setting. Accepted: ${accepted.join(', ')}`

/** Checks an object and its members. `optional`: names that may be missing. */
const object =
  (checks: Readonly<Record<string, Check>>, optional: readonly string[] = []): Check =>
  (value, location) => {
    const names = Object.keys(checks)
    if (!isObject(value)) return `${location} must be an object of ${names.join(', ')}`
    const unknown = Object.keys(value).find((name) => !names.includes(name))
    if (unknown !== undefined) return unacceptedName(`${location}.${unknown}`, names)
    for (const [name, check] of Object.entries(checks)) {
      const isMissing = value[name] === undefined && optional.includes(name)
      const fault = isMissing ? undefined : check(value[name], `${location}.${name}`)
      if (fault !== undefined) return fault
    }
    return undefined
  }

/** Checks an object with any names. `checkName`: check of each name. */
const entries =
  (check: Check, checkName: Check = () => undefined): Check =>
  (value, location) =>
    isObject(value)
      ? Object.entries(value).reduce<string | undefined>(
          (fault, [name, each]) => fault ?? checkName(name, `${location}.${name}`) ?? check(each, `${location}.${name}`),
          undefined,
        )
      : `${location} must be an object`

/** Retention periods of CloudWatch: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html */
export const LOG_RETENTION_DAYS: readonly RetentionDays[] = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
]

/** Whether the value is an address of IPv4 with 16 to 22 bits. */
function isNetwork(value: unknown): boolean {
  const [address = '', bits = ''] = String(value).split('/')
  return isIPv4(address) && /^(?:1[6-9]|2[0-2])$/.test(bits) && String(value) === `${address}/${bits}`
}

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,}$/
const CLUSTER_URL = /^https?:\/\/[^\s?#@]+$/

/** Maximum rate of WAF: https://docs.aws.amazon.com/waf/latest/APIReference/API_RateBasedStatement.html */
export const MAX_FIREWALL_RATE = 2_000_000_000
const firewallRate = whole(10, MAX_FIREWALL_RATE)

/** Checks the memory of a function in MB: https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html */
const memory = whole(128, 10_240)
const units = (min: CapacityUnits, more: Readonly<Record<string, Check>> = {}): Check =>
  object({ reads: whole(min.reads), writes: whole(min.writes), ...more }, Object.keys(more))

const shards = (max: number): Check =>
  entries(
    whole(1, max),
    must((name) => isResourceType(String(name)), 'a resource type of R4'),
  )

const copies = { shards: shards(MAX_SEARCH_SHARDS), replicas: whole(0, MAX_REPLICAS) }
const SIZE_NAMES = Object.keys(DOMAIN_SIZES)
const INSTANCE = /^[a-z0-9]+\.[a-z0-9]+\.search$/
const domainNodes = { instanceType: matches(INSTANCE, 'an instance type of OpenSearch, such as r7g.large.search'), count: whole(1) }
// https://docs.aws.amazon.com/opensearch-service/latest/developerguide/managedomains-dedicatedmasternodes.html
const masters = object({ ...domainNodes, count: must((count) => count === 3 || count === 5, '3 or 5') })
const domainShape = object({ ...domainNodes, disk: whole(10), zones: whole(1, 3), masters }, ['masters'])
const domainSize: Check = (value, location) =>
  isObject(value)
    ? domainShape(value, location)
    : must(
        (name) => SIZE_NAMES.includes(String(name)),
        `${SIZE_NAMES.map((name) => `"${name}"`).join(', ')} or an object of instanceType, count, disk, zones, masters`,
      )(value, location)

const search: Check = (value, location) =>
  isObject(value) && 'endpoint' in value
    ? object(
        { endpoint: matches(CLUSTER_URL, 'the https URL of a cluster'), domainArn: matches(DOMAIN, 'the ARN of a domain'), ...copies },
        ['domainArn', 'shards', 'replicas'],
      )(value, location)
    : object({ kind: matches(/^domain$/, '"domain"'), size: domainSize, ...copies }, ['shards', 'replicas'])(value, location)

const DOMAIN = /^arn:aws[a-z-]*:es:[a-z0-9-]+:\d{12}:domain\/\S+$/

const CHECKS: Readonly<Record<string, Check>> = {
  account: matches(/^\d{12}$/, 'a string of the twelve digits of an account'),
  region: matches(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'an AWS region, such as eu-central-1'),
  search,
  customDomain: object({
    name: matches(HOST, 'a host name'),
    certificateArn: matches(/^arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate\/\S+$/, 'the ARN of an ACM certificate in us-east-1'),
    hostedZone: object({
      id: matches(/^Z[A-Z0-9]+$/, 'the id of a hosted zone, such as Z0123456789'),
      name: matches(HOST, 'the name of a hosted zone'),
    }),
  }),
  vpc: object({
    cidr: must(isNetwork, 'an IPv4 range with a prefix of 16 to 22 bits, such as 10.0.0.0/16'),
    availabilityZones: must(
      (zones) => Array.isArray(zones) && zones.length > 0 && new Set(zones).size === zones.length,
      'a list of different availability zones, such as eu-central-1a',
    ),
  }),
  // DynamoDB rejects `warm` values below those of a new table:
  // https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/warm-throughput.html
  capacity: object(
    {
      warm: units(NEW_TABLE, { index: units(NEW_TABLE), state: units(NEW_TABLE) }),
      most: units({ reads: 1, writes: 1 }),
      shards: shards(MAX_SHARDS),
    },
    ['warm', 'most', 'shards'],
  ),
  logRetentionDays: must(
    (days) => LOG_RETENTION_DAYS.includes(days as number),
    `one of these numbers of days: ${LOG_RETENTION_DAYS.join(', ')}`,
  ),
  service: must(isObject, 'an object of settings of the server'),
  alarmEmail: matches(/^[^\s@]+@[^\s@]+$/, 'an e-mail address'),
  // The maximum limits the effect of a wrong number, because S3 deletes no record earlier.
  auditArchiveYears: whole(0, 30),
  backup: object({ vault: matches(VAULT_ARN, 'the ARN of an AWS Backup vault'), days: whole(1, 36_500) }),
  budget: whole(1),
  concurrency: entries(whole(0)),
  parallelizationFactor: whole(1, 10),
  memory: object({ light: memory, request: memory, worker: memory }, ['light', 'request', 'worker']),
  // The account limits `rate` and `burst`.
  limits: object({ perAddress: firewallRate, perToken: firewallRate, withoutToken: firewallRate, rate: whole(1), burst: whole(1) }, [
    'perAddress',
    'perToken',
    'withoutToken',
    'rate',
    'burst',
  ]),
  originSecret: whole(1),
  exportLinkKey: whole(1),
  rebuildWait: whole(0),
  rebuildWidth: whole(1, MAX_WIDTH),
  exportWriters: whole(1, MAX_WRITERS),
  conditionalVersions: whole(2_000, 20_000),
  keptIndexDays: whole(0),
}

/** Throws RangeError if a setting is invalid. The message names the location. `settings`: explicit settings; others have their defaults. */
export function checkSettings(settings: unknown): void {
  if (!isObject(settings)) throw new RangeError('the settings must be an object')
  for (const [name, check] of Object.entries(CHECKS)) {
    const value = settings[name]
    const fault = value === undefined ? undefined : check(value, name)
    if (fault !== undefined) throw new RangeError(fault)
  }
}

/** Settings that are valid individually and may conflict. */
export type RelatedSettings = {
  readonly region: string
  readonly search: { readonly size?: DomainSize; readonly endpoint?: string }
  readonly vpc?: { readonly cidr: string; readonly availabilityZones: readonly string[] }
  readonly customDomain?: { readonly name: string; readonly hostedZone: { readonly name: string } }
}

/** Throws RangeError if the settings conflict. */
export function checkRelatedSettings({ customDomain, region, search, vpc }: RelatedSettings): void {
  checkPartition(region)
  checkZones(search, vpc)
  if (vpc !== undefined) checkNetwork(vpc, region)
  if (customDomain === undefined) return
  const { name, hostedZone } = customDomain
  if (name !== hostedZone.name && !name.endsWith(`.${hostedZone.name}`))
    throw new RangeError(`customDomain.name ${name} is not in the zone ${hostedZone.name}`)
}

/** The stacks use CloudFront with its functions and keys. GovCloud, China and the isolated regions have none, or one without these parts. */
function checkPartition(region: string): void {
  const { partition = 'aws' } = RegionInfo.get(region)
  if (partition !== 'aws')
    throw new RangeError(
      `region ${region} is in the partition ${partition}, which lacks CloudFront features that access tokens and export links require. Choose a region of the partition aws, such as eu-central-1`,
    )
}

const SUBNET_BITS = 22

/**
 * OpenSearch spreads the nodes over the zones, which must be those of the VPC:
 * https://docs.aws.amazon.com/opensearch-service/latest/developerguide/managedomains-multiaz.html
 */
function checkZones({ size }: RelatedSettings['search'], vpc: RelatedSettings['vpc']): void {
  if (size === undefined) return
  const { count, zones } = shapeOf(size)
  if (count % zones !== 0) throw new RangeError(`search.size.count ${count} must be a multiple of search.size.zones ${zones}`)
  if (vpc !== undefined && zones > 1 && vpc.availabilityZones.length !== zones)
    throw new RangeError(`vpc.availabilityZones must be ${zones} zones, those of the nodes of search.size`)
}

function checkNetwork({ cidr, availabilityZones }: NonNullable<RelatedSettings['vpc']>, region: string): void {
  const isInRegion = (zone: unknown): boolean =>
    typeof zone === 'string' && zone.startsWith(region) && /^[a-z]$/.test(zone.slice(region.length))
  const foreign = availabilityZones.find((zone) => !isInRegion(zone))
  if (foreign !== undefined) throw new RangeError(`vpc.availabilityZones: ${foreign} is not a zone of ${region}, such as ${region}a`)
  const capacity = 2 ** (SUBNET_BITS - Number(cidr.split('/')[1]))
  if (availabilityZones.length > capacity)
    throw new RangeError(`vpc.cidr ${cidr} is too small: it has subnets for ${capacity} of ${availabilityZones.length} zones`)
}
