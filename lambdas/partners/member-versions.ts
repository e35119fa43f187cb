/** Versions as a partner with a member in context sees them. Only such partners load this file and what it imports. */
import type { Access } from '../access/access.ts'
import { toResourceKey } from '../ports/store/resource-key.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'
import type { SearchContext } from '../search/search-context.ts'
import { isAllowed } from './partner-rules.ts'
import { namesOthers, withoutWithheldReferences } from './provenance-targets.ts'

type Versions = readonly (ResourceVersion | undefined)[]

/** Returns a predicate: whether the partner may receive a version. Groups of the partner are no data of the member, so they pass. */
export function allowanceOf({ view, partner }: Access, { timeZone }: SearchContext): (version: ResourceVersion) => boolean {
  const limits = partner?.limits
  if (view === undefined || limits === undefined) return () => true
  const { at: now, excluded, ...window } = limits
  const rules = { ...window, view, now, excluded: new Set(excluded), ...(timeZone === undefined ? {} : { timeZone }) }
  // guard: member-token-shows-allowed-data
  return (version) => version.deleted || version.type === 'Group' || isAllowed(rules, version, () => false) === true
}

/**
 * `visible`: returns the resources, with undefined in place of each that the partner may not read. `showsNone`: no response contains the
 * versions, so their targets and entities may stay.
 */
type TargetReads = { readonly visible: (keys: readonly ResourceKey[]) => Promise<Versions>; readonly showsNone?: true | undefined }

/**
 * Returns the versions with Provenances that name only targets and entities that the partner may read. Hides a Provenance without such a
 * target.
 */
export async function withShownTargets(
  { clauses }: Access,
  reading: SearchContext,
  versions: Versions,
  { visible, showsNone }: TargetReads,
): Promise<Versions> {
  const isMember = (name: string): boolean => clauses.some(({ within }) => within?.includes(name) === true)
  /** Provenances often have the same targets, so each is read once. */
  const known = new Map<string, boolean>()
  const withheldAmong = async (keys: readonly ResourceKey[]) => {
    const unknown = keys.filter((key) => !known.has(nameOf(key)))
    const targets = unknown.length === 0 ? [] : await visible(unknown)
    for (const [i, key] of unknown.entries()) known.set(nameOf(key), targets[i]?.deleted === false)
    return keys.filter((key) => known.get(nameOf(key)) === false)
  }
  const shownOf = async (version: ResourceVersion | undefined): Promise<ResourceVersion | undefined> => {
    if (version?.type !== 'Provenance' || version.deleted) return version
    // guard: member-token-shows-no-provenance-of-others
    if (namesOthers(version, isMember)) return undefined
    if (!showsNone) return withoutWithheldReferences(version, reading, withheldAmong)
    // The member is one of the targets, and a partner may usually read it. So read the other targets only if the member is hidden.
    const members = version.compartments.filter(isMember).map((name) => toResourceKey(version.tenant, name))
    const isHidden = (await withheldAmong(members)).length === members.length
    return isHidden && (await withoutWithheldReferences(version, reading, withheldAmong)) === undefined ? undefined : version
  }
  const seen: (ResourceVersion | undefined)[] = []
  for (const version of versions) seen.push(await shownOf(version))
  return seen
}

const nameOf = ({ type, id }: ResourceKey): string => `${type}/${id}`
