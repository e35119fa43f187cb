/**
 * Limits on custom search parameters, because each is evaluated on every resource of its type and held in memory by every search thread.
 */
import type { CustomMapping } from '../custom-mapping.ts'
import type { ParameterType } from '../parameters.ts'
import { SEARCH_TYPES } from '../types/search-types.ts'

/** Maximum parameters of a tenant on one type: several times as many as R4 has on any type. A definition beyond it is rejected. */
const MAX_PER_TYPE = 200
/** Maximum parameters of a tenant. A parameter counts once for each of its types. A definition beyond it is rejected. */
const MAX_DEFINED = 5_000
/**
 * Maximum index fields of all custom parameters of all tenants on one type. A definition beyond it is rejected. An index has at most
 * MAX_INDEX_FIELDS, and rejects documents beyond them. R4 parameters use up to 300. The rest is for fields of changed and removed
 * parameters, which stay in an index until its next rebuild.
 */
export const MAX_CUSTOM_FIELDS = 3_000
/** Maximum parameters of all tenants together, each counted once per type. A definition beyond it is rejected. */
const MAX_IN_TOTAL = 20_000

export const TENANT_QUOTA_TEXT = `at most ${MAX_PER_TYPE} on a type, ${MAX_DEFINED} on all types together`

/** Custom parameter on one type, as far as it uses capacity. Parameters with the same `field` on a type share their index fields. */
export type CapacityUser = Pick<CustomMapping, 'base' | 'field' | 'type'>

/** Whether the tenant stays within its quota with the added parameters. `others`: its other parameters. */
export function isWithinTenantQuota(added: readonly CapacityUser[], others: readonly CapacityUser[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MAX_DEFINED) return false
  const counts = new Map<string, number>()
  for (const { base } of [...others, ...added]) counts.set(base, (counts.get(base) ?? 0) + 1)
  return added.every(({ base }) => counts.get(base)! <= MAX_PER_TYPE)
}

/**
 * Returns why the added parameters exceed the capacity that all tenants share, and how much of it is left. Returns undefined if they stay
 * within it. `others`: parameters of all tenants.
 */
export function findExceededCapacity(added: readonly CapacityUser[], others: readonly CapacityUser[]): string | undefined {
  if (added.length === 0) return undefined
  const free = Math.max(0, MAX_IN_TOTAL - others.length)
  if (added.length > free)
    return `The definition adds ${added.length} parameters, one for each type. ${free} of ${MAX_IN_TOTAL} are left for all tenants together`
  const byType = Map.groupBy(others, ({ base }) => base)
  for (const [base, more] of Map.groupBy(added, (each) => each.base)) {
    const before = byType.get(base) ?? []
    const used = maxFieldsOf(before)
    const needed = maxFieldsOf([...before, ...more]) - used
    const left = Math.max(0, MAX_CUSTOM_FIELDS - used)
    if (needed > left)
      return `The parameter needs ${needed} index fields on ${base}. ${left} of ${MAX_CUSTOM_FIELDS} are left for all tenants together`
  }
  return undefined
}

export const isWithinTotalCapacity = (added: readonly CapacityUser[], others: readonly CapacityUser[]): boolean =>
  findExceededCapacity(added, others) === undefined

/** Returns the maximum index fields of parameters on one type. */
function maxFieldsOf(parameters: readonly CapacityUser[]): number {
  const types = new Map(parameters.map(({ field, type }) => [field, type]))
  return [...types.values()].reduce((sum, type) => sum + (SEARCH_TYPES[type as ParameterType]?.maxFields ?? 0), 0)
}
