/**
 * The order of every request: step names × interactions, read top to bottom. Pipelines bind the names to steps.
 * Every code is in one column. The steps that keep the server safe apply to every code, whatever its column.
 */
import type { PipelineCode } from './exchange.ts'

type Column =
  | 'READ'
  | 'SAVE'
  | 'PATCH'
  | 'DELETE'
  | 'SEARCH'
  | 'BUNDLE'
  | 'OPERATION'
  | 'QUERY'
  | 'INPUT'
  | 'EXPORT'
  | 'JOB'
  | 'FILE'
  | 'METADATA'
  | 'AUTH'
  | 'FALLBACK'

/** Column of each code. A code without a column does not compile. */
const COLUMN: Readonly<Record<PipelineCode, Column>> = {
  read: 'READ',
  vread: 'READ',
  'history-instance': 'READ',
  'history-type': 'READ',
  'history-system': 'READ',
  create: 'SAVE',
  update: 'SAVE',
  patch: 'PATCH',
  delete: 'DELETE',
  'search-type': 'SEARCH',
  'search-system': 'SEARCH',
  bundle: 'BUNDLE',
  reindex: 'OPERATION',
  'reindex-status': 'OPERATION',
  meta: 'QUERY',
  validate: 'INPUT',
  'apply-fhirpath': 'INPUT',
  everything: 'QUERY',
  docref: 'QUERY',
  export: 'EXPORT',
  'export-status': 'JOB',
  'export-cancel': 'JOB',
  'export-file': 'FILE',
  capabilities: 'METADATA',
  token: 'AUTH',
  introspect: 'AUTH',
  revoke: 'AUTH',
  style: 'AUTH',
  authorize: 'AUTH',
  login: 'AUTH',
  consent: 'AUTH',
  account: 'AUTH',
  logout: 'AUTH',
  jwks: 'AUTH',
  'smart-configuration': 'AUTH',
  'openid-configuration': 'AUTH',
  fallback: 'FALLBACK',
}

/** Whether a code requires an authenticated caller. A code without this decision does not compile. */
export const ADMISSION: Readonly<Record<PipelineCode, 'known' | 'anybody'>> = {
  read: 'known',
  vread: 'known',
  'history-instance': 'known',
  'history-type': 'known',
  'history-system': 'known',
  create: 'known',
  update: 'known',
  patch: 'known',
  delete: 'known',
  'search-type': 'known',
  'search-system': 'known',
  bundle: 'known',
  reindex: 'known',
  'reindex-status': 'known',
  meta: 'known',
  validate: 'known',
  'apply-fhirpath': 'known',
  everything: 'known',
  docref: 'known',
  export: 'known',
  'export-status': 'known',
  'export-cancel': 'known',
  // The link itself authorizes the download.
  'export-file': 'anybody',
  // Without a token, the CapabilityStatement shows no definitions of tenants.
  capabilities: 'anybody',
  // These endpoints authenticate the caller themselves, if they need to.
  token: 'anybody',
  introspect: 'anybody',
  revoke: 'anybody',
  style: 'anybody',
  authorize: 'anybody',
  login: 'anybody',
  consent: 'anybody',
  account: 'anybody',
  logout: 'anybody',
  jwks: 'anybody',
  'smart-configuration': 'anybody',
  'openid-configuration': 'anybody',
  fallback: 'anybody',
}

type Columns = readonly Column[]

/** Columns of all codes, including future ones. */
const EVERY: Columns = Object.values(COLUMN)
/** Columns of codes with a FHIR route. */
const ROUTED: Columns = EVERY.filter((column) => column !== 'FALLBACK' && column !== 'AUTH')
/** Columns of codes that answer with resources. */
const SHAPED: Columns = ROUTED.filter((column) => column !== 'FILE')
const READ: Columns = ['READ']
const SAVE: Columns = ['SAVE']
const PATCH: Columns = ['PATCH']
const WRITE: Columns = [...SAVE, ...PATCH, 'DELETE']
const SEARCH: Columns = ['SEARCH']
const BUNDLE: Columns = ['BUNDLE']
const AUTH: Columns = ['AUTH']
const OPERATION: Columns = ['OPERATION']
/** Operations that look up stored resources. */
const QUERY: Columns = ['QUERY']
/** Operations that work on the resource or the Parameters in the request. */
const INPUT: Columns = ['INPUT']
const EXPORT: Columns = ['EXPORT']
const FILE: Columns = ['FILE']
const FALLBACK: Columns = ['FALLBACK']

export type StepName =
  | 'recordAudit'
  | 'allowOrigins'
  | 'writeResponse'
  | 'levelTime'
  | 'describeErrors'
  | 'checkHost'
  | 'refuse'
  | 'negotiateFormat'
  | 'limitBody'
  | 'limitForm'
  | 'authenticate'
  | 'checkType'
  | 'checkScope'
  | 'mayWrite'
  | 'parsePreferences'
  | 'parseForm'
  | 'parseResource'
  | 'parsePatch'
  | 'parseKickOff'
  | 'parseInput'
  | 'validateResource'
  | 'parsePreconditions'
  | 'shapeBody'
  | 'sendFile'
  | 'tellWarnings'
  | 'tellIndexToken'
  | 'awaitIndexToken'

type Row = { readonly step: StepName; readonly on: ReadonlySet<Column>; readonly entries: boolean }

const use = (step: StepName, ...on: readonly Columns[]): Row => ({ step, on: new Set(on.flat()), entries: false })
/** Like `use`. Each entry of a Bundle passes the step too. */
const each = (step: StepName, ...on: readonly Columns[]): Row => ({ ...use(step, ...on), entries: true })

// biome-ignore format: a table
const ROWS: readonly Row[] = [
  use('recordAudit',         EVERY                                ),
  use('allowOrigins',        EVERY                                ),
  use('writeResponse',       EVERY                                ),
  use('levelTime',           READ, PATCH, QUERY, INPUT, EXPORT    ),
  use('describeErrors',      EVERY                                ),
  use('checkHost',           EVERY                                ),
  use('refuse',                                           FALLBACK),
  // A request without a valid token is answered 401, regardless of its other errors.
  use('authenticate',        ROUTED                               ),
  use('negotiateFormat',     SHAPED                               ),
  use('limitBody',                 WRITE, SEARCH, BUNDLE, QUERY, INPUT, EXPORT),
  use('limitForm',                                AUTH            ),
  each('checkType',          READ, WRITE, SEARCH, QUERY, INPUT, EXPORT),
  each('parsePreferences',   ROUTED                               ),
  each('parsePreconditions', READ, WRITE,                INPUT    ),
  each('checkScope',         READ, WRITE, SEARCH, OPERATION, QUERY, INPUT, EXPORT),
  each('mayWrite',                 WRITE                          ),
  use('parseForm',                        SEARCH                  ),
  use('parseResource',             SAVE,          BUNDLE          ),
  use('parsePatch',                PATCH                          ),
  use('parseKickOff',                             EXPORT          ),
  use('parseInput',                               QUERY, INPUT    ),
  each('validateResource',         SAVE                           ),
  use('tellWarnings',              SAVE, PATCH                    ),
  use('tellIndexToken',            WRITE,         BUNDLE          ),
  use('awaitIndexToken',                  SEARCH, BUNDLE, QUERY   ),
  each('shapeBody',          SHAPED                               ),
  use('sendFile',                                 FILE            ),
]

/** Returns the steps of an interaction, in order. */
export const stepsOf = (interaction: PipelineCode): readonly StepName[] =>
  ROWS.filter(({ on }) => on.has(COLUMN[interaction])).map(({ step }) => step)

/** Returns the steps of an interaction that is an entry of a Bundle, in order. */
export const entryStepsOf = (interaction: PipelineCode): readonly StepName[] =>
  ROWS.filter(({ on, entries }) => entries && on.has(COLUMN[interaction])).map(({ step }) => step)
