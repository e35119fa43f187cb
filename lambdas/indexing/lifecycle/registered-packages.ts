/** Search parameters of packages in the index state that all processes share. Changes are pure functions. */
import type { CustomMapping } from '../../search/custom-mapping.ts'
import { withoutOtherPackageParameters, withPackageParameters } from '../package-parameters.ts'
import type { IndexState } from './state.ts'

/**
 * Removes the parameters of packages if the previous release may not have known them: documents that it indexed lack their values. `isKnown`:
 * whether it knew them.
 */
export function removeUnknownPackages(state: IndexState, isKnown: boolean, now: number): IndexState {
  if (isKnown || state.packageList === undefined) return state
  const { packageList: _, ...rest } = state
  return withPackageParameters(rest, [], now)
}

/** Records that all functions build the parameters of packages. From then on, `registerPackages` registers them. */
export const allowPackages = (state: IndexState): IndexState => (state.packageList === undefined ? { ...state, packageList: '' } : state)

/** Whether the parameters of another list of packages are registered. False as long as functions of an earlier release may run. */
export const isListOutdated = (state: IndexState, list: string): boolean => state.packageList !== undefined && !isRegistered(state, list)

/** Whether the parameters of this list of packages are registered, as far as there is capacity. */
export const isRegistered = ({ packageList }: IndexState, list: string): boolean => packageList === list

/** Registers the parameters of a list of packages. */
export const registerPackages = (state: IndexState, wanted: readonly CustomMapping[], list: string, now: number): IndexState =>
  isListOutdated(state, list) ? withPackageParameters({ ...state, packageList: list }, wanted, now) : state

/** Ends the parameters that no package of a list defines, before `registerPackages` registers that list. */
export const endRemovedParameters = (state: IndexState, wanted: readonly CustomMapping[], now: number): IndexState =>
  state.packageList === undefined ? state : withoutOtherPackageParameters(state, wanted, now)
