/** Groups matches by keys that the caller supplies. */
import { MachineFault } from '../../../ports/faults.ts'
import { comparePositions, compareText, type GroupPlan, type GroupPosition, MAX_GROUPS, type SortKey } from '../../../ports/search/plan.ts'
import type { GroupPage, Hit, HitGroup } from '../../../ports/search/search-index.ts'

/** Match with the keys of its groups. */
export type KeyedHit = { readonly hit: Hit; readonly keys: readonly string[] }

type Growing = { readonly key: string; size: number; hits: Hit[] }

/** Returns a page of the groups of the matches. Throws the fault `too-many-groups` for more than MAX_GROUPS groups. */
export function groupsOf(matches: Iterable<KeyedHit>, plan: GroupPlan): GroupPage {
  const groups = new Map<string, Growing>()
  let total = 0
  for (const { hit, keys } of matches) {
    total++
    for (const key of keys) grow(groups, key, hit, plan)
    checkGroupCount(groups.size)
  }
  const order = (a: GroupPosition, b: GroupPosition): number => compareGroups(a, b, plan.order)
  const sorted = [...groups.values()]
    .map((group) => ({ group, at: { position: group.hits[0]!.position, key: group.key } }))
    .filter(({ at }) => plan.after === undefined || order(at, plan.after) > 0)
    .sort((a, b) => order(a.at, b.at))
  const skip = plan.skip ?? 0
  return {
    groups: sorted.slice(skip, skip + plan.limit).map(({ group: { key, size, hits } }): HitGroup => ({ key, size, hits })),
    more: sorted.length > skip + plan.limit,
    total,
  }
}

/** Throws the fault `too-many-groups` for more than MAX_GROUPS groups. */
export function checkGroupCount(groups: number): void {
  if (groups > MAX_GROUPS) throw new MachineFault('too-many-groups', `more than ${MAX_GROUPS} groups`)
}

function grow(groups: Map<string, Growing>, key: string, hit: Hit, { hits: most, order }: GroupPlan): void {
  const group = groups.get(key)
  if (group === undefined) return void groups.set(key, { key, size: 1, hits: [hit] })
  group.size++
  const { hits } = group
  if (hits.length === most && comparePositions(hit.position, hits.at(-1)!.position, order) > 0) return
  let at = hits.length
  while (at > 0 && comparePositions(hit.position, hits[at - 1]!.position, order) < 0) at--
  hits.splice(at, 0, hit)
  if (hits.length > most) hits.pop()
}

const compareGroups = (a: GroupPosition, b: GroupPosition, order: readonly SortKey[]): number =>
  comparePositions(a.position, b.position, order) || compareText(a.key, b.key)
