/** The order of every request: step names × interactions, read top to bottom. Pipelines bind the names to steps. */
import type { Code } from './exchange.ts'

const READ: readonly Code[] = ['read', 'vread', 'history-instance', 'history-type', 'history-system']
const SAVE: readonly Code[] = ['create', 'update']
const WRITE: readonly Code[] = [...SAVE, 'patch', 'delete']
const SEARCH: readonly Code[] = ['search-type', 'search-system']
const BUNDLE: readonly Code[] = ['bundle']
const METADATA: readonly Code[] = ['capabilities', 'reindex-status']
const REINDEX: readonly Code[] = ['reindex']
const FALLBACK: readonly Code[] = ['fallback']

export type StepName =
  | 'recordAudit'
  | 'allowOrigins'
  | 'writeResponse'
  | 'describeErrors'
  | 'checkHost'
  | 'refuse'
  | 'negotiateFormat'
  | 'limitBody'
  | 'resolveTenant'
  | 'checkType'
  | 'parsePreferences'
  | 'parseForm'
  | 'parseResource'
  | 'parsePatch'
  | 'validateResource'
  | 'parsePreconditions'
  | 'shapeBody'
  | 'tellIndexToken'
  | 'awaitIndexToken'

type Row = { readonly step: StepName; readonly on: ReadonlySet<Code>; readonly entries: boolean }

const rows: Row[] = []
const use = (step: StepName, ...on: readonly (readonly Code[])[]): void => void rows.push({ step, on: new Set(on.flat()), entries: false })
/** These steps an entry of a Bundle passes too, each entry for itself. */
const each = (step: StepName, ...on: readonly (readonly Code[])[]): void => void rows.push({ step, on: new Set(on.flat()), entries: true })

// biome-ignore format: a table
{
  use('recordAudit',         READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA, FALLBACK)
  use('allowOrigins',        READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA, FALLBACK)
  use('writeResponse',       READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA, FALLBACK)
  use('describeErrors',      READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA, FALLBACK)
  use('checkHost',           READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA, FALLBACK)
  use('refuse',                                                        FALLBACK)
  use('negotiateFormat',     READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA          )
  use('limitBody',                 WRITE, SEARCH, BUNDLE                             )
  use('resolveTenant',       READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA          )
  each('checkType',          READ, WRITE, SEARCH                                     )
  each('parsePreferences',   READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA          )
  use('parseForm',                        SEARCH                                     )
  use('parseResource',             SAVE,          BUNDLE                             )
  use('parsePatch',                ['patch']                                         )
  each('validateResource',         SAVE                                              )
  each('parsePreconditions', READ, WRITE                                             )
  use('tellIndexToken',            WRITE,         BUNDLE                             )
  use('awaitIndexToken',                  SEARCH                                     )
  use('shapeBody',           READ, WRITE, SEARCH, BUNDLE, REINDEX, METADATA          )
}

/** The steps of an interaction, in order. */
export const stepsOf = (interaction: Code): readonly StepName[] => rows.filter(({ on }) => on.has(interaction)).map(({ step }) => step)

/** The steps of an interaction that is an entry of a Bundle. */
export const entryStepsOf = (interaction: Code): readonly StepName[] =>
  rows.filter(({ on, entries }) => entries && on.has(interaction)).map(({ step }) => step)
