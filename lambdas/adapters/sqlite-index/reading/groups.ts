/** Groups matches by their keys, which are read from the forward entry of each match. */
import { MachineFault } from '../../../ports/faults.ts'
import { comparePositions, compareText, type GroupPlan, type GroupPosition, MAX_GROUPS, type SortKey } from '../../../ports/search/plan.ts'
import type { GroupPage, Hit, HitGroup } from '../../../ports/search/search-index.ts'
import { keyFieldsOf } from '../forward-entry.ts'
import { explicitGroupKeys, keysIn } from '../forward-keys.ts'
import { ID_FIELD } from '../schema.ts'
import type { KindNumbers } from './compile-plan.ts'

/** Matching document. `entry`: JSON of its forward entry. `numbers`: field numbers of its kind. */
export type Match = { readonly hit: Hit; readonly entry: string; readonly numbers: KindNumbers }

type Growing = { readonly key: string; size: number; hits: Hit[] }

export function groupsOf(matches: Iterable<Match>, plan: GroupPlan): GroupPage {
  const groups = new Map<string, Growing>()
  let total = 0
  for (const match of matches) {
    total++
    for (const key of groupKeys(match, plan.field)) grow(groups, key, match.hit, plan)
    if (groups.size > MAX_GROUPS) throw new MachineFault('too-many-groups', `more than ${MAX_GROUPS} groups`)
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

function groupKeys(match: Match, name: string): readonly string[] {
  const own = explicitGroupKeys(match.entry, match.numbers.field(name))
  if (own !== undefined) return own
  for (const source of keyFieldsOf(name)) {
    const keys = keysOf(match, source)
    if (keys.length > 0) return keys
  }
  return []
}

export const keysOf = ({ hit, entry, numbers }: Match, name: string): readonly string[] =>
  name === ID_FIELD ? [hit.id] : keysIn(entry, numbers.combinations(name))
