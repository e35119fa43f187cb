/** Makes the documents of a type again, a slice at a time, while the index is searched and follows its store. */
import { and, type HitPosition, type Plan, type Predicate } from '../ports/search/plan.ts'
import type { HitPage } from '../ports/search/search-index.ts'
import type { ResourceVersion, VersionKey } from '../ports/store/resource-store.ts'
import type { Rebuild } from './custom-definitions.ts'
import { isHeavy } from './feed/indexing.ts'

export type RebuiltIndex = { readonly findNow: (plan: Plan) => HitPage }

/** How far it has come, and where it goes on; `after` absent: it is done. */
export type RebuildProgress = { readonly rebuild: Rebuild; readonly after?: HitPosition }

/** The versions whose documents are to be made again, and how far it has come when they are. */
export type RebuildSlice = { readonly versions: readonly ResourceVersion[]; readonly progress: RebuildProgress }

/** Up to `limit` of them, fewer where they are heavy. `where`: of the documents of the type only these. */
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
  return { versions, progress }
}
