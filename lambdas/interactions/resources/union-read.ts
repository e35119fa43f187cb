/** Reads of a token that opens several tenants, without X-Tenant-Id: the tenant that has the resource answers. */
import { fhirError } from '../../fhir/outcome.ts'
import { isId } from '../../fhir/resource.ts'
import { DEFAULT_TENANT, type StoredTenants } from '../../ports/store/tenants.ts'
import type { CallerAccess, VisibleStoreOf } from '../visible-store.ts'

/** Maximum tenants that a read looks into. With more it is answered 400. */
export const MAX_UNION_TENANTS = 50

/**
 * Returns the tenant that answers the read. `callerIn`: returns the access of the caller in a tenant. Throws FhirError 400 if several
 * tenants show the resource to the caller, or if there are too many tenants. If none shows it, returns one that answers 404.
 */
export type ReadTenant = (
  named: { readonly type?: string; readonly id?: string },
  tenants: readonly string[] | '*',
  callerIn: (tenant: string) => Promise<CallerAccess>,
) => Promise<string>

export const readTenant =
  ({ resources, stored }: { readonly resources: VisibleStoreOf; readonly stored: StoredTenants }): ReadTenant =>
  async ({ type = '', id = '' }, tenants, callerIn) => {
    const names = tenants === '*' ? await namesIn(stored) : tenants
    // guard: union-tenants-limit
    if (names.length > MAX_UNION_TENANTS)
      throw fhirError(400, 'too-costly', `The token opens more than ${MAX_UNION_TENANTS} tenants: choose one with X-Tenant-Id`)
    const [first = DEFAULT_TENANT] = names
    if (!isId(id)) return first
    const versions = await Promise.all(
      names.map(async (tenant) => (await resources(await callerIn(tenant), 'r').current([{ tenant, type, id }]))[0]),
    )
    const having = names.filter((_, i) => versions[i]?.deleted === false)
    // guard: ambiguous-read-chooses-no-tenant
    if (having.length > 1) throw fhirError(400, 'required', `Several tenants of the token have ${type}/${id}: choose one with X-Tenant-Id`)
    return having[0] ?? names[versions.findIndex((version) => version !== undefined)] ?? first
  }

/** Returns the tenants of the store, at most one more than the limit. */
async function namesIn(stored: StoredTenants): Promise<readonly string[]> {
  const names: string[] = []
  for await (const tenant of stored.tenants()) if (names.push(tenant) > MAX_UNION_TENANTS) break
  return names
}
