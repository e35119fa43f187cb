/**
 * Custom parameters of tenants, pending rebuilds and unindexable versions. Plain data, so that an index can store it with its documents.
 */
import { parseJsonBytes } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import { failedParameterOf } from '../ports/search/index-status.ts'
import type { ResourceVersion, VersionKey } from '../ports/store/resource-store.ts'
import { type CapacityUser, isWithinTenantQuota, isWithinTotalCapacity } from '../search/custom/custom-parameter-limits.ts'
import { customMappingsOf } from '../search/custom/custom-parameters.ts'
import { registrationOf } from '../search/custom/registration.ts'
import type { CustomMapping } from '../search/custom-mapping.ts'
import { ALL_TENANTS, packageParametersIn } from './all-tenants.ts'

/**
 * A custom parameter on one resource type. `id`: id of the SearchParameter resource, or canonical URL of a parameter of a package. Searches
 * can use it once its `state` is `active`. `since`: of a parameter of a package, when it was registered, in ms since 1970. `under`: `since`
 * of the package parameter of the same code that the server had when the tenant wrote this one. Searches prefer that one while it exists.
 */
export type CustomParameter = {
  readonly tenant: string
  readonly id: string
  readonly mapping: CustomMapping
  readonly state: 'building' | 'active'
  readonly since?: number
  readonly under?: number
}

/**
 * Rebuild of the documents of one type. `tenant`: empty for the documents of all tenants. `done`: documents rebuilt so far. `total`:
 * documents when the rebuild began, −1 until they are counted. `inPlace`: updates the serving index; otherwise a rebuild on AWS may fill a
 * new index.
 */
export type Rebuild = {
  readonly tenant: string
  readonly type: string
  readonly done: number
  readonly total: number
  readonly inPlace?: true
  /** Whether only parameters of packages need the rebuild. It ends if their package is removed. */
  readonly forPackages?: true
  /** Base URLs. If present, only documents with a reference below one of them are rebuilt. */
  readonly under?: readonly string[]
}

/**
 * A version that extraction failed on, completely or for one custom parameter. After a complete failure, searches find the version only by
 * its id. Otherwise they find it by every parameter except the failed one. A version has one entry for each reason.
 */
export type UnindexableVersion = {
  readonly tenant: string
  readonly type: string
  readonly id: string
  readonly versionId: number
  /**
   * Kind of error, preceded by the code of the failed parameter if there is one. The error message is not stored, because it might contain
   * resource content.
   */
  readonly reason: string
}

export type Definitions = {
  readonly definitions: readonly CustomParameter[]
  readonly rebuilds: readonly Rebuild[]
  readonly poisoned: readonly UnindexableVersion[]
  /** Custom parameters of tenants whose definitions are not here, each once for all of them. Absent: there are none. */
  readonly elsewhere?: readonly CapacityUser[]
}

export const NO_DEFINITIONS: Definitions = { definitions: [], rebuilds: [], poisoned: [] }

const MOST_POISONED = 1_000

/**
 * Adds an entry for an unindexable version. Removes the entries of other versions of the resource, and the entry with the same reason.
 * Above 1,000 entries, drops the oldest entry of the tenant with the most entries. So many failures of one tenant do not displace the
 * entries of others.
 */
export function withUnindexable(state: Definitions, { tenant, type, id, versionId }: VersionKey, reason: string): Definitions {
  const isBefore = (each: UnindexableVersion): boolean => each.versionId !== versionId || each.reason === reason
  const others = state.poisoned.filter((each) => !(isSame(each, { tenant, type, id }) && isBefore(each)))
  const poisoned = [...others, { tenant, type, id, versionId, reason }]
  if (poisoned.length <= MOST_POISONED) return { ...state, poisoned }
  const [most = []] = [...Map.groupBy(poisoned, (each) => each.tenant).values()].toSorted((a, b) => b.length - a.length)
  return { ...state, poisoned: poisoned.filter((each) => each !== most[0]) }
}

/**
 * Removes the entries of this version and of earlier versions of the resource, before the version is indexed. A new failure adds a new
 * entry.
 */
export const withoutUnindexable = (state: Definitions, version: ResourceVersion): Definitions =>
  state.poisoned.some((each) => isSettledBy(each, version))
    ? { ...state, poisoned: state.poisoned.filter((each) => !isSettledBy(each, version)) }
    : state

// guard: poisoned-version-is-superseded
const isSettledBy = (each: VersionKey, version: VersionKey): boolean => isSame(each, version) && each.versionId <= version.versionId

export const isSameCode = (a: CustomMapping, b: CustomMapping): boolean => a.base === b.base && a.code === b.code

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
 * Applies a version of a SearchParameter to the definitions, and requests rebuilds that build its new mappings. Until a rebuild ends,
 * searches use the previous mapping of the same code. Mappings that the version no longer defines end at once. A deletion ends all
 * mappings. A version beyond a quota or the total capacity adds no mapping, and is recorded as unindexable. The write rejects a version
 * beyond the tenant's quota or the total capacity, but it misses concurrent writes.
 */
export function withSearchParameter(state: Definitions, version: ResourceVersion): Definitions {
  const { tenant, id } = version
  const mine = state.definitions.filter(isOf(version))
  const wanted = version.deleted ? [] : mappingsOf(version, knownTo(state, tenant))
  const others = state.definitions.filter((each) => !isOf(version)(each))
  const registration = registrationOf(mine, wanted)
  const { kept } = registration
  const packaged = packageParametersIn(state)
  const added = registration.added.map((mapping): CustomParameter => {
    const under = packaged.find((each) => isSameCode(each.mapping, mapping) && each.mapping.field !== mapping.field)?.since
    return { tenant, id, mapping, state: 'building', ...(under === undefined ? {} : { under }) }
  })
  if (!isRoom(tenant, added, [...others, ...kept], state.elsewhere))
    return withUnindexable({ ...state, definitions: [...others, ...kept] }, version, TOO_MANY_PARAMETERS)
  const definitions = [...others, ...kept, ...added]
  return addRebuild({ ...state, definitions, poisoned: poisonedNow(state, tenant, mine) }, tenant, [
    ...new Set(added.map(({ mapping }) => mapping.base)),
  ])
}

function isRoom(
  tenant: string,
  added: readonly CustomParameter[],
  all: readonly CustomParameter[],
  elsewhere: readonly CapacityUser[] = [],
): boolean {
  const mine = all.filter((each) => each.tenant === tenant)
  return (
    isWithinTenantQuota(mappingsIn(added), mappingsIn(mine)) && isWithinTotalCapacity(mappingsIn(added), [...mappingsIn(all), ...elsewhere])
  )
}

/**
 * Returns the definitions for an index without documents. `current`: the current SearchParameters. All their mappings are active at once,
 * because every document will be extracted with them.
 */
export const initialDefinitionsOf = (current: readonly ResourceVersion[]): Definitions => ({
  ...NO_DEFINITIONS,
  definitions: activated(current.reduce(withSearchParameter, NO_DEFINITIONS)).definitions,
})

/** Returns the definitions of an index without documents: all are active, and nothing is rebuilt. */
export const activated = (state: Definitions): Definitions => ({
  ...state,
  definitions: state.definitions.map((each) => (each.state === 'active' ? each : { ...each, state: 'active' })),
  rebuilds: [],
})

/** Reason recorded for a SearchParameter version whose new mappings exceed a quota, the total capacity or the size of the index state. */
export const TOO_MANY_PARAMETERS = 'TooManyParameters'

const mappingsIn = (definitions: readonly CustomParameter[]): readonly CustomMapping[] => definitions.map(({ mapping }) => mapping)

/**
 * Returns the unindexable versions without the failures of the changed parameters. If a new definition fails too, the rebuild records that
 * again.
 */
function poisonedNow({ poisoned }: Definitions, tenant: string, changed: readonly CustomParameter[]): readonly UnindexableVersion[] {
  const isOver = (each: UnindexableVersion): boolean => {
    const code = each.tenant === tenant ? failedParameterOf(each.reason) : undefined
    return changed.some(({ mapping }) => mapping.code === code)
  }
  return poisoned.some(isOver) ? poisoned.filter((each) => !isOver(each)) : poisoned
}

/**
 * Returns the mappings that a composite may use as components. All were active when the composite was written, so their state is not
 * checked.
 */
const knownTo = ({ definitions }: Definitions, tenant: string): readonly CustomMapping[] =>
  definitions.filter((each) => each.tenant === tenant || each.tenant === ALL_TENANTS).map(({ mapping }) => mapping)

/** Returns the mappings that a stored SearchParameter defines, or none if it is invalid. The write validates it, so that is rare. */
function mappingsOf({ tenant, body }: ResourceVersion, known: readonly CustomMapping[]): readonly CustomMapping[] {
  try {
    return customMappingsOf(parseJsonBytes(body) as Resource, tenant, known)
  } catch {
    return []
  }
}

/**
 * Requests a rebuild of the tenant's documents of the type with references below the base URL. Does nothing if a rebuild of all these
 * documents is pending. `base` joins the base URLs of a pending rebuild, which starts from the beginning.
 */
export function addReferenceRebuild(state: Definitions, tenant: string, type: string, base: string): Definitions {
  const known = state.rebuilds.find(isRebuild(tenant, type))
  if (known !== undefined && known.under === undefined) return state
  const rebuild = { tenant, type, done: 0, total: -1, under: [...(known?.under ?? []), base] }
  return { ...state, rebuilds: inTurns([...state.rebuilds.filter((each) => each !== known), rebuild]) }
}

/**
 * Requests a rebuild of the types, from the first document. `isInPlace`: rebuilds in the serving index. It is ignored for a type whose
 * pending rebuild may fill a new index.
 */
export function addRebuild(
  state: Definitions,
  tenant: string,
  types: readonly string[],
  isInPlace = false,
  more: Pick<Rebuild, 'forPackages'> = {},
): Definitions {
  const before = state.rebuilds.filter((each) => each.tenant === tenant && types.includes(each.type))
  const added = types.map((type): Rebuild => {
    const isMore = before.some((each) => each.type === type && each.inPlace === undefined)
    const isForMore = before.some((each) => each.type === type && each.forPackages === undefined)
    return { tenant, type, done: 0, total: -1, ...(isInPlace && !isMore ? { inPlace: true } : {}), ...(isForMore ? {} : more) }
  })
  return { ...state, rebuilds: inTurns([...state.rebuilds.filter((each) => !before.includes(each)), ...added]) }
}

/** Orders rebuilds so that tenants take turns. The order within a tenant stays, because the tenant's first rebuild may be in progress. */
function inTurns(rebuilds: readonly Rebuild[]): readonly Rebuild[] {
  const byTenant = [...Map.groupBy(rebuilds, ({ tenant }) => tenant).values()]
  const rounds = Math.max(0, ...byTenant.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, round) => byTenant.flatMap((mine) => mine[round] ?? [])).flat()
}

/**
 * Removes a finished rebuild. Its parameters that were being built become active, and replace the active ones of the same resource and
 * code.
 */
export function finishRebuild(state: Definitions, { tenant, type }: Rebuild): Definitions {
  const isMine = (each: CustomParameter): boolean => each.tenant === tenant && each.mapping.base === type
  const fresh = state.definitions.filter((each) => isMine(each) && each.state === 'building')
  const isOld = (each: CustomParameter): boolean =>
    isMine(each) && each.state === 'active' && fresh.some((other) => isSameSource(other, each) && other.mapping.code === each.mapping.code)
  const activated = (each: CustomParameter): CustomParameter => (isMine(each) ? { ...each, state: 'active' } : each)
  return {
    ...state,
    // Keep the same list if nothing was built. Caches compare its identity and so stay valid.
    ...(fresh.length === 0 ? {} : { definitions: state.definitions.filter((each) => !isOld(each)).map(activated) }),
    rebuilds: state.rebuilds.filter((each) => !isRebuild(tenant, type)(each)),
  }
}

/** A code on a type has one definition of a package, whichever SearchParameter defines it. */
const isSameSource = (a: CustomParameter, b: CustomParameter): boolean => a.id === b.id || a.tenant === ALL_TENANTS
