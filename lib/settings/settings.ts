/** Everything that can be chosen about a deployment, with its defaults. What the service itself can be told is in lambdas/runtime/config.ts. */
import { type AdditionalResources, parseAdditionalResources } from '../../lambdas/export/additional-resources.ts'
import { FUNCTIONS, type FunctionName } from '../../lambdas/functions/functions.ts'
import { REBUILD_WIDTH } from '../../lambdas/indexing/workflow.ts'
import { readConfig, SETTINGS, variableOf } from '../../lambdas/runtime/config.ts'
import { checkExports, type ExportSetting } from './export-settings.ts'
import { checkRestoredTables, type RestoredTables } from './restored-tables.ts'
import { checkRelatedSettings, checkSettings } from './setting-checks.ts'

export type Settings = {
  /** Part of the names of stacks and the path of roles: several may stand in one account. */
  readonly stage: string
  /** Absent: that of whoever deploys. */
  readonly account?: string
  readonly region: string
  /**
   * `token`: requests carry access tokens, which the stage issues to registered clients. `iam`: requests are signed with AWS credentials.
   * `open`: anybody may do anything; for engines on one machine only.
   */
  readonly access: 'token' | 'iam' | 'open'
  /** With `token`: which secret CloudFront shows the API. One more and a deployment make another; the one before counts until the next. */
  readonly originSecret: number
  /** Which key signs links to export files. One more and a deployment make another; links of the one before count until the next. */
  readonly exportLinkKey: number
  /** Exports that begin on schedules, with the rights of registered clients. */
  readonly exports: readonly ExportSetting[]
  readonly search: SearchSettings
  /**
   * What the server calls itself, without a slash at the end. Absent: with `iam` the API's own address, else the custom domain or CloudFront's.
   * Export files are downloaded from CloudFront whatever the server calls itself.
   */
  readonly baseUrl?: string
  readonly customDomain?: CustomDomain
  /** Absent: no VPC, and no costs for one. The domain is then reached over the internet, signed and over TLS. */
  readonly vpc?: VpcSettings
  readonly capacity: TableCapacity
  /** One of the numbers of days CloudWatch knows. */
  readonly logRetentionDays: number
  /** Settings of the service by their names in config.ts. */
  readonly service: Readonly<Partial<Record<ServiceSetting, string | number>>>
  /**
   * What comes along in exports because it is referred to, in place of lambdas/export/additional-resources.json: an object like that. It goes
   * into the code, since the environment of a function has room for 4 kB.
   */
  readonly exportAdditionalResources?: AdditionalResources
  /** Gets the alarms; it has to confirm that once. */
  readonly alarmEmail?: string
  /** Reserved concurrency. A new account has 10 in all and can reserve nothing. That of `export-step` bounds the writers of all exports. */
  readonly concurrency: Readonly<Partial<Record<FunctionName, number>>>
  /** Batches of one shard that are indexed at once. More than 1 wants a larger domain than the demo. */
  readonly parallelizationFactor: number
  readonly memory: Readonly<Record<FunctionKind, number>>
  readonly limits: RateLimits
  /** Seconds after which no function works with older definitions. */
  readonly rebuildWait: number
  /** Functions that make documents again at once; of the concurrency of the account, which is 10 where that is new. */
  readonly rebuildWidth: number
  /** For which the index of before an upgrade is kept, so that going back takes minutes. 0: it goes when the new one is made. */
  readonly keptIndexDays: number
  /** Tables that DynamoDB restored, which count in the place of those before. Absent: those that the stack made. */
  readonly restored?: RestoredTables
}

/** `demo`: one small node. `production`: three nodes in three zones. Else a cluster of one's own; with the ARN of its domain requests are signed. */
export type SearchSettings =
  | { readonly kind: 'domain'; readonly size: 'demo' | 'production' }
  | { readonly endpoint: string; readonly domainArn?: string }

export type CustomDomain = {
  readonly name: string
  /** Of ACM in us-east-1, as CloudFront wants it. */
  readonly certificateArn: string
  readonly hostedZone: { readonly id: string; readonly name: string }
}

/** Private subnets without a way to the internet, in these zones, and endpoints for what the functions call. */
export type VpcSettings = { readonly cidr: string; readonly availabilityZones: readonly string[] }

/** Units per second of the table of resources. `warm`: what it takes at once; `most`: a limit of costs. */
export type TableCapacity = {
  readonly warm?: { readonly reads: number; readonly writes: number }
  readonly most?: { readonly reads: number; readonly writes: number }
}

export type RateLimits = {
  /** Requests of one address in five minutes. */
  readonly perAddress: number
  /** Requests per second of all. */
  readonly rate: number
  readonly burst: number
}

export type ServiceSetting = (typeof SETTINGS)[number]['name']
export type FunctionKind = 'light' | 'request' | 'worker'

export const FUNCTION_KINDS: Readonly<Record<FunctionName, FunctionKind>> = {
  read: 'light',
  vread: 'light',
  history: 'light',
  capabilities: 'light',
  'reindex-status': 'light',
  fallback: 'light',
  discovery: 'light',
  token: 'light',
  introspect: 'light',
  revoke: 'light',
  authorize: 'request',
  search: 'request',
  meta: 'request',
  everything: 'request',
  create: 'request',
  update: 'request',
  patch: 'request',
  delete: 'request',
  bundle: 'request',
  reindex: 'light',
  validate: 'request',
  'apply-fhirpath': 'request',
  indexer: 'worker',
  'settle-transactions': 'request',
  'rebuild-step': 'worker',
  migrate: 'request',
  'tend-keys': 'light',
  'link-key': 'light',
  export: 'request',
  'export-status': 'light',
  'export-cancel': 'light',
  'export-step': 'worker',
  'export-sweep': 'request',
  'export-schedule': 'request',
  'adopt-tables': 'light',
}

/** The event of a function has 6 MB, and carries a body as an escaped string. */
const LARGEST_BODY = 5_000_000

export const DEFAULT_SETTINGS: Settings = {
  stage: 'dev',
  region: 'us-east-1',
  access: 'token',
  originSecret: 1,
  exportLinkKey: 1,
  exports: [],
  search: { kind: 'domain', size: 'demo' },
  capacity: {},
  logRetentionDays: 90,
  service: {},
  concurrency: {},
  parallelizationFactor: 1,
  memory: { light: 512, request: 1024, worker: 1769 },
  limits: { perAddress: 100_000, rate: 500, burst: 1_000 },
  rebuildWait: 60,
  rebuildWidth: REBUILD_WIDTH,
  keptIndexDays: 7,
}

const OPTIONAL = ['account', 'baseUrl', 'customDomain', 'vpc', 'alarmEmail', 'exportAdditionalResources', 'restored']

/** `given` over the defaults. RangeError that says what is wrong. */
export function settingsOf(given: Readonly<Partial<Settings>>): Settings {
  checkSettings(given)
  const known = [...Object.keys(DEFAULT_SETTINGS), ...OPTIONAL]
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    ...given,
    service: { maxBodyBytes: LARGEST_BODY, auditDurability: 'strict', ...given.service },
    memory: { ...DEFAULT_SETTINGS.memory, ...given.memory },
    limits: { ...DEFAULT_SETTINGS.limits, ...given.limits },
  }
  const { stage, access, account, baseUrl, exportAdditionalResources, service, concurrency, vpc } = settings
  refuse(
    Object.keys(given).find((name) => !known.includes(name)),
    (name) => `"${name}" is no setting: there are ${known.join(', ')}`,
  )
  refuse(/^[a-z][a-z0-9-]{0,19}$/.test(stage) ? undefined : stage, (name) => `"${name}" is no stage: a to z, 0 to 9 and -, at most 20`)
  refuse(
    access === 'open' ? account : undefined,
    (id) => `access "open" lets anybody do anything: not in an account (${id}), use "token" or "iam"`,
  )
  refuse(
    Object.keys(service).find((name) => !SETTINGS.some((each) => each.name === name)),
    (name) => `"${name}" is no setting of the service`,
  )
  refuse(
    Object.keys(concurrency).find((name) => !Object.hasOwn(FUNCTIONS, name)),
    (name) => `"${name}" is no function`,
  )
  refuse(
    baseUrl === undefined || isBaseUrl(baseUrl) ? undefined : baseUrl,
    (url) => `baseUrl is "${url}", but must be an https URL without a user, a query, a fragment and a slash at the end`,
  )
  refuse(service.access, () => '"access" stands beside "service", not in it: the gateway has to know it too')
  refuse(service.exportAdditionalResources, () => '"exportAdditionalResources" stands beside "service", not in it: as an object')
  refuse(
    service.tenancy === 'on' && access !== 'token' ? access : undefined,
    (name) => `tenancy "on" is not possible with access "${name}", which does not say whose data a request is about`,
  )
  checkRestoredTables(settings.restored)
  checkRelatedSettings(settings)
  refuse(
    vpc === undefined ? undefined : service.externalIssuers,
    () => '"externalIssuers" are not possible with "vpc": their keys are on the internet, to which there is no way',
  )
  refuse(
    service.referentialIntegrity === undefined || service.referentialIntegrity === 'off' ? undefined : 'referentialIntegrity',
    (name) => `${name} is not possible on AWS, where functions that know nothing of each other write at once`,
  )
  refuse(
    ELSEWHERE.find(([name]) => service[name] !== undefined),
    ([name, why]) => `${name} is not possible on AWS: ${why}`,
  )
  refuse(Number(service.maxBodyBytes) > LARGEST_BODY ? LARGEST_BODY : undefined, (most) => `maxBodyBytes is at most ${most} on AWS`)
  checkExports(settings.exports, { access, hasTenants: service.tenancy === 'on' })
  if (exportAdditionalResources !== undefined) parseAdditionalResources(exportAdditionalResources, 'exportAdditionalResources')
  readConfig(serviceEnvironmentOf(settings))
  return settings
}

/** Settings of the service that no function reads, and why. */
const ELSEWHERE: readonly (readonly [ServiceSetting, string])[] = [
  ['maxRequests', 'a function has one request at a time, "concurrency" bounds how many it has'],
  ['addressHeader', 'CloudFront says who asks'],
  ['packageRegistry', 'who adds packages fetches them: set FHIR_PACKAGE_REGISTRY there'],
]

/** What differs from the defaults of config.ts, as environment variables. */
export const serviceEnvironmentOf = ({ service, access }: Pick<Settings, 'service' | 'access'>): Record<string, string> => ({
  ...Object.fromEntries(
    SETTINGS.flatMap(({ name, fallback }) => {
      const value = service[name]
      return value === undefined || String(value) === fallback ? [] : [[variableOf(name), String(value)]]
    }),
  ),
  [variableOf('access')]: access,
})

/** Tokens and passwords go there: in the clear to this machine only, where engines stand in for AWS. */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s]|\/$/.test(text)) return false
  const { protocol, origin, username, password } = new URL(text)
  return username === '' && password === '' && (protocol === 'https:' || HERE.test(origin))
}

/** Of a stand-in for CloudFront on this machine, which answers at the base URL. */
export const localOriginOf = (baseUrl: string | undefined): string | undefined =>
  baseUrl !== undefined && HERE.test(new URL(baseUrl).origin) ? new URL(baseUrl).origin : undefined

const HERE = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/

function refuse<Wrong>(wrong: Wrong | undefined, why: (wrong: Wrong) => string): void {
  if (wrong !== undefined) throw new RangeError(why(wrong))
}
