/**
 * Index for the searches of a tenant that also finds the definitions of the shared tenant. It executes each search in both tenants and
 * merges the results, so sorting, paging and totals work as in one index. A visible definition of the tenant replaces the shared one of the
 * same type and id, whether or not it matches.
 */
import { fhirError } from '../../fhir/outcome.ts'
import {
  and,
  comparePositions,
  compareText,
  fieldsOf,
  type GroupPlan,
  type GroupPosition,
  isAlwaysTrue,
  not,
  type Predicate,
  ruleOf,
  rulesOf,
  type SearchSubject,
} from '../../ports/search/plan.ts'
import type { Hit, HitGroup, Searches } from '../../ports/search/search-index.ts'
import { ID_FIELD } from '../../search/query/condition.ts'
import type { FhirRequest } from '../interaction.ts'
import { SHARED_TYPES, sharedTenantOf } from '../resources/shared-definitions.ts'

/** Maximum shared definitions of a type that a search may match. A search with more is answered 403. */
const MAX_SHARED = 65_535
/** Groups per read when all groups are read. */
const GROUPS = 1_000

export function sharedIndex(index: Searches, request: Pick<FhirRequest, 'tenant' | 'sharedTenant' | 'reading'>): Searches {
  const tenant = sharedTenantOf(request)
  if (tenant === undefined) return index
  const ownFields = (request.reading.custom ?? []).flatMap((each) => (each.tenant === undefined ? [] : [each.field]))
  /** Returns the plan for the shared tenant, or undefined if the search can find no shared definition. */
  const sharedPlanOf = async <Asked extends SearchSubject>(plan: Asked): Promise<Asked | undefined> => {
    // guard: shared-search-finds-definitions-only
    const possible = plan.types.filter((type) => SHARED_TYPES.has(type))
    if (possible.length === 0 || usesField(plan, ownFields)) return undefined
    const rules = await Promise.all(possible.map(async (type) => [type, await sharedRuleOf(index, plan, type, tenant)] as const))
    const found = rules.filter((each): each is readonly [string, Predicate] => each[1] !== undefined)
    return found.length === 0 ? undefined : { ...plan, tenant, types: found.map(([type]) => type), access: Object.fromEntries(found) }
  }
  const toShared = (hit: Hit): Hit => ({ ...hit, tenant })
  return {
    async find(plan) {
      const shared = await sharedPlanOf(plan)
      if (shared === undefined) return index.find(plan)
      const { skip = 0, limit, order } = plan
      const end = limit === 0 ? 0 : skip + limit
      const [own, others] = await Promise.all([plan, shared].map(({ skip: _, ...each }) => index.find({ ...each, limit: end })))
      const hits = inOrder([...own!.hits, ...others!.hits.map(toShared)], order)
      const more = limit > 0 && (hits.length > end || own!.more || others!.more)
      const total = own!.total === undefined || others!.total === undefined ? {} : { total: own!.total + others!.total }
      return { hits: hits.slice(skip, end), more, ...total }
    },
    async groups(plan) {
      const shared = await sharedPlanOf(plan)
      if (shared === undefined) return index.groups(plan)
      const [own, others] = await Promise.all([allGroups(index, plan), allGroups(index, shared)])
      const groups = mergeGroups(
        plan,
        own.groups,
        others.groups.map((group) => ({ ...group, hits: group.hits.map(toShared) })),
      )
      const { skip = 0, limit, after } = plan
      const start =
        skip + (after === undefined ? 0 : groups.findLastIndex((group) => compareGroups(positionOf(group), after, plan) <= 0) + 1)
      return { groups: groups.slice(start, start + limit), more: groups.length > start + limit, total: own.total + others.total }
    },
    async distinct(matching, field, limit) {
      const shared = await sharedPlanOf({ ...matching, field })
      const own = await index.distinct(matching, field, limit)
      if (shared === undefined) return own
      const { field: _, ...others } = shared
      return [...new Set([...own, ...(await index.distinct(others, field, limit))])].slice(0, limit)
    },
    async explain(plan) {
      const shared = await sharedPlanOf(plan)
      return [...(await index.explain(plan)), ...(shared === undefined ? [] : await index.explain(shared))]
    },
  }
}

/** Whether the search depends on one of the fields. */
function usesField(subject: SearchSubject, fields: readonly string[]): boolean {
  if (fields.length === 0) return false
  const { where, order = [], field } = subject
  const used = [
    ...[where, ...rulesOf(subject)].flatMap(fieldsOf),
    ...order.map((key) => key.field),
    ...(field === undefined ? [] : [field]),
  ]
  return used.some((each) => fields.some((own) => each === own || each.startsWith(`${own}:`)))
}

/**
 * Returns the predicate of the visible shared definitions of a type that no visible definition of the tenant replaces. Returns undefined if
 * no shared definition matches.
 */
async function sharedRuleOf(
  index: Pick<Searches, 'distinct'>,
  { eventual, budget, ...plan }: SearchSubject & { readonly eventual?: true; readonly budget?: number },
  type: string,
  tenant: string,
): Promise<Predicate | undefined> {
  const { where, access } = plan
  const freshness = { ...(eventual === undefined ? {} : { eventual }), ...(budget === undefined ? {} : { budget }) }
  const about = { types: [type], access, ...freshness }
  const ids = await index.distinct({ ...about, tenant, where }, ID_FIELD, MAX_SHARED + 1)
  if (ids.length === 0) return undefined
  if (ids.length > MAX_SHARED)
    throw fhirError(403, 'too-costly', `More than ${MAX_SHARED} shared definitions of type ${type} match. Narrow the search`)
  const replaced = await index.distinct({ ...about, tenant: plan.tenant, where: idOneOf(ids) }, ID_FIELD, ids.length)
  const rule = ruleOf(access, type)
  if (replaced.length === 0) return rule
  // guard: own-definition-replaces-shared
  const others = not(idOneOf(replaced))
  return isAlwaysTrue(rule) ? others : and(rule, others)
}

const idOneOf = (oneOf: readonly string[]): Predicate => ({ kind: 'key', field: ID_FIELD, oneOf })

const inOrder = (hits: readonly Hit[], order: GroupPlan['order']): readonly Hit[] =>
  hits.toSorted((a, b) => comparePositions(a.position, b.position, order))

/** Returns all groups of a plan, and their total. */
async function allGroups(
  index: Pick<Searches, 'groups'>,
  { skip: _, after: __, ...plan }: GroupPlan,
): Promise<{ readonly groups: readonly HitGroup[]; readonly total: number }> {
  const groups: HitGroup[] = []
  for (;;) {
    const last = groups.at(-1)
    const page = await index.groups({ ...plan, limit: GROUPS, ...(last === undefined ? {} : { after: positionOf(last) }) })
    groups.push(...page.groups)
    if (!page.more) return { groups, total: page.total }
  }
}

const positionOf = ({ key, hits }: HitGroup): GroupPosition => ({ position: hits[0]!.position, key })

const compareGroups = (a: GroupPosition, b: GroupPosition, { order }: GroupPlan): number =>
  comparePositions(a.position, b.position, order) || compareText(a.key, b.key)

/** Joins the groups with the same key, and sorts all by their first hits. */
function mergeGroups(plan: GroupPlan, ...lists: readonly (readonly HitGroup[])[]): readonly HitGroup[] {
  const merged = new Map<string, HitGroup>()
  for (const group of lists.flat()) {
    const known = merged.get(group.key)
    const both = { ...group, size: group.size + (known?.size ?? 0), hits: [...(known?.hits ?? []), ...group.hits] }
    merged.set(group.key, known === undefined ? group : { ...both, hits: inOrder(both.hits, plan.order).slice(0, plan.hits) })
  }
  return [...merged.values()].toSorted((a, b) => compareGroups(positionOf(a), positionOf(b), plan))
}
