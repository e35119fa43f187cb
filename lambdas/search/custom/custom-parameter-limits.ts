/**
 * Limits on custom search parameters, because each is evaluated on every resource of its type and held in memory by every search thread.
 */
import type { CustomMapping } from '../custom-mapping.ts'

/** Maximum parameters of a tenant on one type: several times as many as R4 has on any type. A definition beyond it is rejected. */
const MAX_PER_TYPE = 200
/** Maximum parameters of a tenant. A parameter counts once for each of its types. A definition beyond it is rejected. */
const MAX_DEFINED = 5_000
/**
 * Maximum index fields of all tenants on one type. A definition beyond it is stored, but has no effect. Each parameter uses several of the
 * 4,000 fields of an OpenSearch index.
 */
const MAX_FIELDS = 500
/** Maximum parameters of all tenants together, each counted once per type. A definition beyond it is stored, but has no effect. */
const MAX_IN_TOTAL = 20_000

export const TENANT_QUOTA_TEXT = `at most ${MAX_PER_TYPE} on a type, ${MAX_DEFINED} on all types together`

/** Whether the tenant stays within its quota with the added parameters. `others`: its other parameters. */
export function isWithinTenantQuota(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MAX_DEFINED) return false
  const counts = new Map<string, number>()
  for (const { base } of [...others, ...added]) counts.set(base, (counts.get(base) ?? 0) + 1)
  return added.every(({ base }) => counts.get(base)! <= MAX_PER_TYPE)
}

/**
 * Whether the server stays within its total capacity with the added parameters. `others`: those of all tenants. The quota of one tenant
 * cannot use up the capacity.
 */
export function isWithinTotalCapacity(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MAX_IN_TOTAL) return false
  return added.every(({ base }) => {
    const fields = new Set([...others, ...added].flatMap((each) => (each.base === base ? [each.field] : [])))
    return fields.size <= MAX_FIELDS
  })
}
