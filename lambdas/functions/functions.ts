/**
 * The deployed functions and the ports of each. The entry point of a function is the file of its name in this folder. Its ports determine
 * the adapters in its bundle, the permissions of its role, and its environment variables. The stacks read this file: it imports types only.
 */
import type { EndpointCode, InteractionCode } from '../catalogue/catalogue.ts'

/**
 * Ports of functions. lib/permissions grants the permissions of each; `also` means in addition to the port before it.
 *
 * - `resources`: reads resource versions. `own-definitions`: reads only stored definitions for validation. `persons`: reads only Patients
 *   and RelatedPersons, to check the users of tokens; `resources` includes it. `canonicals`: indexes definitions by canonical URL.
 * - `writer`: writes resource versions. `settler`: finishes large transactions.
 * - `index`: searches. `documents`: writes documents to the index. `rebuilding`: creates, switches and removes indices.
 * - `progress`: reads the custom search parameters and the state of the indices. `definitions`: also changes them. `conditions`: reads the
 *   custom search parameters that scopes may name. `workflow`: starts rebuilds.
 * - `pulse`: sends the heartbeat through the table, and stores its progress. `blobs`: stored queries and lists of index tokens.
 * - `seal`: reads the key of sealed values, such as cursors and index tokens. `audit`: writes audit records.
 * - `verification`: reads public keys and revocations, to verify access tokens. `published-keys`: reads only public keys. `revoking`: reads
 *   and writes revocations. `signing`: signs tokens. `keys`: creates and removes the signing keys.
 * - `clients`, `users`: read registered clients and users. `passwords`: stores password hashes again at a higher cost. `grants`: codes,
 *   refresh tokens, sessions and other rows of the authorization server.
 * - `conformance`: reads definitions that are deployed with the code. `packages`: reads packages that operators added.
 * - `restored-tables`: changes settings of restored tables, but none of their items.
 */
export type PortName =
  | 'resources'
  | 'own-definitions'
  | 'canonicals'
  | 'writer'
  | 'settler'
  | 'index'
  | 'documents'
  | 'rebuilding'
  | 'blobs'
  | 'progress'
  | 'definitions'
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
  | 'users'
  | 'passwords'
  | 'grants'
  | 'signing'
  | 'keys'
  | 'conformance'
  | 'packages'
  | 'restored-tables'
  | ExportPort

/**
 * Ports of exports, as `PortName`.
 *
 * - `jobs`: reads and writes export jobs, and reads their progress. `job-rows`: also writes the progress and other rows of jobs.
 * - `schedules`: state of scheduled exports. `old-schedules`: removes the state of schedules that the settings no longer contain.
 * - `export-files`: writes, reads and removes export files. `removed-files`: only removes them. `copies`: copies them to external buckets.
 * - `start-exports`, `stop-exports`, `watch-exports`: start and stop the workflow of a job, and read whether it runs.
 * - `links`: signs links to export files. `link-key`: reads the public key of these links.
 */
export type ExportPort =
  | 'jobs'
  | 'job-rows'
  | 'schedules'
  | 'old-schedules'
  | 'copies'
  | 'export-files'
  | 'removed-files'
  | 'start-exports'
  | 'stop-exports'
  | 'watch-exports'
  | 'links'
  | 'link-key'

export type HttpFunction =
  | 'read'
  | 'vread'
  | 'history'
  | 'search'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'bundle'
  | 'capabilities'
  | 'reindex'
  | 'reindex-status'
  | 'meta'
  | 'validate'
  | 'apply-fhirpath'
  | 'everything'
  | 'export'
  | 'export-status'
  | 'export-cancel'
  | 'fallback'
  | AuthFunction

/** Functions of the authorization server. `discovery` returns its capabilities and public keys, `authorize` serves its pages. */
export type AuthFunction = 'token' | 'introspect' | 'revoke' | 'discovery' | 'authorize'

/**
 * Functions that answer no request.
 *
 * - `indexer`, `settle-transactions`: follow the stream of the table, and run on schedules.
 * - `migrate`: runs once in every deployment. `adopt-tables`: prepares restored tables, if the settings name them.
 * - `tend-keys`: runs every day, and when a stage is created or removed. `link-key`: runs once for each link key of a stage.
 * - `rebuild-step`, `export-step`: run the steps of their workflow.
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

export type FunctionName = HttpFunction | Worker

/** Ports of every function that authenticates its callers. */
const ASKED: readonly PortName[] = ['verification', 'conditions', 'audit']
const SEARCHING: readonly PortName[] = ['resources', 'index', 'blobs', 'seal', 'progress']
const WRITING: readonly PortName[] = [...SEARCHING, 'writer', 'conformance', 'packages', ...ASKED]

export const FUNCTIONS: Readonly<Record<FunctionName, readonly PortName[]>> = {
  read: ['resources', 'progress', ...ASKED],
  vread: ['resources', ...ASKED],
  history: ['resources', 'seal', ...ASKED],
  search: [...SEARCHING, ...ASKED],
  create: WRITING,
  update: WRITING,
  patch: WRITING,
  delete: WRITING,
  bundle: WRITING,
  capabilities: ['progress', 'packages', ...ASKED],
  reindex: ['definitions', 'workflow', ...ASKED],
  'reindex-status': ['progress', ...ASKED],
  meta: [...SEARCHING, ...ASKED],
  validate: ['resources', 'index', 'progress', 'conformance', 'packages', ...ASKED],
  'apply-fhirpath': ['own-definitions', 'progress', 'conformance', 'packages', ...ASKED],
  everything: [...SEARCHING, ...ASKED],
  export: ['clients', 'resources', 'progress', 'jobs', 'start-exports', ...ASKED],
  'export-status': ['jobs', 'links', 'persons', ...ASKED],
  'export-cancel': ['jobs', 'stop-exports', 'removed-files', 'persons', ...ASKED],
  fallback: ['audit'],
  discovery: ['published-keys', 'audit'],
  token: ['clients', 'users', 'grants', 'revoking', 'signing', 'persons', 'progress', 'audit'],
  introspect: ['clients', 'grants', 'verification', 'audit'],
  revoke: ['clients', 'grants', 'revoking', 'published-keys', 'audit'],
  authorize: ['clients', 'users', 'passwords', 'grants', 'revoking', ...SEARCHING, 'audit'],
  indexer: ['documents', 'definitions', 'pulse', 'workflow'],
  'settle-transactions': ['settler', 'definitions', 'workflow'],
  'rebuild-step': ['resources', 'canonicals', 'rebuilding', 'definitions'],
  migrate: ['resources', 'definitions', 'workflow', 'seal'],
  'tend-keys': ['keys'],
  'link-key': ['link-key'],
  'export-step': ['resources', 'index', 'progress', 'job-rows', 'export-files'],
  'export-sweep': ['job-rows', 'schedules', 'old-schedules', 'copies', 'export-files', 'start-exports', 'stop-exports', 'watch-exports'],
  'export-schedule': ['clients', 'resources', 'progress', 'jobs', 'schedules', 'start-exports', 'audit'],
  'adopt-tables': ['restored-tables'],
}

const OF_TOKENS: ReadonlySet<FunctionName> = new Set([
  'discovery',
  'token',
  'introspect',
  'revoke',
  'authorize',
  'tend-keys',
  'export-schedule',
])

const ABOUT_TOKENS: ReadonlySet<PortName> = new Set([
  'verification',
  'clients',
  'persons',
  'conditions',
  'schedules',
  'old-schedules',
  'copies',
])

/** Returns the functions that every stage with this `access` setting has. Stages without tokens have no authorization server. */
export const functionsOfStage = (access: string): readonly FunctionName[] =>
  (Object.keys(FUNCTIONS) as FunctionName[]).filter((name) => name !== 'adopt-tables' && (access === 'token' || !OF_TOKENS.has(name)))

/** Returns the ports of a function in such a stage. Stages without tokens omit the ports that only tokens need. */
export const portsOfStage = (name: FunctionName, access: string): readonly PortName[] =>
  FUNCTIONS[name].filter((port) => access === 'token' || !ABOUT_TOKENS.has(port))

/** Returns the function that answers an interaction. Each has a function of its own, except those in `SHARED`. */
export function functionOf(code: InteractionCode | EndpointCode): HttpFunction {
  return isShared(code) ? SHARED[code] : code
}

type SharedCode = Exclude<InteractionCode | EndpointCode, HttpFunction>

const isShared = (code: InteractionCode | EndpointCode): code is SharedCode => Object.hasOwn(SHARED, code)

/** Functions of the codes that share one. A code without a function, here or of its own, does not compile. */
const SHARED: Readonly<Record<SharedCode, HttpFunction>> = {
  'history-instance': 'history',
  'history-type': 'history',
  'history-system': 'history',
  'search-type': 'search',
  'search-system': 'search',
  docref: 'search',
  // CloudFront serves the files.
  'export-file': 'fallback',
  jwks: 'discovery',
  'smart-configuration': 'discovery',
  'openid-configuration': 'discovery',
  login: 'authorize',
  consent: 'authorize',
  account: 'authorize',
  logout: 'authorize',
  style: 'authorize',
}
