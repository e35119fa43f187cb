/**
 * The order of every request: step names × interactions, read top to bottom. Pipelines bind the names to steps.
 * The catalogue puts every code into one column. The steps that keep the server safe apply to every code, whatever its column.
 */
import { type Column, columnOf, INTERACTIONS, type PipelineCode } from '../catalogue/catalogue.ts'

type Columns = readonly Column[]

/** Columns of interactions, including future ones. */
const ROUTED: Columns = Object.values(INTERACTIONS).map(({ column }) => column)
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
const QUERY: Columns = ['QUERY']
const INPUT: Columns = ['INPUT']
const EXPORT: Columns = ['EXPORT']
const FILE: Columns = ['FILE']
const FALLBACK: Columns = ['FALLBACK']
/** Columns of all codes. */
const EVERY: Columns = [...ROUTED, ...AUTH, ...FALLBACK]

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
  ROWS.filter(({ on }) => on.has(columnOf(interaction))).map(({ step }) => step)

/** Returns the steps of an interaction that is an entry of a Bundle, in order. */
export const entryStepsOf = (interaction: PipelineCode): readonly StepName[] =>
  ROWS.filter(({ on, entries }) => entries && on.has(columnOf(interaction))).map(({ step }) => step)
