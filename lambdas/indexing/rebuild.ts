/** Makes the documents of a type again, a slice at a time, while the index is searched and follows its store. */

import type { ResourceVersion, VersionKey } from '../ports/resource-store.ts'
import type { HitPage, IndexDocument } from '../ports/search-index.ts'
import { all, type Plan, type Position } from '../search/plan.ts'
import type { Rebuild } from './custom-definitions.ts'

export type RebuiltIndex = {
  readonly findNow: (plan: Plan) => HitPage
  /** `again`: also where the index has that version already. */
  readonly applyNow: (documents: readonly IndexDocument[], options: { readonly again: boolean }) => void
}

/** How far it has come, and where it goes on; `after` absent: it is done. */
export type Progress = { readonly rebuild: Rebuild; readonly after?: Position }

/** The versions whose documents are to be made again, and how far it has come when they are. */
export type Slice = { readonly versions: readonly ResourceVersion[]; readonly progress: Progress }

/** Up to `limit` of them. */
export function sliceAfter(
  index: RebuiltIndex,
  { rebuild, after }: Progress,
  limit: number,
  versionOf: (key: VersionKey) => ResourceVersion | undefined,
): Slice {
  const { tenant, type, done } = rebuild
  const plan: Plan = {
    tenant,
    types: [type],
    where: all(),
    access: 'everything',
    order: [],
    limit,
    total: rebuild.total < 0 ? 'accurate' : 'none',
    ...(after === undefined ? {} : { after }),
  }
  const { hits, more, total = rebuild.total } = index.findNow(plan)
  const versions = hits.flatMap(({ id, version }) => versionOf({ tenant, type, id, versionId: version }) ?? [])
  const last = hits.at(-1)
  const progress = {
    rebuild: { ...rebuild, done: done + hits.length, total },
    ...(more && last !== undefined ? { after: last.position } : {}),
  }
  return { versions, progress }
}
