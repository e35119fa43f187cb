/** Versions as a partner with a member in context sees them. Only such partners load this file and what it imports. */
import type { Access } from '../access/access.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'
import type { SearchContext } from '../search/search-context.ts'
import { isAllowed } from './partner-rules.ts'
import { namesOthers, withoutTargets } from './provenance-targets.ts'

type Versions = readonly (ResourceVersion | undefined)[]

/** Returns the versions that the partner may receive of the member. Its own Groups are no data of the member. */
export function allowedAmong({ view, partner }: Access, { timeZone }: SearchContext, versions: Versions): Versions {
  const limits = partner?.limits
  if (view === undefined || limits === undefined) return versions
  const { at: now, excluded, ...window } = limits
  const rules = { ...window, view, now, excluded: new Set(excluded), ...(timeZone === undefined ? {} : { timeZone }) }
  return versions.map((version) => {
    if (version === undefined || version.deleted || version.type === 'Group') return version
    // guard: member-token-shows-allowed-data
    return isAllowed(rules, version, () => false) === true ? version : undefined
  })
}

/** Returns the versions with Provenances that name only targets that the partner may read. `visible`: reads the visible ones of resources. */
export async function withShownTargets(
  { clauses }: Access,
  reading: SearchContext,
  versions: Versions,
  visible: (keys: readonly ResourceKey[]) => Promise<Versions>,
): Promise<Versions> {
  const isMember = (name: string): boolean => clauses.some(({ within }) => within?.includes(name) === true)
  const withheldAmong = async (keys: readonly ResourceKey[]) => {
    const targets = await visible(keys)
    return keys.filter((_, i) => targets[i]?.deleted !== false)
  }
  const shownOf = async (version: ResourceVersion | undefined): Promise<ResourceVersion | undefined> => {
    if (version?.type !== 'Provenance' || version.deleted) return version
    // guard: member-token-shows-no-provenance-of-others
    if (namesOthers(version, isMember)) return undefined
    return withoutTargets(version, reading, withheldAmong)
  }
  const seen: (ResourceVersion | undefined)[] = []
  for (const version of versions) seen.push(await shownOf(version))
  return seen
}
