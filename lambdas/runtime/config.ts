/**
 * Settings of the server: name, type, default and meaning. No other file reads process.env. This one reads it in functions, never on
 * import.
 */
import { type ExternalIssuer, parseIssuers } from '../access/verification/external-issuers.ts'
import { type IdentifierText, parseIdentifierList } from '../fhir/identifier-text.ts'
import { isTimeZone } from '../fhir/time-zone.ts'
import { hostsOf } from '../ports/security/private-hosts.ts'
import { DEFAULT_TENANT } from '../ports/store/tenants.ts'
import { type IndexShards, parseIndexShards } from './index-shards.ts'
import { isDay, isFreeClaim, isRegistry, labelsOf, originsOf, typesOf, upTo, wholeNumber } from './setting-values.ts'

/**
 * Kinds of values. `count`: a whole number from 1. `bytes`: size of a text in memory, at most MOST_BYTES. `wait`: milliseconds, at most an
 * hour. `days`: at most 100 years. `port`: 0 if there is none. `header`: a header name or empty. `name`: a display name.
 */
export type SettingKind =
  | 'integer'
  | 'count'
  | 'bytes'
  | 'wait'
  | 'days'
  | 'port'
  | 'origins'
  | 'hosts'
  | 'issuers'
  | 'types'
  | 'switch'
  | 'claim'
  | 'header'
  | 'text'
  | 'name'
  | 'identifiers'
  | 'labels'
  | 'day'
  | 'registry'
  | 'shards'
  | 'time zone'
  | readonly string[]

export type Setting = {
  /** Name in camel case. The environment variable is FHIR_ plus the name in upper snake case, such as FHIR_MAX_BODY_BYTES. */
  readonly name: string
  readonly kind: SettingKind
  readonly fallback: string
}

/**
 * Returns the setting. Its meaning is a trailing comment, so that the bundles of functions do not contain it. `npm run docs` copies it into
 * lambdas/docs/settings.md.
 */
const setting = <const Name extends string, const Kind extends SettingKind>(name: Name, kind: Kind, fallback: string) => ({
  name,
  kind,
  fallback,
})

// biome-ignore format: a table
export const SETTINGS = [
  setting('clientIds', ['required', 'optional'], 'required'), // ids of resources created by POST, which most clients send without one: required: a POST without an id is answered 400, and in a Bundle the fullUrl (urn:uuid) is the id; optional: the server assigns a UUID, also in a Bundle
  setting('conditionalUpdateIdMismatch', ['accept', 'reject'], 'accept'), // conditional update whose body has another id than the match: accept: the match is updated; reject: the request is answered 400
  setting('noOpUpdates', ['version', 'ignore'], 'version'), // update that changes nothing: version: it creates a new version; ignore: it does not
  setting('consistency', ['eventual', 'strong'], 'eventual'), // time at which a write without X-Consistency is answered: eventual: when it is stored; strong: when searches find it, at most 5 seconds later. On AWS strong takes about one second longer
  setting('validateProfiles', ['off', 'warn', 'enforce'], 'off'), // validation of written resources against the profiles in meta.profile: off: none; warn: issues are reported with Prefer: return=OperationOutcome; enforce: errors are answered 422
  setting('writes', ['on', 'stopped'], 'on'), // stopped: requests that would write a resource are answered 503, for maintenance or a restore; reads, searches and exports continue
  setting('packageRegistry', 'registry', 'https://packages.fhir.org'), // URL of the npm-style registry from which `package add NAME@VERSION` downloads packages; http is accepted on this machine only
  setting('versioning', 'switch', 'on'), // off: vread is answered 404 and histories show current versions only; all versions stay stored
  setting('referentialIntegrity', 'switch', 'off'), // on: a write with a reference to a missing resource is answered 422, and the deletion of a resource that others refer to 409
  setting('timeZone', 'time zone', 'UTC'), // IANA name of the time zone of dates without an offset
  setting('access', ['token', 'iam', 'open'], 'token'), // accepted requests: token: requests with an access token; open (`--open`): requests of this machine that no proxy forwards; iam, on AWS only: requests signed with AWS credentials
  setting('tenancy', 'switch', 'off'), // on: a claim of the access token names the tenant; off: "default" is the only tenant, and clients, users and tokens of other tenants have no access
  setting('tenantClaim', 'claim', 'tenant'), // name of the token claim that names the tenant
  setting('sharedTenant', 'text', ''), // tenant whose definitions all tenants use after their own: StructureDefinition, ValueSet, CodeSystem, ConceptMap, CapabilityStatement and ImplementationGuide; requires tenancy. Empty: none
  setting('externalIssuers', 'issuers', ''), // JSON: other issuers whose tokens are accepted, each [{issuer, audience, jwksUri, tenants, scopes, claims, assertion}]: see lambdas/access/verification/external-issuers.ts
  setting('privateHosts', 'hosts', ''), // host names and networks with private addresses from which keys of issuers and clients may be fetched, separated by commas, such as keycloak.hospital.example, 10.1.0.0/16. NODE_EXTRA_CA_CERTS names the file of their certificate authority
  setting('pkce', ['off', 'accept', 'require'], 'accept'), // PKCE (S256) for authorization codes: off: ignored; accept: verified if the client sends it; require: mandatory
  setting('organizationName', 'name', ''), // name of the organization that runs the server, shown on the login, consent and account pages; if empty, they show the host of the base URL
  setting('patientScopesWithoutContext', ['all', 'none'], 'all'), // effect of patient/… scopes that a client requests for itself without a patient: all: access to all patients; none: access to no patient
  setting('maxTransactionEntries', 'count', '5000'), // maximum entries of a batch or transaction; larger ones are answered 413
  setting('maxBodyBytes', 'bytes', '16000000'), // maximum bytes of a request body; a larger one is answered 413. The server holds at most sixteen times as many bytes of bodies at once; further requests are answered 503
  setting('maxRequests', 'count', '1000'), // maximum concurrent requests, not counting those whose body is still arriving; further requests are answered 503
  setting('addressHeader', 'header', ''), // header in which a proxy names the client address, such as X-Forwarded-For; its last address is used. Without it, all clients behind the proxy share one login throttle. Set it only behind a proxy, because a client can send any value
  setting('allowedOrigins', 'origins', '*'), // origins of browser apps that may call the server, separated by commas, or *; if the base URL is a loopback address, only loopback origins are accepted
  setting('auditRetentionDays', 'days', '90'), // days for which audit records are retained
  setting('auditDurability', ['batched', 'strict'], 'batched'), // batched: audit records are written within a fifth of a second; strict: they are written before the response, and requests fail while they cannot be written. On AWS the default is strict
  setting('exportNeedsAssertion', 'switch', 'on'), // on: starting an export requires an access token obtained with a signed assertion (private_key_jwt); off: any access token starts exports
  setting('userExports', 'switch', 'off'), // on: tokens of logged-in users may start exports, which belong to the client and the user; off: such a kick-off is answered 403
  setting('maxRunningExports', 'count', '5'), // maximum concurrent exports of one client; further kick-offs are answered 429
  setting('exportRetentionDays', 'days', '10'), // days for which the status of a finished export stays available; its files also stay for 7 days after the manifest was retrieved
  setting('groupExportTypes', 'types', 'Patient,AllergyIntolerance,CarePlan,CareTeam,Condition,Device,DiagnosticReport,DocumentReference,Encounter,Goal,Immunization,MedicationRequest,Observation,Procedure,Provenance,QuestionnaireResponse,RelatedPerson,ServiceRequest'), // resource types of Group exports, separated by commas; all: the whole Patient compartment
  setting('exportAdditionalResources', 'text', ''), // JSON file, or the JSON itself, with the rules for referenced resources that exports of patients and groups include; it replaces lambdas/export/additional-resources.json. On AWS an object in the settings of the stage
  setting('payer', 'identifiers', ''), // identifiers of the payer that runs the server, as SYSTEM|VALUE, separated by commas, such as http://hl7.org/fhir/sid/us-npi|1234567893. Consents of members name the payer by one of them; without one, no member is matched
  setting('sensitiveLabels', 'labels', 'unknown'), // sensitive data of members, which a Consent may exclude: labels of meta.security, as SYSTEM|CODE, separated by commas, such as http://terminology.hl7.org/CodeSystem/v3-ActCode|SUD; none: the payer stores no sensitive data; unknown: the payer has not decided what is sensitive, so a Consent that excludes it is not complied with
  setting('payerWindowYears', 'count', '5'), // age in years of the oldest resources that an export for another payer has, by their clinical dates
  setting('providerSince', 'day', '2016-01-01'), // day of the oldest resources that an export for a provider has, by their clinical dates
  setting('maxMatchMembers', 'count', '2000'), // maximum members of one Group/$bulk-member-match or Group/$provider-member-match; a request with more is answered 413
  setting('payerGroupDays', 'days', '366'), // days for which a member whom another payer matched stays in its Group; the end of the member's Consent ends it earlier
  setting('providerGroupDays', 'days', '30'), // days for which a member whom a provider matched stays in its Group; the end of its attestation ends it earlier
  setting('treatment', ['attested', 'listed'], 'attested'), // proof that a provider treats a member: attested: its attestation; listed: also a Group of the profile pdex-treatment-relationship, which names the provider and the member
  setting('reportOptOut', 'switch', 'off'), // on: a match names the members who denied or opted out as constrained; off: they cannot be distinguished from persons who are no members
  setting('publicRead', 'text', ''), // scopes of requests without a token, separated by blanks, such as system/Location.rs system/Organization.rs?type=prov. They allow read (r) and search (s) of types without personal data. A condition uses search parameters of R4
  setting('publicReadTenant', 'text', ''), // tenant whose data publicRead opens; required with tenancy
  setting('publicReadRate', 'count', '20'), // requests without a token per second that an address may send to publicRead; further ones are answered 429. On AWS the limit withoutToken of the stage replaces it
  setting('publicReadBurst', 'count', '100'), // requests without a token that an address may send to publicRead at once after a pause
  setting('publicReadTotal', 'count', '200'), // requests without a token per second that all addresses together may send to publicRead; further ones are answered 429
  setting('disclosureYears', 'count', '6'), // years for which the records of what partners received about members are retained
  setting('requestLog', 'switch', 'off'), // on: a line of JSON on standard output for each request: interaction, type, status, bytes, request id, total milliseconds, and milliseconds per dependency. On AWS the default is on, and the lines are in the logs of the functions
  setting('metricsPort', 'port', '0'), // port of 127.0.0.1 that answers `GET /metrics` in the text format of Prometheus; 0: none
  setting('searchBudget', 'wait', '10000'), // milliseconds that a search may run before it is answered 503; it waits up to twice as long for the index and for earlier searches
] as const satisfies readonly Setting[]

/**
 * Settings of functions on AWS that the deployment sets as environment variables: names and addresses of their resources. A function has
 * only those that its ports need.
 */
// biome-ignore format: a table
export const DEPLOYMENT_SETTINGS = [
  setting('baseUrl', 'text', ''), // base URL of the server, without a trailing slash
  setting('ownBases', 'text', ''), // base URLs that the server treats as its own, separated by blanks; index documents use the first. Empty: only baseUrl
  setting('stage', 'text', ''), // name of the deployment within the AWS account
  setting('table', 'text', ''), // DynamoDB table of the resources
  setting('stateTable', 'text', ''), // DynamoDB table of all other state: audit records, definitions, the key of seals
  setting('stream', 'text', ''), // ARN of the stream of the table of the resources
  setting('streamParallelization', 'count', '1'), // number of batches of one shard that Lambda processes at the same time
  setting('bucket', 'text', ''), // S3 bucket of large bodies and stored queries
  setting('auditBucket', 'text', ''), // S3 bucket of the archive of audit records and disclosures
  setting('searchEndpoint', 'text', ''), // URL of OpenSearch
  setting('searchSigning', ['sigv4', 'none'], 'sigv4'), // signature of requests to OpenSearch
  setting('searchPrefix', 'text', 'fhir'), // prefix of the index names
  setting('searchShards', 'shards', ''), // number of shards of a new index by type, such as Observation=11,Claim=3; other types have one
  setting('searchReplicas', 'integer', '1'), // copies of each shard of a new index beside the primary, if there are nodes for them
  setting('rebuildWorkflow', 'text', ''), // ARN of the state machine that rebuilds index documents
  setting('exportBucket', 'text', ''), // S3 bucket of export files
  setting('exportOrigin', 'text', ''), // origin of CloudFront from which clients download export files, without a trailing slash
  setting('exportWorkflow', 'text', ''), // ARN of the state machine that writes exports
  setting('linkKey', 'text', ''), // KMS key that signs links to export files
  setting('linkKeyPair', 'text', ''), // id of that key in CloudFront
  setting('indexShards', 'shards', ''), // number of index partitions of the resource table by type, such as Observation=32,Claim=4; other types have one
  setting('conditionalVersions', 'integer', '2000'), // versions of a type that a conditional interaction reads because the index may lack them; with more it is answered 503
  setting('epoch', 'integer', '0'), // restore generation: how many times the table of the resources was restored to an earlier time
  setting('restoredAt', 'text', ''), // instant to which the table was last restored, in FHIR format
  setting('formerTable', 'text', ''), // table of the resources before that restore; empty if it no longer exists
  setting('rebuildWait', 'integer', '60'), // seconds after which every function uses the current definitions
  setting('keptIndexDays', 'integer', '7'), // days for which the previous index of a type is retained after an upgrade
] as const satisfies readonly Setting[]

type Value<Kind> = Kind extends 'integer' | 'count' | 'bytes' | 'wait' | 'days' | 'port'
  ? number
  : Kind extends 'switch'
    ? boolean
    : Kind extends 'origins' | 'hosts' | 'types'
      ? readonly string[]
      : Kind extends 'issuers'
        ? readonly ExternalIssuer[]
        : Kind extends 'identifiers'
          ? readonly IdentifierText[]
          : Kind extends 'labels'
            ? 'unknown' | 'none' | readonly string[]
            : Kind extends 'shards'
              ? IndexShards
              : Kind extends readonly (infer Choice)[]
                ? Choice
                : string

type Values<S extends Setting> = { readonly [Each in S as Each['name']]: Value<Each['kind']> }

export type Config = Values<(typeof SETTINGS)[number]>
export type DeploymentSettings = Values<(typeof DEPLOYMENT_SETTINGS)[number]>

export const variableOf = (name: string): string => `FHIR_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`

/**
 * Returns the settings of the server. Throws a RangeError that names the variable if a value is invalid, or if tenancy is off and an
 * external issuer gives access to no tenant.
 */
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

/**
 * Returns the FHIR_ variables that are not in SETTINGS. Most are misspelled and have no effect, so the server warns. Ignores FHIR_TEST_…
 * and FHIR_STAGE, which tests and deployments use.
 */
export const unknownVariables = (environment: Environment = process.env): readonly string[] =>
  Object.keys(environment).filter(
    (variable) => /^FHIR_(?!TEST_|STAGE$)/.test(variable) && !SETTINGS.some(({ name }) => variableOf(name) === variable),
  )

/** Returns the settings of DEPLOYMENT_SETTINGS. Throws a RangeError that names the variable if a value is invalid. */
export const readDeploymentSettings = (environment: Environment = process.env): DeploymentSettings =>
  read(DEPLOYMENT_SETTINGS, environment) as DeploymentSettings

/** Returns the region and the credentials with which a function calls AWS. Lambda sets their variables. */
export function readAwsIdentity(environment: Environment = process.env) {
  const { AWS_REGION: region = '', AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = environment
  const secret = { accessKeyId: AWS_ACCESS_KEY_ID ?? '', secretAccessKey: AWS_SECRET_ACCESS_KEY ?? '' }
  return { region, credentials: { ...secret, ...(AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN }) } }
}

/**
 * Returns the environment of the process that evaluates expressions of clients: LD_LIBRARY_PATH, SystemRoot and TZ. That process gets no
 * other variable, so it sees no secret.
 */
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
    case 'port':
      return text === '0' ? 0 : (upTo(MOST_PORT, text) ?? refuse(`a port from 1 to ${MOST_PORT}, or 0 for none`))
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
    case 'identifiers':
      return (
        parseIdentifierList(text) ??
        refuse('identifiers as SYSTEM|VALUE, separated by commas, such as http://hl7.org/fhir/sid/us-npi|1234567893')
      )
    case 'labels':
      return labelsOf(text) ?? refuse('unknown, none, or labels as SYSTEM|CODE, separated by commas')
    case 'day':
      return isDay(text) ? text : refuse('a day, such as 2016-01-01')
    case 'registry':
      return isRegistry(text)
        ? text.replace(/\/+$/, '')
        : refuse('an https URL without a user, a query and a fragment; http on this machine only')
    case 'shards':
      return parseIndexShards(text) ?? refuse('types with numbers, such as Observation=32,Claim=4')
    case 'time zone':
      return isTimeZone(text) ? text : refuse('the name of a time zone, such as Europe/Berlin')
    default:
      return kind.includes(text) ? text : refuse(`one of ${kind.join(', ')}`)
  }
}

function issuersOf(text: string): readonly ExternalIssuer[] {
  try {
    // Without issuers, a function need not load their code.
    return text === '' ? [] : parseIssuers(text)
  } catch (error) {
    throw new RangeError(`${variableOf('externalIssuers')}: ${(error as Error).message}`)
  }
}

/** Matches a header name or an empty text. https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2 */
const HEADER = /^[\w!#$%&'*+.^`|~-]*$/

/**
 * Maximum of settings of kind `bytes`. A JavaScript string has at most 536 million characters, and a parsed text takes several times its
 * bytes.
 */
const MOST_BYTES = 100_000_000
const LONGEST_WAIT = 3_600_000
/** Maximum of settings of kind `days`, so that computed instants stay within the range of Date. */
const MOST_DAYS = 36_500

const MOST_PORT = 65_535
