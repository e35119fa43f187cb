/**
 * Lists the profiles of a tenant, with those of the shared tenant, for its CapabilityStatement.
 * https://hl7.org/fhir/R4/profiling.html#CapabilityStatement
 */

import { splitCanonical } from '../../fhir/profile/canonical.ts'
import { LruCache } from '../../fhir/profile/definitions/lru-cache.ts'
import { MAX_CANONICAL_LENGTH } from '../../fhir/profile/definitions/missing-definitions.ts'
import type { Canonicals } from '../../ports/definitions/canonicals.ts'
import type { Conformance } from '../../ports/definitions/conformance.ts'
import { isFault } from '../../ports/faults.ts'
import type { ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { ProfilesByType } from '../interaction.ts'
import { yieldNow } from '../time-slices.ts'
import { parseDefinition, type TenantDefinition } from './definition-reader.ts'
import { compareDefinitions } from './tenant-definitions.ts'

export type TenantProfilesParts = {
  readonly packages: Pick<Conformance, 'profile' | 'state'>
  readonly canonicals: Pick<Canonicals, 'state'>
  readonly resources: Pick<ResourceReader, 'scan'>
  /** Tenant with profiles for all tenants. Absent or empty: no shared tenant. */
  readonly sharedTenant?: string
  /** Logs in one line which data cannot be read and is left out. */
  readonly warn: (line: string) => void
}

type ProfilesOf = (tenant: string) => Promise<ProfilesByType>

/** Summary of a definition. `type`: type that the profile constrains; undefined: it takes no part in validation. */
type Told = Pick<TenantDefinition, 'version' | 'isRetired' | 'lastUpdated'> & { readonly url: string; readonly type: string | undefined }

type Listed = { readonly state: string; readonly profiles: Promise<ProfilesByType> }

const NONE: ProfilesByType = new Map()

/** Maximum definitions of a list, in the order of the scan. Further ones are left out. */
const MOST = 500
/** Maximum bytes of the bodies of these definitions. Further ones are left out. */
const MOST_BYTES = 50_000_000
/** Versions of one page of the scan. */
const PAGE = 100
/** Maximum pages of the scan. Definitions on further pages are left out. */
const MOST_PAGES = 20

/** Maximum bytes of the cached summaries, and of the cached lists. */
const MOST_KEPT = 8_000_000
/** Bytes that count for each cache entry and each canonical, in addition to its characters. */
const LEAST = 200

/**
 * Returns a lookup that caches lists and summaries. It creates the list of a tenant again at the first request after its definitions or the
 * packages changed.
 */
export function tenantProfiles({ packages, canonicals, resources, sharedTenant = '', warn }: TenantProfilesParts): ProfilesOf {
  const lists = new LruCache<Listed>(MOST_KEPT)
  const told = new LruCache<Told>(MOST_KEPT)

  const toldOf = async (version: ResourceVersion): Promise<Told> => {
    const { tenant, id, versionId } = version
    // guard: cached-profile-of-tenant
    const name = JSON.stringify([tenant, id, versionId])
    const known = told.get(name)
    if (known !== undefined) return known
    await yieldNow()
    const made = toldIn(version)
    told.set(name, made, LEAST + made.url.length)
    return made
  }

  /**
   * Lists the profiles. If several definitions have the same canonical URL, the one with precedence decides. Leaves out retired ones and
   * canonicals that packages define.
   */
  const profilesNow = async (tenant: string): Promise<ProfilesByType> => {
    const counting = new Map<string, Told>()
    for await (const version of lastWritten(resources, tenant, warn)) {
      const each = await toldOf(version)
      const other = counting.get(each.url)
      if (other === undefined || compareDefinitions(each, other) < 0) counting.set(each.url, each)
    }
    const profiles = new Map<string, Set<string>>()
    for (const { url, type, isRetired } of counting.values())
      if (type !== undefined && !isRetired && (await packages.profile(url)) === undefined)
        profiles.set(type, (profiles.get(type) ?? new Set()).add(url))
    return profiles
  }

  const listed = (tenant: string, state: string): Promise<ProfilesByType> => {
    const known = lists.get(tenant)
    if (known?.state === state) return known.profiles
    const list = { state, profiles: profilesNow(tenant) }
    lists.set(tenant, list, LEAST)
    const isLast = (): boolean => lists.get(tenant) === list
    list.profiles.then(
      (profiles) => isLast() && lists.set(tenant, list, sizeOf(profiles)),
      () => isLast() && lists.delete(tenant),
    )
    return list.profiles
  }

  const profilesOf: ProfilesOf = async (tenant) => {
    try {
      const own = await canonicals.state(tenant)
      return own === '' ? NONE : await listed(tenant, `${await packages.state()}${own}`)
    } catch (error) {
      if (!isFault(error, 'store-damaged')) throw error
      warn(error.message)
      return NONE
    }
  }
  if (sharedTenant === '') return profilesOf
  return mergeProfiles(profilesOf, async (tenant) => (tenant === sharedTenant ? NONE : profilesOf(sharedTenant)))
}

function toldIn(version: ResourceVersion): Told {
  const { url, content, ...definition } = parseDefinition(version)
  const isLookedFor = typeof url === 'string' && url.length <= MAX_CANONICAL_LENGTH && splitCanonical(url).url === url
  if (!isLookedFor) return { ...definition, url: '', type: undefined }
  const found = content()
  return { ...definition, url, type: found !== undefined && 'type' in found ? found.type : undefined }
}

async function* lastWritten(
  resources: TenantProfilesParts['resources'],
  tenant: string,
  warn: TenantProfilesParts['warn'],
): AsyncGenerator<ResourceVersion> {
  let [pages, count, bytes] = [0, 0, 0]
  const all = { tenant, type: 'StructureDefinition', asOf: Number.MAX_SAFE_INTEGER, tellsDamaged: true, limit: PAGE }
  for await (const { versions, damaged = [] } of resources.scan(all)) {
    for (const { damage } of damaged) warn(damage.message)
    for (const version of versions) {
      bytes += version.body.length
      if (++count > MOST || bytes > MOST_BYTES) return
      yield version
    }
    if (++pages === MOST_PAGES) return
  }
}

function sizeOf(profiles: ProfilesByType): number {
  let size = LEAST
  for (const canonicals of profiles.values()) for (const canonical of canonicals) size += LEAST + canonical.length
  return size
}

/** Returns a lookup with the profiles of both lookups. */
export const mergeProfiles =
  (some: ProfilesOf, others: ProfilesOf): ProfilesOf =>
  async (tenant) => {
    const [first, second] = await Promise.all([some(tenant), others(tenant)])
    if (second.size === 0) return first
    const all = new Map<string, ReadonlySet<string>>(first)
    for (const [type, canonicals] of second) all.set(type, new Set([...(first.get(type) ?? []), ...canonicals]))
    return all
  }
