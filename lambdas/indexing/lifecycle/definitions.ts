/** Changes the custom parameters and unindexable versions in the index state that all processes share. Changes are pure functions. */
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import { TOO_MANY_PARAMETERS, withoutUnindexable, withSearchParameter, withUnindexable } from '../custom-definitions.ts'
import { recordFollowedVersions } from './index-retention.ts'
import { type IndexState, withDefinitions } from './state.ts'
import { encode, isRoomFor } from './stored-state.ts'

/**
 * Maximum size of the custom parameters of one tenant, in compressed bytes, so that no tenant fills the index state alone. A
 * SearchParameter that exceeds it changes nothing.
 */
const MOST_OF_TENANT = 150_000

const ofTenant = ({ definitions }: IndexState, tenant: string) => definitions.filter((each) => each.tenant === tenant)

/**
 * Applies a version of a SearchParameter. If the stored state would grow, and it or the tenant's part would exceed its maximum size, all
 * definitions stay as before. The version is then recorded as unindexable.
 */
export function applySearchParameter(state: IndexState, version: ResourceVersion): IndexState {
  const after = withDefinitions(state, (each) => withSearchParameter(each, version))
  const mine = ofTenant(after, version.tenant)
  // In rows, the definitions of other tenants take no space from this one.
  const [was, is] = after.rows ? [ofTenant(state, version.tenant), mine] : [encode(state), encode(after)]
  const isLarger = JSON.stringify(is).length > JSON.stringify(was).length
  const isRoom = !isLarger || ((after.rows || isRoomFor(is)) && isRoomFor(mine, MOST_OF_TENANT))
  return isRoom ? after : recordUnindexable(state, version, TOO_MANY_PARAMETERS)
}

/** Records versions that are about to be indexed in the document format `extraction`, and applies the SearchParameters among them. */
export function applyVersions(state: IndexState, versions: readonly ResourceVersion[], extraction: string): IndexState {
  const followed = versions.reduce(clearUnindexable, recordFollowedVersions(state, versions, extraction))
  return versions.filter(({ type }) => type === 'SearchParameter').reduce(applySearchParameter, followed)
}

export const recordUnindexable = (state: IndexState, version: VersionKey, reason: string): IndexState =>
  withDefinitions(state, (each) => withUnindexable(each, version, reason))

export const clearUnindexable = (state: IndexState, version: ResourceVersion): IndexState =>
  withDefinitions(state, (each) => withoutUnindexable(each, version))

/** Removes all entries for unindexable versions of these resources. `names`: results of nameOf. */
export function forgetUnindexable(state: IndexState, names: ReadonlySet<string>): IndexState {
  const poisoned = state.poisoned.filter((each) => !names.has(nameOf(each)))
  return poisoned.length === state.poisoned.length ? state : { ...state, poisoned }
}
