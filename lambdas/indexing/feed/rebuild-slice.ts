/** Reads the slices in which the documents of a type are rebuilt, while the index answers searches and follows its store. */
import { and, type HitPosition, type Plan, type Predicate } from '../../ports/search/plan.ts'
import type { HitPage } from '../../ports/search/search-index.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import type { Rebuild } from '../custom-definitions.ts'
import { isHeavy } from './indexing.ts'

export type RebuiltIndex = { readonly findNow: (plan: Plan) => HitPage }

/**
 * Progress of a rebuild. `after`: position after which it continues. Absent at the start, and in the progress after the last slice.
 * `within`: of a rebuild for all tenants, the number of tenants that are done, and the progress within the next one.
 */
export type RebuildProgress = {
  readonly rebuild: Rebuild
  readonly after?: HitPosition
  readonly within?: { readonly tenants: number; readonly progress: RebuildProgress }
}

/** Versions to index again. `progress`: progress of the rebuild after these versions. `isLast`: whether no version follows them. */
export type RebuildSlice = { readonly versions: readonly ResourceVersion[]; readonly progress: RebuildProgress; readonly isLast: boolean }

/**
 * Reads the next slice of at most `limit` versions. A slice ends earlier once its resources exceed the bytes of a batch. `where`: limits
 * the rebuild to matching documents.
 */
export function readRebuildSlice(
  index: RebuiltIndex,
  { rebuild, after }: RebuildProgress,
  limit: number,
  versionOf: (key: VersionKey) => ResourceVersion | undefined,
  where: Predicate = and(),
): RebuildSlice {
  const { tenant, type, done } = rebuild
  const plan: Plan = {
    tenant,
    types: [type],
    where,
    access: 'everything',
    order: [],
    limit,
    total: rebuild.total < 0 ? 'accurate' : 'none',
    ...(after === undefined ? {} : { after }),
  }
  const { hits, more, total = rebuild.total } = index.findNow(plan)
  const versions: ResourceVersion[] = []
  let taken = 0
  for (let weight = 0; taken < hits.length && !isHeavy(weight); taken++) {
    const { id, version: versionId } = hits[taken]!
    const version = versionOf({ tenant, type, id, versionId })
    if (version === undefined) continue
    versions.push(version)
    weight += version.body.length
  }
  const last = hits[taken - 1]
  const progress = {
    rebuild: { ...rebuild, done: done + taken, total },
    ...((more || taken < hits.length) && last !== undefined ? { after: last.position } : {}),
  }
  return { versions, progress, isLast: progress.after === undefined }
}

/** Progress of a rebuild for all tenants that each tenant adds. */
const SHARE = 100

/**
 * Reads the next slice of a rebuild for all tenants, one tenant after the other. `tenants`: tenants that the rebuild covers, in a fixed
 * order. `done` and `total` of the rebuild count SHARE for each tenant.
 */
export function readSharedRebuildSlice(
  index: RebuiltIndex,
  { rebuild, within }: RebuildProgress,
  limit: number,
  versionOf: (key: VersionKey) => ResourceVersion | undefined,
  tenants: readonly string[],
): RebuildSlice {
  const { tenants: done, progress } = within ?? startOf(rebuild, tenants, 0)
  const total = SHARE * tenants.length
  if (tenants[done] === undefined) return { versions: [], progress: { rebuild: { ...rebuild, done: total, total } }, isLast: true }
  const { versions, progress: after, isLast: isTenantDone } = readRebuildSlice(index, progress, limit, versionOf)
  const share = isTenantDone ? SHARE : Math.floor((SHARE * after.rebuild.done) / Math.max(1, after.rebuild.total, after.rebuild.done))
  const next = isTenantDone ? startOf(rebuild, tenants, done + 1) : { tenants: done, progress: after }
  return {
    versions,
    progress: { rebuild: { ...rebuild, done: SHARE * done + share, total }, within: next },
    isLast: next.tenants >= tenants.length,
  }
}

const startOf = ({ type }: Rebuild, tenants: readonly string[], at: number): NonNullable<RebuildProgress['within']> => ({
  tenants: at,
  progress: { rebuild: { tenant: tenants[at] ?? '', type, done: 0, total: -1 } },
})
