/** Settings of a deployment and their defaults. The settings of the service itself are in lambdas/runtime/config.ts. */
import { type AdditionalResources, parseAdditionalResources } from '../../lambdas/export/additional-resources.ts'
import { MAX_WRITERS } from '../../lambdas/export/workflow.ts'
import { FUNCTIONS, type FunctionKind, type FunctionName } from '../../lambdas/functions/functions.ts'
import { REBUILD_WIDTH } from '../../lambdas/indexing/rebuild/workflow.ts'
import { readConfig, SETTINGS, variableOf } from '../../lambdas/runtime/config.ts'
import { checkPublicRead } from '../../lambdas/runtime/public-read.ts'
import { checkSharedTenant } from '../../lambdas/runtime/shared-tenant.ts'
import { type BackupSettings, vaultAccountOf } from './backup-settings.ts'
import type { DomainSize, IndexCopies } from './domain-sizes.ts'
import { checkExports, type ExportSetting } from './export-settings.ts'
import { clientLimitsOf, PUBLIC_READ_LIMITS, type RateLimits } from './rate-limits.ts'
import { checkRestoredTables, type RestoredTables } from './restored-tables.ts'
import { checkRelatedSettings, checkSettings, unacceptedName } from './setting-checks.ts'
import { NEW_TABLE, type TableCapacity } from './table-capacity.ts'

export type Settings = {
  /** Name of the stage. It is part of stack names and role paths, so an account can hold several stages. */
  readonly stage: string
  /** AWS account. Default: the account of the credentials that deploy. */
  readonly account?: string
  readonly region: string
  /**
   * `token`: requests carry access tokens, which the stage issues to registered clients. `iam`: requests are signed with AWS credentials.
   * `open`: every client may do everything; only for AWS engines on one local machine.
   */
  readonly access: 'token' | 'iam' | 'open'
  /**
   * With `token`: number of the secret that CloudFront sends to the API. The next number creates another secret with the next deployment.
   * The previous secret stays valid until the number changes again.
   */
  readonly originSecret: number
  /**
   * Number of the key that signs links to export files. The next number creates another key with the next deployment. Links signed by the
   * previous key stay valid until the number changes again.
   */
  readonly exportLinkKey: number
  /** Scheduled exports, with the permissions of registered clients. */
  readonly exports: readonly ExportSetting[]
  readonly search: SearchSettings
  /**
   * Base URL of the server, without a trailing slash. Default: with `iam` the API's own address, otherwise the custom domain or
   * CloudFront's. Clients download export files from CloudFront in any case.
   */
  readonly baseUrl?: string
  readonly customDomain?: CustomDomain
  /**
   * VPC of the functions and the domain. If absent, there is no VPC. Functions then reach the domain over the internet, with signed
   * requests and TLS.
   */
  readonly vpc?: VpcSettings
  /** Default: with a search domain of the size `demo` the maximum is what a new table accepts. Otherwise there is no maximum. */
  readonly capacity: TableCapacity
  /**
   * Years for which a bucket with Object Lock retains each audit record and each record of a disclosure. 0: the stage archives no more
   * records, and the bucket stays. If absent, there is no archive.
   */
  readonly auditArchiveYears?: number
  /** Days for which logs are retained. CloudWatch accepts certain numbers only. */
  readonly logRetentionDays: number
  /** Settings of the service, by their names in config.ts. */
  readonly service: Readonly<Partial<Record<ServiceSetting, string | number>>>
  /**
   * Rules for resources that exports include because others refer to them. They replace lambdas/export/additional-resources.json and have
   * its format. They become part of the code, because a function's environment is limited to 4 kB.
   */
  readonly exportAdditionalResources?: AdditionalResources
  /** Address that receives the alarms of the severities `page` and `ticket`. Its owner must confirm both subscriptions once. */
  readonly alarmEmail?: string
  /** Budget for the costs of the account in a month, in dollars. AWS Budgets notifies `alarmEmail`. Default: no budget. */
  readonly budget?: number
  /**
   * Reserved concurrency by function. A new account has 10 in total and can reserve none. The value of `export-step` limits the writers of
   * all exports.
   */
  readonly concurrency: Readonly<Partial<Record<FunctionName, number>>>
  /** Batches of one shard that are indexed in parallel. More than 1 requires a larger domain than that of `demo`. */
  readonly parallelizationFactor: number
  readonly memory: Readonly<Record<FunctionKind, number>>
  readonly limits: RateLimits
  /** Seconds that a rebuild waits for functions to load new definitions. After them no function uses older definitions. */
  readonly rebuildWait: number
  /** Functions that create documents in parallel during a rebuild. They use the concurrency of the account, which is 10 for a new one. */
  readonly rebuildWidth: number
  /**
   * Functions that write one export in parallel, at most 40. They use the concurrency of the account, which is 10 for a new one. Default:
   * 4 with a search domain of the size `demo`, otherwise 40.
   */
  readonly exportWriters: number
  /**
   * Versions of one type that a conditional interaction without an identifier reads, because the search index may lack them: from 2,000 to
   * 20,000. With more writes in the time that the index lags, it is answered 503.
   */
  readonly conditionalVersions: number
  /** Days for which an upgrade retains the previous index, so that a rollback takes minutes. 0: removed once the new one is ready. */
  readonly keptIndexDays: number
  /** Tables that DynamoDB restored and that replace the previous ones. If absent, the stage uses the tables that the data stack created. */
  readonly restored?: RestoredTables
  /** Daily backups of tables and bucket, copied into a vault of another account. Default: none. */
  readonly backup?: BackupSettings
}

/**
 * Search engine. `size`: `demo`: one small node; `production`: three nodes in three zones; `large`: six larger ones and three masters; or the
 * nodes themselves. `endpoint`: an existing cluster. With `domainArn`, requests to it are signed.
 */
export type SearchSettings = IndexCopies &
  ({ readonly kind: 'domain'; readonly size: DomainSize } | { readonly endpoint: string; readonly domainArn?: string })

export type CustomDomain = {
  readonly name: string
  /** ARN of a certificate of ACM in us-east-1, where CloudFront requires it. */
  readonly certificateArn: string
  readonly hostedZone: { readonly id: string; readonly name: string }
}

/** VPC with private subnets in these zones and endpoints for the services that functions call. It has no route to the internet. */
export type VpcSettings = { readonly cidr: string; readonly availabilityZones: readonly string[] }

export type ServiceSetting = (typeof SETTINGS)[number]['name']

/** Maximum bytes of a request body. The event of a function is limited to 6 MB and carries the body as an escaped string. */
const LARGEST_BODY = 5_000_000

export const DEFAULT_SETTINGS: Settings = {
  stage: 'dev',
  region: 'us-east-1',
  access: 'token',
  originSecret: 1,
  exportLinkKey: 1,
  exports: [],
  search: { kind: 'domain', size: 'demo' },
  capacity: { most: NEW_TABLE },
  logRetentionDays: 90,
  service: {},
  concurrency: {},
  parallelizationFactor: 1,
  memory: { light: 512, request: 1024, worker: 1769 },
  limits: { perAddress: 100_000, rate: 500, burst: 1_000 },
  rebuildWait: 60,
  rebuildWidth: REBUILD_WIDTH,
  exportWriters: 4,
  conditionalVersions: 2_000,
  keptIndexDays: 7,
}

const OPTIONAL = [
  'account',
  'baseUrl',
  'customDomain',
  'vpc',
  'alarmEmail',
  'auditArchiveYears',
  'budget',
  'exportAdditionalResources',
  'restored',
  'backup',
]

/** Returns the defaults, overridden by `input`. Throws RangeError with the reason if a setting is invalid or conflicts with another one. */
export function settingsOf(input: Readonly<Partial<Settings>>): Settings {
  checkSettings(input)
  const names = [...Object.keys(DEFAULT_SETTINGS), ...OPTIONAL]
  const isForDemo = isDemo(input.search ?? DEFAULT_SETTINGS.search)
  const hasTokens = (input.access ?? DEFAULT_SETTINGS.access) === 'token'
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    ...(isForDemo ? {} : { exportWriters: MAX_WRITERS, capacity: {} }),
    ...input,
    // Shards change no maximum.
    ...(isForDemo && Object.keys(input.capacity ?? {}).join() === 'shards'
      ? { capacity: { ...DEFAULT_SETTINGS.capacity, ...input.capacity } }
      : {}),
    service: { maxBodyBytes: LARGEST_BODY, auditDurability: 'strict', requestLog: 'on', ...input.service },
    memory: { ...DEFAULT_SETTINGS.memory, ...input.memory },
    limits: {
      ...DEFAULT_SETTINGS.limits,
      ...(isForDemo || !hasTokens ? {} : clientLimitsOf(input.limits?.rate ?? DEFAULT_SETTINGS.limits.rate)),
      ...(hasTokens && (input.service?.publicRead ?? '') !== '' ? PUBLIC_READ_LIMITS : {}),
      ...input.limits,
    },
  }
  const { stage, access, account, alarmEmail, backup, baseUrl, budget, exportAdditionalResources, service, concurrency, limits, vpc } =
    settings
  refuse(
    Object.keys(input).find((name) => !names.includes(name)),
    (name) => unacceptedName(`"${name}"`, names),
  )
  refuse(
    /^[a-z][a-z0-9-]{0,19}$/.test(stage) ? undefined : stage,
    (name) => `"${name}" is not a valid stage name. It must start with a letter and have at most 20 characters: a to z, 0 to 9 and -`,
  )
  refuse(
    hasTokens ? undefined : (['perToken', 'withoutToken'] as const).find((name) => limits[name] !== undefined),
    (name) => `limits.${name} requires access "token". With access "${access}" clients send no tokens`,
  )
  refuse(
    access === 'open' ? account : undefined,
    (id) => `access "open" allows every request without a token, so it is rejected in an account (${id}). Use "token" or "iam"`,
  )
  refuse(
    backup !== undefined && vaultAccountOf(backup) === account ? account : undefined,
    (id) => `backup.vault is in the account of the stage (${id}), with which its copies would be lost: name a vault of another account`,
  )
  refuse(alarmEmail === undefined ? budget : undefined, () => 'budget requires alarmEmail, the address that receives its notifications')
  refuse(
    Object.keys(service).find((name) => !SETTINGS.some((each) => each.name === name)),
    (name) => `service.${name} is not a setting of the server. lambdas/docs/settings.md lists them`,
  )
  refuse(
    Object.keys(concurrency).find((name) => !Object.hasOwn(FUNCTIONS, name)),
    (name) => `concurrency.${name} is not a function. lambdas/functions/functions.ts lists them`,
  )
  refuse(
    baseUrl === undefined || isBaseUrl(baseUrl) ? undefined : baseUrl,
    (url) => `baseUrl is "${url}", but must be an https URL without user, query, fragment and trailing slash`,
  )
  refuse(service.access, () => '"access" must be set outside "service", because API Gateway uses it too')
  refuse(service.exportAdditionalResources, () => '"exportAdditionalResources" must be set outside "service", as an object')
  refuse(
    service.tenancy === 'on' && access !== 'token' ? access : undefined,
    (name) => `tenancy "on" is not possible with access "${name}": such requests name no tenant. Use access "token"`,
  )
  checkRestoredTables(settings.restored)
  checkRelatedSettings(settings)
  refuse(
    vpc === undefined ? undefined : service.externalIssuers,
    () => 'externalIssuers is not possible with vpc: functions without a route to the internet cannot fetch the keys of issuers',
  )
  refuse(
    service.referentialIntegrity === undefined || service.referentialIntegrity === 'off' ? undefined : 'referentialIntegrity',
    (name) => `${name} is not possible on AWS: functions write concurrently, and none sees the references that the others write`,
  )
  refuse(
    UNUSED_ON_AWS.find(([name]) => service[name] !== undefined),
    ([name, reason]) => `${name} is not possible on AWS: ${reason}`,
  )
  refuse(Number(service.maxBodyBytes) > LARGEST_BODY ? LARGEST_BODY : undefined, (max) => `maxBodyBytes must be at most ${max} on AWS`)
  checkExports(settings.exports, { access, hasTenants: service.tenancy === 'on' })
  if (exportAdditionalResources !== undefined) parseAdditionalResources(exportAdditionalResources, 'exportAdditionalResources')
  const config = readConfig(serviceEnvironmentOf(settings))
  checkPublicRead(config)
  checkSharedTenant(config)
  return settings
}

/** Whether the stage archives new audit records. */
export const isArchiving = ({ auditArchiveYears = 0 }: Pick<Settings, 'auditArchiveYears'>): boolean => auditArchiveYears > 0

/** Whether partners may match members of the stage. A demo that names no payer is only for trials. */
export const hasPartners = ({ search, service }: Pick<Settings, 'search' | 'service'>): boolean =>
  !isDemo(search) || (service.payer ?? '') !== ''

const isDemo = (search: SearchSettings): boolean => 'size' in search && search.size === 'demo'

const PUBLIC_RATES = 'the firewall limits requests without a token. Set "limits.withoutToken"'

/** Settings of the service that are rejected on AWS, because no function reads them, each with the reason. */
const UNUSED_ON_AWS: readonly (readonly [ServiceSetting, string])[] = [
  ['maxRequests', 'a function handles one request at a time. Limit its concurrent calls with "concurrency"'],
  ['addressHeader', 'CloudFront names the address of the client'],
  ['publicReadRate', PUBLIC_RATES],
  ['publicReadBurst', PUBLIC_RATES],
  ['publicReadTotal', PUBLIC_RATES],
  ['metricsPort', 'CloudWatch has the metrics of a stage'],
  ['packageRegistry', 'the command `package add` downloads packages. Set FHIR_PACKAGE_REGISTRY in its environment'],
]

/** Returns the settings that differ from the defaults of config.ts, as environment variables. */
export const serviceEnvironmentOf = ({ service, access }: Pick<Settings, 'service' | 'access'>): Record<string, string> => ({
  ...Object.fromEntries(
    SETTINGS.flatMap(({ name, fallback }) => {
      const value = service[name]
      return value === undefined || String(value) === fallback ? [] : [[variableOf(name), String(value)]]
    }),
  ),
  [variableOf('access')]: access,
})

/**
 * Whether the text can be the base URL. It receives tokens and passwords: http is limited to this machine, where engines stand in for AWS.
 */
function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text) || /[?#\s]|\/$/.test(text)) return false
  const { protocol, origin, username, password } = new URL(text)
  return username === '' && password === '' && (protocol === 'https:' || LOCAL_URL.test(origin))
}

/** Returns the origin of the stand-in for CloudFront that answers at the base URL. Undefined if the base URL is not on this machine. */
export const localOriginOf = (baseUrl: string | undefined): string | undefined =>
  baseUrl !== undefined && LOCAL_URL.test(new URL(baseUrl).origin) ? new URL(baseUrl).origin : undefined

const LOCAL_URL = /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/

function refuse<Invalid>(invalid: Invalid | undefined, reason: (invalid: Invalid) => string): void {
  if (invalid !== undefined) throw new RangeError(reason(invalid))
}
