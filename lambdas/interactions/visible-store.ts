/** The resource store as a request may see it. Hidden versions look like missing ones. */
import type { Access } from '../access/access.ts'
import { type Judge, maySeeWithLetters } from '../access/judge.ts'
import { isWholeType } from '../access/rules.ts'
import type { Letter } from '../access/scopes.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { HistoryPage, ResourceKey, ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { SearchContext } from '../search/search-context.ts'
import { forbidden } from './forbidden.ts'
import { mapInSlices } from './time-slices.ts'

/**
 * Access of a caller, with the search context for the criteria in its scopes. `showsNone`: the response has none of the versions, so their
 * content may stay as it is stored.
 */
export type CallerAccess = { readonly access: Access; readonly reading: SearchContext; readonly showsNone?: true }

export type VisibleStore = Pick<ResourceReader, 'current' | 'versions'> & {
  /**
   * Returns the visible versions of one resource. For a type or the system, throws FhirError 403 unless the caller may see all resources of
   * each type.
   */
  readonly history: ResourceReader['history']
}

/** Creates the store as a caller sees it. A version is visible if the access allows it for each of the scope letters. */
export type VisibleStoreOf = (request: CallerAccess, ...letters: readonly Letter[]) => VisibleStore

/** Returns the canonical URLs of the loaded profiles of claims without amounts, each without and with its version. */
export type BasisProfiles = () => Promise<ReadonlySet<string>>

/** `basis`: returns the profiles of claims without amounts that views name. Absent: the server has no packages. */
export const visibleStoreOf =
  (
    resources: Pick<ResourceReader, 'current' | 'versions' | 'history'>,
    expressions: () => ExpressionRunner,
    basis?: BasisProfiles,
  ): VisibleStoreOf =>
  ({ access, reading, showsNone }, ...letters) => {
    const current = async (key: ResourceKey) => (await resources.current([key]))[0]
    const caller: Caller = { judge: { access, reading, expressions, current }, letters, resources, basis, showsNone }
    return {
      current: async (...asked) => shown(caller, await resources.current(...asked)),
      versions: async (...asked) => shown(caller, await resources.versions(...asked)),
      history: async (scope, window, after, limit) => {
        const types = scope.type === undefined ? resourceTypes : [scope.type]
        const isWhole = (type: string): boolean => letters.every((letter) => isWholeType(access, type, letter, reading))
        if (types.every(isWhole)) return historyUnder(caller, await resources.history(scope, window, after, limit))
        if (scope.id !== undefined) {
          // guard: history-of-shown-resource
          if (access.partner?.limits !== undefined && !(await isCurrentShown(caller, scope))) return { versions: [], more: false }
          return historyOf(caller, scope, window, after, limit)
        }
        throw forbidden('A history of more than one resource is for those who may see all of it')
      },
    }
  }

type Caller = {
  readonly judge: Judge
  readonly letters: readonly Letter[]
  readonly resources: Pick<ResourceReader, 'current' | 'history'>
  readonly basis: BasisProfiles | undefined
  readonly showsNone: true | undefined
}

type Versions = readonly (ResourceVersion | undefined)[]

/** Returns the versions as the caller sees them: undefined in place of each that is hidden. */
const shown = async (caller: Caller, versions: Versions): Promise<Versions> =>
  underView(caller, await withShownTargets(caller, await visibleAmong(caller, versions)))

/** Returns the versions as they are stored: undefined in place of each that is hidden. */
async function visibleAmong(caller: Caller, versions: Versions): Promise<Versions> {
  const { judge, letters } = caller
  const judged = await mapInSlices(versions, (version) => version !== undefined && maySeeWithLetters(judge, letters, version))
  const may = await Promise.all(judged)
  return withinLimits(
    caller,
    versions.map((version, i) => (may[i] ? version : undefined)),
  )
}

/**
 * Whether the current version is visible and no deletion. A partner with a member in context reads earlier versions only then, because a later
 * one may have a label, or be about another patient.
 */
async function isCurrentShown(caller: Caller, key: ResourceKey): Promise<boolean> {
  const [current] = await visibleAmong(caller, await caller.resources.current([key]))
  return current?.deleted === false
}

/** Returns the versions that a partner may receive of the member in context. */
async function withinLimits({ judge: { access, reading } }: Caller, versions: Versions): Promise<Versions> {
  if (access.partner?.limits === undefined) return versions
  const isAllowed = (await import('../partners/member-versions.ts')).allowanceOf(access, reading)
  return mapInSlices(versions, (version) => (version !== undefined && isAllowed(version) ? version : undefined))
}

/** Returns the versions with the Provenances as a partner with a member in context sees them. */
async function withShownTargets(caller: Caller, versions: Versions): Promise<Versions> {
  const { access, reading } = caller.judge
  if (access.partner?.limits === undefined) return versions
  const member = await import('../partners/member-versions.ts')
  // A search shows the targets that a read shows, even those of types that the partner may read but not search.
  const reader: Caller = { ...caller, letters: ['r'] }
  const visible = async (keys: readonly ResourceKey[]) => visibleAmong(reader, await caller.resources.current(keys))
  return member.withShownTargets(access, reading, versions, { visible, showsNone: caller.showsNone })
}

/** Returns the versions under the view of the caller. */
async function underView({ judge: { access }, basis, showsNone }: Caller, versions: Versions): Promise<Versions> {
  const { view } = access
  // guard: version-is-shown-under-the-view
  if (view === undefined) return versions
  const { storedVersion, viewedVersion } = await import('../access/view/viewed-version.ts')
  const { withoutListedMembers } = await import('../partners/groups/listed-members.ts')
  if (showsNone) return versions.map((version) => version && storedVersion(version, view))
  const loaded = await basis?.()
  const options = { isLoaded: (profile: string) => loaded?.has(profile) === true }
  return mapInSlices(versions, (version) => {
    const viewed = version && viewedVersion(version, view, options)
    return viewed && withoutListedMembers(viewed)
  })
}

async function historyUnder(caller: Caller, page: HistoryPage): Promise<HistoryPage> {
  const versions = await underView(caller, page.versions)
  return { ...page, versions: versions.filter((version) => version !== undefined) }
}

/** Minimum versions per read. With fewer, the number of reads, and so the response time, would reveal how many versions are hidden. */
const FEWEST = 100
/** Bytes of visible bodies after which a page ends early. */
const HEAVIEST_HISTORY = 16_000_000

/**
 * Returns a page of visible versions. Reads pages of the store until there is one visible version more than `limit`, which shows that a
 * further page exists. Reads bodies too, because the access may depend on them.
 */
async function historyOf(
  caller: Caller,
  ...[scope, window, after, limit]: Parameters<ResourceReader['history']>
): ReturnType<ResourceReader['history']> {
  const versions: ResourceVersion[] = []
  let weight = 0
  for (let from = after; ; ) {
    const page = await caller.resources.history(scope, { ...window, placesOnly: false }, from, Math.max(limit, FEWEST))
    const seen = (await shown(caller, page.versions)).filter((version) => version !== undefined)
    versions.push(...seen)
    from = page.versions.at(-1)
    if (versions.length > limit) return { ...page, versions: versions.slice(0, limit), more: true }
    weight += seen.reduce((sum, { body }) => sum + body.length, 0)
    if (page.more && weight > HEAVIEST_HISTORY) return { ...page, versions }
    if (!page.more) return { ...page, versions, more: false }
  }
}
