/**
 * Decides whether every identifier of a type has its row. Writers of an earlier release added none, so a rebuild adds them. Such a release
 * has another document format. So an upgrade from it, and the next upgrade after a rollback to it, request a rebuild. Functions of that
 * release may write during the rebuild too, until the deployment has updated all of them. Changes are pure functions.
 */
import { IDENTIFIER_DERIVATION } from '../../search/documents/identifiers.ts'
import { isOutdated } from './index-retention.ts'
import { requestRebuild } from './rebuild-queue.ts'
import { epochOf } from './restore.ts'
import { type IndexState, typesWith, withTypes } from './state.ts'
import { ROWS_MISSING, type TypeIndex } from './type-index.ts'

/**
 * Maximum milliseconds for which an invocation of a replaced function continues: the maximum timeout of Lambda.
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
export const INVOKED_WITHIN = 15 * 60_000

/**
 * Records in `after` that a deployment runs this release, at `now` in ms since 1970. If the previous release may not add the same rows, some of its
 * functions may still write, and rows of every type may be missing. Then it marks every type: after a rollback, the previous release removes the
 * outdated format of an index that it finds lost. A state without a format had no earlier writers. A lost index is not outdated, so a change of the
 * format marks its type in any case.
 */
export function recordFormatChange(before: IndexState, after: IndexState, now: number): IndexState {
  const { extraction, rowFormat } = before
  const rows = rowFormatOf(after.extraction)
  const current = after.rowFormat === rows ? after : { ...after, rowFormat: rows }
  if (extraction === undefined || extraction === after.extraction) return current
  // guard: earlier-writers-without-rows
  if (rowFormat === rowFormatOf(extraction)) return withTypes(current, typesWith(after, 'lost'), withoutRows)
  const { deployedAt: _, ...rest } = withTypes(current, Object.keys(after.types), withoutRows)
  return { ...rest, formatAt: now }
}

const rowFormatOf = (extraction = ''): string => `${IDENTIFIER_DERIVATION} ${extraction}`

/** Records that a deployment has updated all functions that write. */
export const recordDeployed = (state: IndexState, now: number): IndexState =>
  state.formatAt === undefined ? state : { ...state, deployedAt: now }

/**
 * Ends the time in which functions of the previous release may write. `followed`: until when the indexer has followed all versions. It
 * has added the rows of all versions until then. Both in ms since 1970.
 */
export function endDeployment(state: IndexState, followed: number | undefined): IndexState {
  const { formatAt: _, deployedAt: __, ...rest } = state
  const updated = updatedAt(state)
  return updated === undefined || followed === undefined || followed < updated + INVOKED_WITHIN ? state : rest
}

/** When the latest deployment had updated all functions that write. A release that does not know `deployedAt` may have set `formatAt` after it. */
const updatedAt = ({ formatAt, deployedAt }: IndexState): number | undefined =>
  formatAt === undefined || deployedAt === undefined || deployedAt < formatAt ? undefined : deployedAt

/** Records in `after` that indices were lost. An outdated index that is lost is no longer outdated, so its type is marked instead. */
export const recordLosses = (before: IndexState, after: IndexState): IndexState =>
  withTypes(
    after,
    typesWith(after, 'lost').filter((type) => isOutdated(before, type)),
    withoutRows,
  )

const withoutRows = (index: TypeIndex): TypeIndex => (index.listed === ROWS_MISSING ? index : { ...index, listed: ROWS_MISSING })

/**
 * Records that a rebuild has added the rows of all resources of the type, at `now` in ms since 1970. An update during the rebuild hides the previous
 * version from it, and adds no row for an unchanged identifier. The indexer adds such rows. So the rows are complete once it has followed until
 * `now`.
 */
export function recordCompleteRows(state: IndexState, type: string, now: number): IndexState {
  if (areRowsComplete(state, type)) return state
  const complete = withTypes(state, [type], (index) => ({ ...index, listed: epochOf(state) }))
  // The state is that of a deployment that ended then, so endDeployment waits until `now`.
  const at = now - INVOKED_WITHIN
  // guard: rows-of-updates-during-rebuild
  if (state.formatAt === undefined) return { ...complete, formatAt: at, deployedAt: at }
  const updated = updatedAt(state)
  return updated === undefined || updated >= at ? complete : { ...complete, deployedAt: at }
}

/**
 * Whether every identifier of the type's resources has its row. `extraction`: document format of this code. After a restore it is false until
 * the type is rebuilt, because the restored table may be older than the rows.
 */
export function haveIdentifierRows(state: IndexState, type: string, extraction: string): boolean {
  if (state.extraction !== extraction || isOutdated(state, type)) return false
  return !mayLackIdentifierRows(state, type)
}

/** Whether a rebuild has added the rows of the type's resources, or none was needed. */
const areRowsComplete = (state: IndexState, type: string): boolean => (state.types[type]?.listed ?? 0) === epochOf(state)

/**
 * Whether resources of the type may lack rows that their latest writer did not add. Meanwhile the indexer adds the rows of all versions of
 * the type.
 */
export const mayLackIdentifierRows = (state: IndexState, type: string): boolean =>
  state.formatAt !== undefined || !areRowsComplete(state, type)

/**
 * Requests a rebuild for `$reindex`, in the serving indices. A type whose identifier rows may be missing gets a new index instead, because
 * only a rebuild for all tenants completes its rows. Throws like requestRebuild.
 */
export function requestReindex(state: IndexState, tenant: string, types: readonly string[]): IndexState {
  const { true: listed = [], false: others = [] } = Object.groupBy(types, (type) => `${areRowsComplete(state, type)}`)
  return requestRebuild(requestRebuild(state, tenant, others, false), tenant, listed)
}
