/**
 * The deployed functions, as data: the file of this folder that is each one's entry point, and the ports it is given. Its bundle holds their
 * adapters, its role may use what they stand on, its environment names it. Drives the stacks; imports types only.
 */
import type { AuthCode, InteractionCode } from '../catalogue/routes.ts'

/**
 * resources: reads versions. own-definitions: reads those that say how resources are checked, and no others. canonicals: tells which
 * definitions carry which. writer: also writes them. settler: finishes transactions. index: searches. documents: writes to the index. rebuilding:
 * makes, swaps and removes indices. blobs: kept queries and lists of tokens. progress: reads what is defined and built.
 * definitions: also changes it. pulse: sends it through the table, and remembers how far it came. workflow: starts rebuilds. seal: reads the key of cursors and tokens. audit: writes audit records.
 * verification: reads what proves access tokens: public keys, and what was revoked. persons: reads Patients and RelatedPersons only, to check the users of tokens; `resources` includes it. conditions: reads what is defined, which scopes may name.
 * published-keys: reads public keys only. revoking: reads and writes what was revoked. clients, users: reads who is registered. passwords:
 * keeps those of users anew. grants: what the authorization server remembers. signing: signs tokens. keys: makes and ends the keys that does
 * with. jobs: reads and writes the jobs of exports, and how far they are. job-rows: also what their writers keep. schedules: what is
 * remembered of those that begin on schedules. old-schedules: forgets those that are set no more. copies: copies files into buckets of
 * others. export-files: writes, reads and removes their files. start-exports, stop-exports, watch-exports: begins the work of jobs, ends it, asks whether it goes on. removed-files:
 * only removes files. links: signs links to them. link-key: reads the public half of the key that does. conformance: reads the definitions that lie
 * beside its code, packages those that operators added. restored-tables: changes what tables are that were restored, and nothing in them.
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

/** Of exports. */
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

/** Those of the authorization server: `discovery` tells what it can and its keys, `authorize` has its pages. */
export type AuthFunction = 'token' | 'introspect' | 'revoke' | 'discovery' | 'authorize'

/**
 * `indexer` and `settle-transactions` follow the table's stream, the latter also a schedule; `migrate` runs once in every deployment,
 * `tend-keys` when a stage is made and every day, `link-key` when it is made. `export-step` does the steps of exports, `export-sweep` takes up
 * what was left of them on schedules, `export-schedule` begins those the settings name. `adopt-tables` prepares tables that were restored, where
 * the settings name some.
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

/** Of every function that answers who has to say who it is. */
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

/** The functions of every stage, and their ports, by whether it asks for tokens. */
export const functionsOfStage = (access: string): readonly FunctionName[] =>
  (Object.keys(FUNCTIONS) as FunctionName[]).filter((name) => name !== 'adopt-tables' && (access === 'token' || !OF_TOKENS.has(name)))

export const portsOfStage = (name: FunctionName, access: string): readonly PortName[] =>
  FUNCTIONS[name].filter((port) => access === 'token' || !ABOUT_TOKENS.has(port))

/** The function that answers: one for each interaction, but the kinds of history together, those of search and what is one, and the pages. */
export function functionOf(code: InteractionCode | AuthCode): HttpFunction {
  return isShared(code) ? SHARED[code] : code
}

type SharedCode = Exclude<InteractionCode | AuthCode, HttpFunction>

const isShared = (code: InteractionCode | AuthCode): code is SharedCode => Object.hasOwn(SHARED, code)

/** A code that is no function of its own, and is not in here, does not compile. */
const SHARED: Readonly<Record<SharedCode, HttpFunction>> = {
  'history-instance': 'history',
  'history-type': 'history',
  'history-system': 'history',
  'search-type': 'search',
  'search-system': 'search',
  docref: 'search',
  // CloudFront hands them out.
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
