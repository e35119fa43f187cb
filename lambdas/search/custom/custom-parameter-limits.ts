/** Limits on custom search parameters. Each is evaluated on every resource of its type and held by every search thread. */
import type { CustomMapping } from '../custom-mapping.ts'

/** Maximum parameters of a tenant on one type: several times as many as R4 has on its largest types. */
const MAX_PER_TYPE = 200
/** Maximum parameters of a tenant. A parameter on every type counts once for each type. */
const MAX_DEFINED = 5_000
/** Maximum fields of all tenants on one type. Each uses some of the 4,000 fields of an OpenSearch index. */
const MAX_FIELDS = 500
/** Maximum parameters of all tenants together. */
const MAX_IN_TOTAL = 20_000

export const TENANT_QUOTA_TEXT = `at most ${MAX_PER_TYPE} on a type, ${MAX_DEFINED} on all types together`

/** Whether the added parameters and the others of the tenant are within its quota. */
export function isWithinTenantQuota(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MAX_DEFINED) return false
  const counts = new Map<string, number>()
  for (const { base } of [...others, ...added]) counts.set(base, (counts.get(base) ?? 0) + 1)
  return added.every(({ base }) => counts.get(base)! <= MAX_PER_TYPE)
}

/** Whether the added parameters and those of all tenants are within the total capacity. One tenant's quota cannot fill it. */
export function isWithinTotalCapacity(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MAX_IN_TOTAL) return false
  return added.every(({ base }) => {
    const fields = new Set([...others, ...added].flatMap((each) => (each.base === base ? [each.field] : [])))
    return fields.size <= MAX_FIELDS
  })
}
