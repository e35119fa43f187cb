/** How many search parameters somebody may define: each is evaluated on every resource of its type, and known to every thread that searches. */
import type { CustomMapping } from '../custom-mapping.ts'

/** Of a tenant. Several times what R4 has on its largest types. */
const MOST_OF_TYPE = 200
/** A parameter on every type counts as many times as there are types. */
const MOST_DEFINED = 5_000
/** Of all tenants: fields of a type, each of which takes some of the 4,000 an index of OpenSearch has for all. */
const MOST_FIELDS = 500
const MOST_IN_ALL = 20_000

export const TENANT_QUOTA_TEXT = `at most ${MOST_OF_TYPE} on a type, ${MOST_DEFINED} on all types together`

/** Whether a tenant has room for what it adds beside its others. */
export function isWithinTenantQuota(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MOST_DEFINED) return false
  const counts = new Map<string, number>()
  for (const { base } of [...others, ...added]) counts.set(base, (counts.get(base) ?? 0) + 1)
  return added.every(({ base }) => counts.get(base)! <= MOST_OF_TYPE)
}

/** Whether there is room beside those of all tenants: what one of them alone may define never fills it. */
export function isWithinTotalCapacity(added: readonly CustomMapping[], others: readonly CustomMapping[]): boolean {
  if (added.length === 0) return true
  if (others.length + added.length > MOST_IN_ALL) return false
  return added.every(({ base }) => {
    const fields = new Set([...others, ...added].flatMap((each) => (each.base === base ? [each.field] : [])))
    return fields.size <= MOST_FIELDS
  })
}
