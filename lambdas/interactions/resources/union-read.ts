/** Selects the tenant of a read without X-Tenant-Id by a token of several tenants: the only tenant that has the resource. */
import { fhirError } from '../../fhir/outcome.ts'
import { isId } from '../../fhir/resource.ts'
import { DEFAULT_TENANT, type StoredTenants } from '../../ports/store/tenants.ts'
import type { CallerAccess, VisibleStoreOf } from '../visible-store.ts'

/** Maximum tenants in which a read looks for the resource. With more tenants the read is answered 400. */
export const MAX_UNION_TENANTS = 50

/** `hasMoved`: whether several tenants have or had the resource, so that the client may have a version of another tenant. */
export type ReadingTenant = { readonly tenant: string; readonly hasMoved: boolean }

/**
 * Returns the only tenant in which the resource is visible to the caller. If there is none, returns a tenant in which the read is answered
 * 404. `callerIn`: returns the access of the caller in a tenant. Throws FhirError 400 if several tenants show the resource, or if the token
 * opens too many tenants.
 */
export type ReadTenant = (
  named: { readonly type?: string; readonly id?: string },
  tenants: readonly string[] | '*',
  callerIn: (tenant: string) => Promise<CallerAccess>,
) => Promise<ReadingTenant>

export const readTenant =
  ({ resources, stored }: { readonly resources: VisibleStoreOf; readonly stored: StoredTenants }): ReadTenant =>
  async ({ type = '', id = '' }, tenants, callerIn) => {
    const names = tenants === '*' ? await namesIn(stored) : tenants
    // guard: union-tenants-limit
    if (names.length > MAX_UNION_TENANTS)
      throw fhirError(400, 'too-costly', `The token opens more than ${MAX_UNION_TENANTS} tenants: choose one with X-Tenant-Id`)
    const [first = DEFAULT_TENANT] = names
    if (!isId(id)) return { tenant: first, hasMoved: false }
    const versions = await Promise.all(
      names.map(async (tenant) => (await resources(await callerIn(tenant), 'r').current([{ tenant, type, id }]))[0]),
    )
    const having = names.filter((_, i) => versions[i]?.deleted === false)
    // guard: ambiguous-read-chooses-no-tenant
    if (having.length > 1) throw fhirError(400, 'required', `Several tenants of the token have ${type}/${id}: choose one with X-Tenant-Id`)
    const had = names.filter((_, i) => versions[i] !== undefined)
    return { tenant: having[0] ?? had[0] ?? first, hasMoved: had.length > 1 }
  }

/** Returns the stored tenants, at most MAX_UNION_TENANTS + 1. */
async function namesIn(stored: StoredTenants): Promise<readonly string[]> {
  const names: string[] = []
  for await (const tenant of stored.tenants()) if (names.push(tenant) > MAX_UNION_TENANTS) break
  return names
}
