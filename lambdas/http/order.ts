/**
 * Steps of every request, as a table: step names × columns, in the order in which they run. Pipelines bind the names to steps. The
 * catalogue assigns each code to one column. Auditing, error handling and authentication apply to all columns of interactions, so that a
 * new column cannot lack them.
 */
import { type Column, columnOf, INTERACTIONS, type PipelineCode } from '../catalogue/catalogue.ts'

type Columns = readonly Column[]

/** Columns that interactions of the catalogue use. A new column is included automatically. */
const ROUTED: Columns = Object.values(INTERACTIONS).map(({ column }) => column)
/** Columns of interactions that answer with JSON: all but downloads of files. */
const SHAPED: Columns = ROUTED.filter((column) => column !== 'FILE')
const READ: Columns = ['READ']
const SAVE: Columns = ['SAVE']
const PATCH: Columns = ['PATCH']
const WRITE: Columns = [...SAVE, ...PATCH, 'DELETE']
const SEARCH: Columns = ['SEARCH']
const BUNDLE: Columns = ['BUNDLE']
const AUTH: Columns = ['AUTH']
const EXPLORER: Columns = ['EXPLORER']
const HEALTH: Columns = ['HEALTH']
const OPERATION: Columns = ['OPERATION']
const QUERY: Columns = ['QUERY']
const MATCH: Columns = ['MATCH']
const INPUT: Columns = ['INPUT', ...MATCH]
const EXPORT: Columns = ['EXPORT']
const FILE: Columns = ['FILE']
const FALLBACK: Columns = ['FALLBACK']
/** Columns of all codes that work with data of the server. Only the files of the explorer and the health hold none. */
const EVERY: Columns = [...ROUTED, ...AUTH, ...FALLBACK]
/** Columns of all codes. */
const WHOLE: Columns = [...EVERY, ...EXPLORER, ...HEALTH]

export type StepName =
  | 'recordAudit'
  | 'allowOrigins'
  | 'writeResponse'
  | 'levelTime'
  | 'describeErrors'
  | 'checkHost'
  | 'refuse'
  | 'redirectBrowsers'
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
  use('writeResponse',       WHOLE                                ),
  use('levelTime',           READ, PATCH, QUERY, INPUT, EXPORT    ),
  use('describeErrors',      WHOLE                                ),
  use('checkHost',           WHOLE                                ),
  use('refuse',                                           FALLBACK),
  use('redirectBrowsers',    READ,        SEARCH                  ),
  // Authenticate before the steps below. So a request without a valid token is answered 401, whatever other errors those steps would find.
  use('authenticate',        ROUTED                               ),
  use('negotiateFormat',     SHAPED                               ),
  use('limitBody',                 WRITE, SEARCH, BUNDLE, QUERY, INPUT, EXPORT),
  use('limitForm',                                AUTH            ),
  each('checkType',          READ, WRITE, SEARCH, QUERY, INPUT, EXPORT),
  each('parsePreferences',   ROUTED                               ),
  each('parsePreconditions', READ, WRITE,                INPUT    ),
  each('checkScope',         READ, WRITE, SEARCH, OPERATION, QUERY, INPUT, EXPORT),
  each('mayWrite',                 WRITE,                MATCH    ),
  use('parseForm',                        SEARCH                  ),
  use('parseResource',             SAVE,          BUNDLE          ),
  use('parsePatch',                PATCH                          ),
  use('parseKickOff',                             EXPORT          ),
  use('parseInput',                               QUERY, INPUT    ),
  each('validateResource',         SAVE                           ),
  use('tellWarnings',              SAVE, PATCH                    ),
  use('tellIndexToken',            WRITE,         BUNDLE, MATCH   ),
  use('awaitIndexToken',                  SEARCH, BUNDLE, QUERY   ),
  each('shapeBody',          SHAPED                               ),
  use('sendFile',                                 FILE            ),
]

/** Returns the steps of an interaction, in order. */
export const stepsOf = (interaction: PipelineCode): readonly StepName[] =>
  ROWS.filter(({ on }) => on.has(columnOf(interaction))).map(({ step }) => step)

/** Returns the steps of an interaction that is an entry of a Bundle, in order. */
export const entryStepsOf = (interaction: PipelineCode): readonly StepName[] =>
  ROWS.filter(({ on, entries }) => entries && on.has(columnOf(interaction))).map(({ step }) => step)
