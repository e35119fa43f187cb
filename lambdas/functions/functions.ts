/**
 * Memory class and ports of each deployed function. Its entry point is the file of its name in this folder. Its ports determine the
 * adapters in its bundle, the permissions of its role, and its environment variables. The catalogue determines which interactions and
 * endpoints it answers. The stacks read this file; no function imports it.
 */
import {
  ENDPOINTS,
  type EndpointCode,
  type HttpFunction,
  INTERACTIONS,
  type InteractionCode,
  isEndpointCode,
} from '../catalogue/catalogue.ts'

/**
 * Ports of functions. lib/permissions grants the permissions of each; `also` means in addition to the port before it.
 *
 * - `resources`: reads resource versions. `own-definitions`: reads only stored definitions for validation. `persons`: reads only Patients
 *   and RelatedPersons, to check the users of tokens; `resources` includes it. `canonicals`: indexes definitions by canonical URL.
 *   `identifiers`: adds the identifier rows of stored versions; `writer` includes it.
 * - `writer`: writes resource versions. `settler`: finishes large transactions, and removes large bodies. `passes`: stores
 *   the progress of sweeps.
 * - `index`: searches. `conditional-searches`: settings of conditional interactions. `documents`: writes documents to the index.
 *   `rebuilding`: creates, switches and removes indices.
 * - `progress`: reads the custom search parameters and the state of the indices. `definitions`: also changes them. `conditions`: reads the
 *   custom search parameters that scopes may name. `workflow`: starts rebuilds.
 * - `heartbeats`: reads the latest heartbeat in the table, and the progress of the heartbeats.
 * - `pulse`: sends the heartbeat through the table, and stores its progress. `blobs`: stored queries and lists of index tokens.
 * - `seal`: reads the key of sealed values, such as cursors and index tokens. `audit`: writes audit records.
 * - `verification`: reads public keys and revocations, to verify access tokens. `published-keys`: reads only public keys. `revoking`: reads
 *   and writes revocations. `signing`: signs tokens. `keys`: creates and removes the signing keys.
 * - `clients`, `users`: read registered clients and users. `registrations`: also writes and removes clients. `passwords`: stores password hashes again at a higher cost. `grants`: codes,
 *   refresh tokens, sessions and other rows of the authorization server. `guesses`: only guesses of partners at members.
 * - `conformance`: reads definitions that are deployed with the code. `packages`: reads packages that operators added.
 * - `restored-tables`: changes settings of restored tables, but none of their items.
 * - `audit-archive`: adds objects to the archive of audit records. It cannot read them.
 * - `disclosures`: writes the records of what partners received. It cannot read them.
 */
export type PortName =
  | 'resources'
  | 'own-definitions'
  | 'canonicals'
  | 'identifiers'
  | 'writer'
  | 'settler'
  | 'passes'
  | 'index'
  | 'conditional-searches'
  | 'documents'
  | 'rebuilding'
  | 'blobs'
  | 'progress'
  | 'definitions'
  | 'heartbeats'
  | 'pulse'
  | 'workflow'
  | 'seal'
  | 'audit'
  | 'verification'
  | 'persons'
  | 'conditions'
  | 'published-keys'
  | 'revoking'
  | 'clients'
  | 'registrations'
  | 'users'
  | 'passwords'
  | 'grants'
  | 'guesses'
  | 'signing'
  | 'keys'
  | 'conformance'
  | 'packages'
  | 'restored-tables'
  | 'audit-archive'
  | 'disclosures'
  | ExportPort

/**
 * Ports of exports. As in `PortName`, `also` means in addition to the port before it.
 *
 * - `jobs`: reads and writes export jobs, and reads their progress. `job-list`: also lists the jobs. `job-rows`: lists them, and also
 *   writes the progress and other rows of jobs.
 * - `schedules`: state of scheduled exports. `old-schedules`: removes the state of schedules that the settings no longer contain.
 * - `export-files`: writes, reads and removes export files. `removed-files`: only removes them.
 *   `match-requests`: only writes requests of matches, and when matches are deleted. `copies`: copies them to external buckets.
 * - `start-exports`, `stop-exports`, `watch-exports`: start and stop the workflow of a job, and read whether it runs.
 * - `links`: signs links to export files. `link-key`: reads the public key of these links.
 */
export type ExportPort =
  | 'jobs'
  | 'job-list'
  | 'job-rows'
  | 'schedules'
  | 'old-schedules'
  | 'copies'
  | 'export-files'
  | 'match-requests'
  | 'removed-files'
  | 'start-exports'
  | 'stop-exports'
  | 'watch-exports'
  | 'links'
  | 'link-key'

/**
 * Functions that answer no request.
 *
 * - `indexer`, `settle-transactions`: follow the stream of the table, and run on schedules.
 * - `migrate`: runs once in every deployment. `adopt-tables`: prepares restored tables, if the settings name them.
 * - `tend-keys`: runs every day, and when a stage is created or removed. `link-key`: runs once for each link key of a stage.
 * - `rebuild-step`, `export-step`: run the steps of their workflow. `export-step` also deletes ended matches, on a schedule.
 * - `audit-archive`: follows the stream of the state table, if the settings archive audit records.
 * - `export-sweep`: resumes, copies and removes exports on schedules. `export-schedule`: starts the exports that the settings schedule.
 */
export type Worker =
  | 'indexer'
  | 'settle-transactions'
  | 'rebuild-step'
  | 'migrate'
  | 'tend-keys'
  | 'link-key'
  | 'export-step'
  | 'export-sweep'
  | 'export-schedule'
  | 'adopt-tables'
  | 'audit-archive'

export type FunctionName = HttpFunction | Worker

/** Ports of every function that authenticates its callers by access token. */
const CALLER: readonly PortName[] = ['verification', 'conditions', 'audit']
const SEARCHING: readonly PortName[] = ['resources', 'index', 'blobs', 'seal', 'progress']
const WRITING: readonly PortName[] = [...SEARCHING, 'conditional-searches', 'writer', 'conformance', 'packages', ...CALLER]

/** Memory class of a function. The settings of a stage define the memory of each class. */
export type FunctionKind = 'light' | 'request' | 'worker'

/** Memory class and ports of a function. `onlyWithTokens`: only stages with `access` = `token` have the function. */
type FunctionRow = { readonly kind: FunctionKind; readonly ports: readonly PortName[]; readonly onlyWithTokens?: true }

/** Deployed functions by name. If a function of the catalogue is missing here, the code does not compile. */
export const FUNCTIONS: Readonly<Record<FunctionName, FunctionRow>> = {
  read: { kind: 'light', ports: ['resources', 'progress', 'packages', ...CALLER] },
  vread: { kind: 'light', ports: ['resources', 'packages', ...CALLER] },
  history: { kind: 'light', ports: ['resources', 'seal', 'packages', ...CALLER] },
  search: { kind: 'request', ports: [...SEARCHING, 'packages', ...CALLER] },
  create: { kind: 'request', ports: WRITING },
  update: { kind: 'request', ports: WRITING },
  patch: { kind: 'request', ports: WRITING },
  delete: { kind: 'request', ports: WRITING },
  bundle: { kind: 'request', ports: WRITING },
  capabilities: { kind: 'light', ports: ['progress', 'packages', ...CALLER] },
  reindex: { kind: 'light', ports: ['definitions', 'workflow', ...CALLER] },
  'reindex-status': { kind: 'light', ports: ['progress', ...CALLER] },
  meta: { kind: 'request', ports: [...SEARCHING, 'packages', ...CALLER] },
  validate: { kind: 'request', ports: ['resources', 'index', 'conditional-searches', 'progress', 'conformance', 'packages', ...CALLER] },
  'apply-fhirpath': { kind: 'request', ports: ['own-definitions', 'progress', 'conformance', 'packages', ...CALLER] },
  everything: { kind: 'request', ports: [...SEARCHING, 'packages', ...CALLER] },
  'member-match': { kind: 'request', ports: [...WRITING, 'jobs', 'match-requests', 'start-exports', 'disclosures', 'guesses'] },
  export: { kind: 'request', ports: ['clients', 'resources', 'packages', 'progress', 'jobs', 'start-exports', ...CALLER] },
  'export-status': { kind: 'light', ports: ['clients', 'jobs', 'job-list', 'links', 'persons', ...CALLER] },
  'export-cancel': { kind: 'light', ports: ['jobs', 'stop-exports', 'removed-files', 'persons', ...CALLER] },
  fallback: { kind: 'light', ports: ['audit'] },
  discovery: { kind: 'light', ports: ['published-keys', 'audit'], onlyWithTokens: true },
  token: {
    kind: 'light',
    ports: [
      'clients',
      'users',
      'grants',
      'revoking',
      'signing',
      'resources',
      'index',
      'conditional-searches',
      'progress',
      'disclosures',
      'audit',
    ],
    onlyWithTokens: true,
  },
  introspect: { kind: 'light', ports: ['clients', 'grants', 'verification', 'audit'], onlyWithTokens: true },
  revoke: { kind: 'light', ports: ['clients', 'registrations', 'grants', 'revoking', 'published-keys', 'audit'], onlyWithTokens: true },
  authorize: {
    kind: 'request',
    ports: ['clients', 'users', 'passwords', 'grants', 'revoking', ...SEARCHING, 'audit'],
    onlyWithTokens: true,
  },
  explorer: { kind: 'light', ports: [], onlyWithTokens: true },
  health: { kind: 'light', ports: ['progress', 'heartbeats'] },
  indexer: { kind: 'worker', ports: ['documents', 'identifiers', 'definitions', 'pulse', 'workflow'] },
  'settle-transactions': { kind: 'request', ports: ['settler', 'passes', 'definitions', 'packages', 'workflow'] },
  'rebuild-step': { kind: 'worker', ports: ['resources', 'canonicals', 'identifiers', 'rebuilding', 'definitions'] },
  migrate: { kind: 'request', ports: ['resources', 'definitions', 'workflow', 'seal'] },
  'tend-keys': { kind: 'light', ports: ['keys'], onlyWithTokens: true },
  'link-key': { kind: 'light', ports: ['link-key'] },
  'export-step': {
    kind: 'worker',
    ports: ['clients', 'resources', 'writer', 'index', 'progress', 'job-rows', 'export-files', 'disclosures', 'seal', 'guesses'],
  },
  'export-sweep': {
    kind: 'request',
    ports: ['job-rows', 'passes', 'schedules', 'old-schedules', 'copies', 'export-files', 'start-exports', 'stop-exports', 'watch-exports'],
  },
  'export-schedule': {
    kind: 'request',
    ports: ['clients', 'resources', 'progress', 'jobs', 'schedules', 'start-exports', 'audit'],
    onlyWithTokens: true,
  },
  'adopt-tables': { kind: 'light', ports: ['restored-tables'] },
  'audit-archive': { kind: 'light', ports: ['audit-archive'] },
}

/** Functions that only certain settings of a stage need, besides `access`. */
const ON_DEMAND: ReadonlySet<FunctionName> = new Set(['adopt-tables', 'audit-archive'])

/** Ports that only stages with access tokens need. */
const ABOUT_TOKENS: ReadonlySet<PortName> = new Set([
  'verification',
  'clients',
  'persons',
  'conditions',
  'guesses',
  'schedules',
  'old-schedules',
  'copies',
])

/**
 * Returns the functions of every stage with this `access` setting. Stages without tokens have no authorization server. `adopt-tables` and
 * `audit-archive` are not among them, because only stages with restored tables or an archive have them.
 */
export const functionsOfStage = (access: string): readonly FunctionName[] =>
  (Object.keys(FUNCTIONS) as FunctionName[]).filter(
    (name) => !ON_DEMAND.has(name) && (access === 'token' || FUNCTIONS[name].onlyWithTokens !== true),
  )

/** Returns the ports of a function in a stage with this `access` setting. Without tokens it omits the ports in ABOUT_TOKENS. */
export const portsOfStage = (name: FunctionName, access: string): readonly PortName[] =>
  FUNCTIONS[name].ports.filter((port) => access === 'token' || !ABOUT_TOKENS.has(port))

/** Returns the function that answers an interaction or endpoint. `cloudfront`: none, because CloudFront answers. */
export const functionOf = (code: InteractionCode | EndpointCode): HttpFunction | 'cloudfront' =>
  isEndpointCode(code) ? ENDPOINTS[code].lambda : INTERACTIONS[code].lambda

const HTTP_FUNCTIONS: ReadonlySet<string> = new Set<string>([
  ...[...Object.values(INTERACTIONS), ...Object.values(ENDPOINTS)].map(({ lambda }) => lambda),
  'fallback',
])

/** Whether the function answers requests. */
export const isHttpFunction = (name: FunctionName): name is HttpFunction => HTTP_FUNCTIONS.has(name)
