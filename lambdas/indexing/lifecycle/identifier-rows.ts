/**
 * Decides whether every identifier of a type has its row. Writers of an earlier release added none, so a rebuild adds them. Such a release
 * has another document format. So an upgrade from it, and the next upgrade after a rollback to it, request a rebuild. Changes are pure
 * functions.
 */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { isOutdated } from './index-retention.ts'
import { epochOf } from './restore.ts'
import { type IndexState, typesWith, withTypes } from './state.ts'
import type { TypeIndex } from './type-index.ts'

/**
 * Maximum milliseconds from the migration of a deployment until no function of the previous release writes any more. Until then the
 * indexer adds rows too, because a rebuild may have passed the resource already.
 */
const DEPLOYED_WITHIN = 60 * 60_000

/** Takes the place of a restore generation for a type whose rows may be missing. No store has it. */
const NOT_LISTED = -1

/**
 * Records in `after` that a deployment changed the document format. A state without a format had no earlier writers. A lost index is not
 * outdated, so its type is marked instead.
 */
export const recordFormatChange = (before: IndexState, after: IndexState, now: number): IndexState =>
  before.extraction === undefined || before.extraction === after.extraction
    ? after
    : { ...withTypes(after, typesWith(after, 'lost'), withoutRows), formatAt: now }

/** Records in `after` that indices were lost. An outdated index that is lost is no longer outdated, so its type is marked instead. */
export const recordLosses = (before: IndexState, after: IndexState): IndexState =>
  withTypes(
    after,
    typesWith(after, 'lost').filter((type) => isOutdated(before, type)),
    withoutRows,
  )

const withoutRows = (index: TypeIndex): TypeIndex => (index.listed === NOT_LISTED ? index : { ...index, listed: NOT_LISTED })

/** Records that a rebuild has added the rows of all resources of the type. */
export const recordListed = (state: IndexState, type: string): IndexState =>
  withTypes(state, [type], (index) => ({ ...index, listed: epochOf(state) }))

/**
 * Whether every identifier of the type's resources has its row. `extraction`: document format of this code. `now`: ms since 1970. After a
 * restore it is false until the type is rebuilt, because the restored table may be older than the rows.
 */
export function haveIdentifierRows(state: IndexState, type: string, extraction: string, now: number): boolean {
  if (state.extraction !== extraction || isOutdated(state, type) || isDeploying(state, now)) return false
  return (state.types[type]?.listed ?? 0) === epochOf(state)
}

/** Whether a function of the previous release may have written the version. */
export const mayLackIdentifierRows = (state: IndexState, { lastUpdated }: ResourceVersion): boolean => isDeploying(state, lastUpdated)

const isDeploying = ({ formatAt }: IndexState, at: number): boolean => formatAt !== undefined && at < formatAt + DEPLOYED_WITHIN
