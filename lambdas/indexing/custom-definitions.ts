/** The search parameters somebody defined: which are being built, and which are searched by. As data, so that an index can keep it with its documents. */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import { failurePrefixOf } from '../ports/search/index-status.ts'
import type { ResourceVersion, VersionKey } from '../ports/store/resource-store.ts'
import { isWithinTenantQuota, isWithinTotalCapacity } from '../search/custom/custom-parameter-limits.ts'
import { customMappingsOf } from '../search/custom/custom-parameters.ts'
import type { CustomMapping } from '../search/custom-mapping.ts'

/** `id`: of the SearchParameter resource. */
export type CustomParameter = {
  readonly tenant: string
  readonly id: string
  readonly mapping: CustomMapping
  readonly state: 'building' | 'active'
}

/**
 * A type whose documents are made again; `total`: documents of the tenant when it began. Without a tenant: those of all. `inPlace`: where
 * they are, also where an index of a type is otherwise made anew.
 */
export type Rebuild = {
  readonly tenant: string
  readonly type: string
  readonly done: number
  readonly total: number
  readonly inPlace?: true
  /** Only documents that refer to something below one of these base URLs. */
  readonly under?: readonly string[]
}

/** A version that could not be read: it is found by its key alone, or without a parameter. One for each reason. */
export type UnindexableVersion = {
  readonly tenant: string
  readonly type: string
  readonly id: string
  readonly versionId: number
  /** The kind of error; its message might tell of the content. */
  readonly reason: string
}

export type Definitions = {
  readonly definitions: readonly CustomParameter[]
  readonly rebuilds: readonly Rebuild[]
  readonly poisoned: readonly UnindexableVersion[]
}

export const NO_DEFINITIONS: Definitions = { definitions: [], rebuilds: [], poisoned: [] }

const MOST_POISONED = 1_000

/** A thousand are kept. Of more the oldest goes of the tenant that has most, so that nobody's push out those of others. */
export function withUnindexable(state: Definitions, { tenant, type, id, versionId }: VersionKey, reason: string): Definitions {
  const isBefore = (each: UnindexableVersion): boolean => each.versionId !== versionId || each.reason === reason
  const others = state.poisoned.filter((each) => !(isSame(each, { tenant, type, id }) && isBefore(each)))
  const poisoned = [...others, { tenant, type, id, versionId, reason }]
  if (poisoned.length <= MOST_POISONED) return { ...state, poisoned }
  const [most = []] = [...Map.groupBy(poisoned, (each) => each.tenant).values()].toSorted((a, b) => b.length - a.length)
  return { ...state, poisoned: poisoned.filter((each) => each !== most[0]) }
}

/** A new version of a poisoned resource gets another try. */
export const withoutUnindexable = (state: Definitions, version: ResourceVersion): Definitions =>
  state.poisoned.some((each) => isSettledBy(each, version))
    ? { ...state, poisoned: state.poisoned.filter((each) => !isSettledBy(each, version)) }
    : state

// guard: poisoned-version-is-superseded
const isSettledBy = (each: VersionKey, version: VersionKey): boolean => isSame(each, version) && each.versionId <= version.versionId

type Key = { readonly tenant: string; readonly type: string; readonly id: string }

const isSame = (a: Key, b: Key): boolean => a.id === b.id && a.type === b.type && a.tenant === b.tenant

const isOf =
  ({ tenant, id }: { readonly tenant: string; readonly id: string }) =>
  (each: CustomParameter): boolean =>
    each.tenant === tenant && each.id === id

const isRebuild =
  (tenant: string, type: string) =>
  (each: Rebuild): boolean =>
    each.tenant === tenant && each.type === type

/**
 * After a version of a SearchParameter: what it now means is built, what it meant is searched by until then; what it no longer means, or
 * of a deleted one, ends at once. Where there is no room for it, which a write that came alone was told, it defines nothing.
 */
export function withSearchParameter(state: Definitions, version: ResourceVersion): Definitions {
  const { tenant, id } = version
  const mine = state.definitions.filter(isOf(version))
  const wanted = version.deleted ? [] : mappingsOf(version, knownTo(state, tenant))
  const others = state.definitions.filter((each) => !isOf(version)(each))
  const kept = mine.filter(
    ({ mapping, state }) =>
      wanted.some(({ field, base }) => field === mapping.field && base === mapping.base) ||
      (state === 'active' && replaced(mapping, wanted)),
  )
  const added = wanted
    .filter(({ field, base }) => !mine.some(({ mapping }) => mapping.field === field && mapping.base === base))
    .map((mapping): CustomParameter => ({ tenant, id, mapping, state: 'building' }))
  if (!isRoom(tenant, added, [...others, ...kept]))
    return withUnindexable({ ...state, definitions: [...others, ...kept] }, version, TOO_MANY_PARAMETERS)
  const definitions = [...others, ...kept, ...added]
  return addRebuild({ ...state, definitions, poisoned: poisonedNow(state, tenant, mine) }, tenant, [
    ...new Set(added.map(({ mapping }) => mapping.base)),
  ])
}

function isRoom(tenant: string, added: readonly CustomParameter[], all: readonly CustomParameter[]): boolean {
  const mine = all.filter((each) => each.tenant === tenant)
  return isWithinTenantQuota(mappingsIn(added), mappingsIn(mine)) && isWithinTotalCapacity(mappingsIn(added), mappingsIn(all))
}

/** By what is current of SearchParameters, in an index that has no documents yet: they are all made with it, none again. */
export const initialDefinitionsOf = (current: readonly ResourceVersion[]): Definitions => ({
  ...NO_DEFINITIONS,
  definitions: current.reduce(withSearchParameter, NO_DEFINITIONS).definitions.map((each) => ({ ...each, state: 'active' })),
})

/** Why a SearchParameter defines nothing. */
export const TOO_MANY_PARAMETERS = 'TooManyParameters'

const mappingsIn = (definitions: readonly CustomParameter[]): readonly CustomMapping[] => definitions.map(({ mapping }) => mapping)

/** What failed by the old meaning of these definitions is met again where it fails by the new one. */
function poisonedNow({ poisoned }: Definitions, tenant: string, changed: readonly CustomParameter[]): readonly UnindexableVersion[] {
  const failures = changed.map(({ mapping }) => failurePrefixOf(mapping.code))
  const isOver = (each: UnindexableVersion): boolean =>
    each.tenant === tenant && failures.some((failure) => each.reason.startsWith(failure))
  return poisoned.some(isOver) ? poisoned.filter((each) => !isOver(each)) : poisoned
}

const replaced = ({ base, code }: CustomMapping, by: readonly CustomMapping[]): boolean =>
  by.some((each) => each.base === base && each.code === code)

/** What can be part of a composite: it was active when the composite was written. */
const knownTo = ({ definitions }: Definitions, tenant: string): readonly CustomMapping[] =>
  definitions.filter((each) => each.tenant === tenant).map(({ mapping }) => mapping)

/** What is stored was checked when it was written; what slipped through defines nothing. */
function mappingsOf({ tenant, body }: ResourceVersion, known: readonly CustomMapping[]): readonly CustomMapping[] {
  try {
    return customMappingsOf(parseJsonBytes(body) as Resource, tenant, known)
  } catch {
    return []
  }
}

/** Adds a rebuild of documents with references below a base URL, unless the whole type is rebuilt anyway. */
export function addReferenceRebuild(state: Definitions, tenant: string, type: string, base: string): Definitions {
  const known = state.rebuilds.find(isRebuild(tenant, type))
  if (known !== undefined && known.under === undefined) return state
  const rebuild = { tenant, type, done: 0, total: -1, under: [...(known?.under ?? []), base] }
  return { ...state, rebuilds: inTurns([...state.rebuilds.filter((each) => each !== known), rebuild]) }
}

/** The documents of the types are made again, from the first on; in place only where nothing else is wanted already. */
export function addRebuild(state: Definitions, tenant: string, types: readonly string[], isInPlace = false): Definitions {
  const before = state.rebuilds.filter((each) => each.tenant === tenant && types.includes(each.type))
  const added = types.map((type): Rebuild => {
    const isMore = before.some((each) => each.type === type && each.inPlace === undefined)
    return { tenant, type, done: 0, total: -1, ...(isInPlace && !isMore ? { inPlace: true } : {}) }
  })
  return { ...state, rebuilds: inTurns([...state.rebuilds.filter((each) => !before.includes(each)), ...added]) }
}

/** One of each tenant, then the next of each. The first stays the first: somebody may be at it. */
function inTurns(rebuilds: readonly Rebuild[]): readonly Rebuild[] {
  const byTenant = [...Map.groupBy(rebuilds, ({ tenant }) => tenant).values()]
  const rounds = Math.max(0, ...byTenant.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, round) => byTenant.flatMap((mine) => mine[round] ?? [])).flat()
}

/** After a type was rebuilt: what was built is searched by, and takes the place of what the same resources meant before. */
export function finishRebuild(state: Definitions, { tenant, type }: Rebuild): Definitions {
  const isMine = (each: CustomParameter): boolean => each.tenant === tenant && each.mapping.base === type
  const fresh = state.definitions.filter((each) => isMine(each) && each.state === 'building')
  const isOld = (each: CustomParameter): boolean =>
    isMine(each) && each.state === 'active' && fresh.some((other) => other.id === each.id && other.mapping.code === each.mapping.code)
  const activated = (each: CustomParameter): CustomParameter => (isMine(each) ? { ...each, state: 'active' } : each)
  return {
    ...state,
    // The same list where nothing was built: what is prepared for it stays prepared.
    ...(fresh.length === 0 ? {} : { definitions: state.definitions.filter((each) => !isOld(each)).map(activated) }),
    rebuilds: state.rebuilds.filter((each) => !isRebuild(tenant, type)(each)),
  }
}
