/**
 * Definitions of the shared tenant, which every tenant reads and finds in addition to its own. A visible definition of the tenant replaces
 * the shared one of the same type and id. A hidden or deleted one counts as missing. Versions and the history of a definition are those of
 * the shared one only if the tenant never had one. Writes, exports, and histories of a type or the system concern the tenant of the
 * request alone.
 */
import type { ResourceKey, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, RequestContext } from '../interaction.ts'

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
 * Returns the key whose versions a read of a version and a history show: that of the shared definition, if the tenant neither has nor had
 * one.
 */
export async function versionedKeyOf(
  request: TenantOfRequest,
  { current }: Pick<ResourceReader, 'current'>,
  key: ResourceKey,
): Promise<ResourceKey> {
  const tenant = sharedTenantOf(request)
  // guard: versions-of-shared-definitions-only
  if (tenant === undefined || !SHARED_TYPES.has(key.type)) return key
  const [own] = await current([key])
  return own === undefined ? { ...key, tenant } : key
}

/** Returns the end of an error about a resource that a write does not find, although a read may show the shared definition. */
export const writeScopeNoteOf = (request: TenantOfRequest, { type }: Pick<ResourceKey, 'type'>): string =>
  sharedTenantOf(request) !== undefined && SHARED_TYPES.has(type) ? ' in this tenant. Its writes never change shared definitions' : ''

/**
 * Returns the request without If-None-Match and If-Modified-Since if the tenant and the shared tenant both have a definition of this type
 * and id, deleted or not. Their versions and times are then independent of each other, and the client may have the other one.
 */
export async function withoutAmbiguousPreconditions(
  request: FhirRequest,
  { current }: Pick<ResourceReader, 'current'>,
  { type, id }: Pick<ResourceKey, 'type' | 'id'>,
): Promise<FhirRequest> {
  const { ifModifiedSince, ifNoneMatch, ...unconditional } = request.preconditions
  const shared = sharedTenantOf(request)
  if ((ifModifiedSince ?? ifNoneMatch) === undefined || shared === undefined || !SHARED_TYPES.has(type)) return request
  const both = await current([request.tenant, shared].map((tenant) => ({ tenant, type, id })))
  // guard: version-of-one-tenant
  if (!both.includes(undefined)) return { ...request, preconditions: unconditional }
  return request
}

const isThere = (version: ResourceVersion | undefined): version is ResourceVersion => version !== undefined && !version.deleted
