/**
 * Definitions of the shared tenant, which every tenant reads and finds in addition to its own. A visible definition of the tenant replaces
 * the shared one of the same type and id. A hidden or deleted one counts as missing. Only reads and searches of a tenant reach the shared
 * tenant: writes, versions, histories and exports concern the tenant of the request alone.
 */
import type { ResourceKey, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { RequestContext } from '../interaction.ts'

/** Shared types. SearchParameters are not shared, because the index of each tenant depends on its own. */
export const SHARED_TYPES: ReadonlySet<string> = new Set([
  ...['StructureDefinition', 'ValueSet', 'CodeSystem', 'ConceptMap'],
  ...['CapabilityStatement', 'ImplementationGuide'],
])

type TenantOfRequest = Pick<RequestContext, 'tenant' | 'sharedTenant'>

/** Returns the shared tenant, or undefined if the server has none or if it is the tenant of the request. */
export const sharedTenantOf = ({ tenant, sharedTenant }: TenantOfRequest): string | undefined =>
  sharedTenant === '' || sharedTenant === tenant ? undefined : sharedTenant

/** Returns a reader of current versions. If the tenant lacks a definition, it returns the shared one. */
export function withSharedDefinitions(
  request: TenantOfRequest,
  { current }: Pick<ResourceReader, 'current'>,
): Pick<ResourceReader, 'current'> {
  const tenant = sharedTenantOf(request)
  if (tenant === undefined) return { current }
  return {
    async current(keys, room) {
      const own = await current(keys, room)
      // guard: shared-tenant-shares-definitions-only
      const missing = own.flatMap((version, i) => (isThere(version) || !SHARED_TYPES.has(keys[i]!.type) ? [] : [i]))
      if (missing.length === 0) return own
      const shared = await current(
        missing.map((i) => ({ ...keys[i]!, tenant })),
        room,
      )
      const found = [...own]
      for (const [at, version] of shared.entries()) if (isThere(version)) found[missing[at]!] = version
      // The second read may also end early.
      return shared.length < missing.length ? found.slice(0, missing[shared.length]) : found
    },
  }
}

/**
 * Whether the tenant and the shared tenant both have a definition of this type and id, deleted or not. Their versions and times are then
 * independent of each other, and a read may have shown either.
 */
export async function isInBothTenants(
  request: TenantOfRequest,
  { current }: Pick<ResourceReader, 'current'>,
  { type, id }: Pick<ResourceKey, 'type' | 'id'>,
): Promise<boolean> {
  const shared = sharedTenantOf(request)
  if (shared === undefined || !SHARED_TYPES.has(type)) return false
  return !(await current([request.tenant, shared].map((tenant) => ({ tenant, type, id })))).includes(undefined)
}

const isThere = (version: ResourceVersion | undefined): version is ResourceVersion => version !== undefined && !version.deleted
