/** Every setting of the service: name, type, default, meaning. The only reader of process.env, and never while it is imported. */
import { RESERVED_CLAIMS } from '../access/claims.ts'
import { type ExternalIssuer, parseIssuers } from '../access/verification/external-issuers.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import { isTimeZone } from '../fhir/time-zone.ts'
import { hostsOf } from '../ports/security/private-hosts.ts'
import { DEFAULT_TENANT } from '../ports/store/tenants.ts'

/** `count`: from 1 on; `bytes`: of what is held in memory as one text; `wait`: milliseconds, up to an hour; `days`: up to a century; `header`: the name of one, or none; `name`: as people read it. */
export type SettingKind =
  | 'integer'
  | 'count'
  | 'bytes'
  | 'wait'
  | 'days'
  | 'origins'
  | 'hosts'
  | 'issuers'
  | 'types'
  | 'switch'
  | 'claim'
  | 'header'
  | 'text'
  | 'name'
  | 'registry'
  | 'time zone'
  | readonly string[]

export type Setting = {
  /** The environment variable is FHIR_ and the name in capitals: FHIR_MAX_BODY_BYTES. */
  readonly name: string
  readonly kind: SettingKind
  readonly fallback: string
}

/** The meaning stands in a comment, as in the README, so that no function carries it. */
const setting = <const Name extends string, const Kind extends SettingKind>(name: Name, kind: Kind, fallback: string) => ({
  name,
  kind,
  fallback,
})

// biome-ignore format: a table
export const SETTINGS = [
  setting('clientIds', ['required', 'optional'], 'required'), // POST without an id (most clients send none): required answers 400, in a Bundle the fullUrl (urn:uuid) is the id; optional lets the server choose a UUID, also in a Bundle
  setting('conditionalUpdateIdMismatch', ['accept', 'reject'], 'accept'), // a conditional update whose body has another id than the match: accept: apply it to the match; reject: answer 400
  setting('noOpUpdates', ['version', 'ignore'], 'version'), // an update that changes nothing: version: a new version all the same; ignore: none
  setting('consistency', ['eventual', 'strong'], 'eventual'), // when a write without X-Consistency answers: eventual: once it is stored; strong: once searches find it, after 5 seconds at the latest; it is then slower on AWS, by about a second
  setting('validateProfiles', ['off', 'warn', 'enforce'], 'off'), // whether what is written is checked against the profiles it names: warn: differences are reported with Prefer: return=OperationOutcome; enforce: errors are answered 422
  setting('writes', ['on', 'stopped'], 'on'), // stopped: whatever would write a resource is answered 503, as for maintenance or a restore; reads, searches and exports go on
  setting('packageRegistry', 'registry', 'https://packages.fhir.org'), // where `package add NAME@VERSION` finds packages: a registry as npm has, https unless it is on this machine
  setting('versioning', 'switch', 'on'), // off: vread answers 404 and histories show current versions only (all versions are kept)
  setting('referentialIntegrity', 'switch', 'off'), // on: a reference to a resource that is not there answers 422, the deletion of one that others refer to 409
  setting('timeZone', 'time zone', 'UTC'), // IANA name of the time zone of dates without an offset
  setting('access', ['token', 'iam', 'open'], 'token'), // accepted requests: token: those with an access token; open (`--open`): all of this machine that no proxy forwards; iam, on AWS only: those signed with AWS credentials
  setting('tenancy', 'switch', 'off'), // on: whose data a request is about stands in a claim of its token; off: there is one tenant, "default", and nothing opens to who is of others only
  setting('tenantClaim', 'claim', 'tenant'), // the name of that claim
  setting('externalIssuers', 'issuers', ''), // JSON: other issuers whose tokens are accepted, each [{issuer, audience, jwksUri, tenants, scopes, claims, assertion}]: see lambdas/access/verification/external-issuers.ts
  setting('privateHosts', 'hosts', ''), // where keys of issuers and clients may be fetched from although the address is private: names and networks, separated by commas, as keycloak.hospital.example, 10.1.0.0/16. Who signs their certificates is named by NODE_EXTRA_CA_CERTS
  setting('pkce', ['off', 'accept', 'require'], 'accept'), // PKCE (S256) of codes: off: ignored; accept: checked where it is sent; require: always
  setting('organizationName', 'name', ''), // name of the organization that runs the server, shown on the login, consent and account pages; without one they show the host of the base URL
  setting('patientScopesWithoutContext', ['all', 'none'], 'all'), // scopes patient/… of a client that asks for itself, without a patient: all: those of all patients; none: of no patient
  setting('maxTransactionEntries', 'count', '5000'), // entries of a batch or transaction; more are answered 413
  setting('maxBodyBytes', 'bytes', '16000000'), // size of a request body in bytes; more is answered 413. Sixteen times as many bytes of bodies are held at once; more are answered 503
  setting('maxRequests', 'count', '1000'), // requests under way at once, those apart whose bodies are still coming; more are answered 503
  setting('addressHeader', 'header', ''), // header in which a proxy before the server says who asks, as X-Forwarded-For: its last address counts. Without it all who come through the proxy are one to the limits on guessing; without a proxy clients could say what they like
  setting('allowedOrigins', 'origins', '*'), // origins whose browsers may call the server, separated by commas, or *; where the base URL is a loopback address only loopback origins are let in
  setting('auditRetentionDays', 'days', '90'), // days for which audit records are kept
  setting('auditDurability', ['batched', 'strict'], 'batched'), // batched: audit records are written within a fifth of a second; strict: before the answer, and nothing is done while they cannot be. On AWS the default is strict
  setting('exportNeedsAssertion', 'switch', 'on'), // on: an export is begun with a token that was got by a signed assertion (private_key_jwt); off: with any
  setting('userExports', 'switch', 'off'), // on: tokens of users who logged in start exports, which belong to client and user; off: such a kick-off is answered 403
  setting('maxRunningExports', 'count', '5'), // exports of one client that run at once; more are answered 429
  setting('exportRetentionDays', 'days', '10'), // days for which the status of a finished export stays available; its files stay for the 7 days after its manifest was handed out, too
  setting('groupExportTypes', 'types', 'Patient,AllergyIntolerance,CarePlan,CareTeam,Condition,Device,DiagnosticReport,DocumentReference,Encounter,Goal,Immunization,MedicationRequest,Observation,Procedure,Provenance,QuestionnaireResponse,RelatedPerson,ServiceRequest'), // resource types of Group exports, separated by commas; all: the whole Patient compartment
  setting('exportAdditionalResources', 'text', ''), // file of JSON that says what comes along in exports of patients and groups because it is referred to, in place of lambdas/export/additional-resources.json; or the JSON itself. On AWS an object in the settings of the stage
  setting('searchBudget', 'wait', '10000'), // milliseconds a search may take before it is answered 503; it waits twice as long for the index and for searches before it
] as const satisfies readonly Setting[]

/** Where a deployed function finds the world. Environment variables like the settings; a function has those of its ports only. */
// biome-ignore format: a table
export const DEPLOYMENT_SETTINGS = [
  setting('baseUrl', 'text', ''), // what the server calls itself, without a slash at the end
  setting('ownBases', 'text', ''), // every address that counts as its own, separated by blanks: documents are made with the first. None: baseUrl
  setting('stage', 'text', ''), // the deployment among others of the account
  setting('table', 'text', ''), // the DynamoDB table of the resources
  setting('stateTable', 'text', ''), // the DynamoDB table of everything else: audit records, definitions, the key of seals
  setting('bucket', 'text', ''), // the S3 bucket of large bodies and kept queries
  setting('searchEndpoint', 'text', ''), // the URL of OpenSearch
  setting('searchSigning', ['sigv4', 'none'], 'sigv4'), // how requests to OpenSearch are signed
  setting('searchPrefix', 'text', 'fhir'), // what the names of its indices begin with
  setting('rebuildWorkflow', 'text', ''), // the ARN of the state machine that makes documents again
  setting('exportBucket', 'text', ''), // the S3 bucket of export files
  setting('exportOrigin', 'text', ''), // where export files are downloaded from: the origin of CloudFront, without a slash at the end
  setting('exportWorkflow', 'text', ''), // the ARN of the state machine that writes exports
  setting('linkKey', 'text', ''), // the key of KMS that signs links to export files
  setting('linkKeyPair', 'text', ''), // the id CloudFront knows that key by
  setting('epoch', 'integer', '0'), // how many times the table of the resources was set back to an earlier time
  setting('restoredAt', 'text', ''), // the instant it was set back to the last time, as FHIR writes it
  setting('formerTable', 'text', ''), // the table of the resources before that, where it is there still
  setting('rebuildWait', 'integer', '60'), // seconds after which no function works with older definitions
  setting('keptIndexDays', 'integer', '7'), // days for which an index is kept that an upgrade made another in place of
] as const satisfies readonly Setting[]

type Value<Kind> = Kind extends 'integer' | 'count' | 'bytes' | 'wait' | 'days'
  ? number
  : Kind extends 'switch'
    ? boolean
    : Kind extends 'origins' | 'hosts' | 'types'
      ? readonly string[]
      : Kind extends 'issuers'
        ? readonly ExternalIssuer[]
        : Kind extends readonly (infer Choice)[]
          ? Choice
          : string

type Values<S extends Setting> = { readonly [Each in S as Each['name']]: Value<Each['kind']> }

export type Config = Values<(typeof SETTINGS)[number]>
export type DeploymentSettings = Values<(typeof DEPLOYMENT_SETTINGS)[number]>

export const variableOf = (name: string): string => `FHIR_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/** RangeError that names the variable where a value does not fit. */
export function readConfig(environment: Environment = process.env): Config {
  const config = read(SETTINGS, environment) as Config
  const opening = (tenants: unknown): boolean => [tenants].flat().some((tenant) => tenant === '*' || tenant === DEFAULT_TENANT)
  const closed = config.tenancy ? -1 : config.externalIssuers.findIndex(({ tenants }) => !opening(tenants))
  if (closed !== -1)
    throw new RangeError(
      `${variableOf('externalIssuers')}: [${closed}].tenants opens nothing here: with ${variableOf('tenancy')} off there is only "${DEFAULT_TENANT}"`,
    )
  return config
}

/** What reads like a setting and is none: a slip, and the default holds. Tests have variables of their own, stages are chosen by one. */
export const unknownVariables = (environment: Environment = process.env): readonly string[] =>
  Object.keys(environment).filter(
    (variable) => /^FHIR_(?!TEST_|STAGE$)/.test(variable) && !SETTINGS.some(({ name }) => variableOf(name) === variable),
  )

/** As readConfig, of PLACES. */
export const readDeploymentSettings = (environment: Environment = process.env): DeploymentSettings =>
  read(DEPLOYMENT_SETTINGS, environment) as DeploymentSettings

/** As whom a function calls AWS: given to it by the platform. */
export function readAwsIdentity(environment: Environment = process.env) {
  const { AWS_REGION: region = '', AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = environment
  const secret = { accessKeyId: AWS_ACCESS_KEY_ID ?? '', secretAccessKey: AWS_SECRET_ACCESS_KEY ?? '' }
  return { region, credentials: { ...secret, ...(AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN }) } }
}

/** What a program needs of the environment that evaluates for clients: where its libraries and its time zone are. It sees nothing else. */
export const readProgramEnvironment = (environment: Environment = process.env): Readonly<Record<string, string>> =>
  Object.fromEntries(['LD_LIBRARY_PATH', 'SystemRoot', 'TZ'].flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))

type Environment = Readonly<Record<string, string | undefined>>

const read = (settings: readonly Setting[], environment: Environment): object =>
  Object.fromEntries(settings.map((each) => [each.name, parse(each, environment[variableOf(each.name)] ?? each.fallback)]))

function parse({ name, kind }: Setting, text: string): unknown {
  const refuse = (expected: string): never => {
    throw new RangeError(`${variableOf(name)} is "${text}", but must be ${expected}`)
  }
  switch (kind) {
    case 'integer':
      return wholeNumber(text) ?? refuse('a whole number')
    case 'count':
      return wholeNumber(text) || refuse('a whole number from 1 on')
    case 'bytes':
      return upTo(MOST_BYTES, text) ?? refuse(`a whole number from 1 to ${MOST_BYTES}`)
    case 'wait':
      return upTo(LONGEST_WAIT, text) ?? refuse(`a whole number from 1 to ${LONGEST_WAIT}`)
    case 'days':
      return upTo(MOST_DAYS, text) ?? refuse(`a whole number from 1 to ${MOST_DAYS}`)
    case 'issuers':
      return issuersOf(text)
    case 'switch':
      return text === 'on' || text === 'true' ? true : text === 'off' || text === 'false' ? false : refuse('on or off')
    case 'origins':
      return originsOf(text) ?? refuse('* or origins as browsers send them, such as https://app.example.org')
    case 'hosts':
      return hostsOf(text) ?? refuse('names of hosts, and networks such as 10.1.0.0/16, separated by commas')
    case 'types':
      return typesOf(text) ?? refuse('resource types of R4, separated by commas, or all')
    case 'claim':
      return isFreeClaim(text) ? text : refuse('the name of a claim that says nothing else: up to 100 letters, digits and . _ : / -')
    case 'header':
      return HEADER.test(text) ? text : refuse('the name of a header, such as X-Forwarded-For')
    case 'text':
      return text
    case 'name':
      return /^[^\p{Cc}]{0,100}$/u.test(text) ? text.trim() : refuse('at most 100 characters, without line breaks')
    case 'registry':
      return isRegistry(text)
        ? text.replace(/\/+$/, '')
        : refuse('an https URL without a user, a query and a fragment; http on this machine only')
    case 'time zone':
      return isTimeZone(text) ? text : refuse('the name of a time zone, such as Europe/Berlin')
    default:
      return kind.includes(text) ? text : refuse(`one of ${kind.join(', ')}`)
  }
}

function issuersOf(text: string): readonly ExternalIssuer[] {
  try {
    return parseIssuers(text)
  } catch (error) {
    throw new RangeError(`${variableOf('externalIssuers')}: ${(error as Error).message}`)
  }
}

/** None in an empty text. Any scheme: apps on telephones have their own. https://www.rfc-editor.org/rfc/rfc6454#section-7 */
function originsOf(text: string): readonly string[] | undefined {
  if (text === '') return []
  const origins = text.split(',').map((item) => item.trim())
  return origins.every((origin) => /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#\sA-Z]+)$/.test(origin)) ? origins : undefined
}

function typesOf(text: string): readonly string[] | undefined {
  const types = text.split(',').map((type) => type.trim())
  return text === 'all' || types.every(isResourceType) ? types : undefined
}

function isRegistry(text: string): boolean {
  const { protocol, hostname, username, password, search, hash } = URL.parse(text) ?? { protocol: '' }
  if (protocol !== 'https:' && !(protocol === 'http:' && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname ?? ''))) return false
  return `${username}${password}${search}${hash}` === ''
}

const isFreeClaim = (text: string): boolean => /^[\w:./-]{1,100}$/.test(text) && !RESERVED_CLAIMS.includes(text)

/** Or none. https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const HEADER = /^[\w!#$%&'*+.^`|~-]*$/

/** A text has at most 536 million characters, and what is read of one takes several times its bytes. */
const MOST_BYTES = 100_000_000
const LONGEST_WAIT = 3_600_000
/** Instants beyond some hundred thousand years are none. */
const MOST_DAYS = 36_500

/** undefined: it is no number from 1 to `most`. */
function upTo(most: number, text: string): number | undefined {
  const number = wholeNumber(text)
  return number !== undefined && number >= 1 && number <= most ? number : undefined
}

const wholeNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)
