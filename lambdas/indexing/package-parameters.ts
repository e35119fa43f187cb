/** Registers the search parameters of packages in the index state. They belong to all tenants. */
import { isWithinTenantQuota, isWithinTotalCapacity } from '../search/custom/custom-parameter-limits.ts'
import { registrationOf } from '../search/custom/registration.ts'
import type { CustomMapping } from '../search/custom-mapping.ts'
import { ALL_TENANTS, packageParametersIn } from './all-tenants.ts'
import { addRebuild, type CustomParameter, type Definitions } from './custom-definitions.ts'

/**
 * Replaces the parameters of packages by `wanted`, and requests rebuilds of all tenants that build the new ones. A parameter that `wanted`
 * lacks ends at once. Searches use a parameter with another definition of the same code until its replacement is built. Omits parameters
 * beyond the quota of one tenant or the total capacity. Returns the same object if nothing changes. `at`: now, in ms since 1970.
 */
export const withPackageParameters = <State extends Definitions>(state: State, wanted: readonly CustomMapping[], at: number): State =>
  replacePackageParameters(state, wanted, at, fittingOf)

/** Ends the parameters of packages that `wanted` lacks, and adds none. Otherwise like withPackageParameters. */
export const withoutOtherPackageParameters = <State extends Definitions>(
  state: State,
  wanted: readonly CustomMapping[],
  at: number,
): State => replacePackageParameters(state, wanted, at, () => [])

/** `select`: selects those of the new parameters that are registered. */
function replacePackageParameters<State extends Definitions>(
  state: State,
  wanted: readonly CustomMapping[],
  at: number,
  select: typeof fittingOf,
): State {
  const before = packageParametersIn(state)
  const { kept, added } = registrationOf(before, withKnownFields(wanted, before))
  const others = state.definitions.filter(({ tenant }) => tenant !== ALL_TENANTS)
  const fitting = select(added, kept, [...mappingsIn(others), ...(state.elsewhere ?? [])])
  if (fitting.length === 0 && kept.length === before.length) return state
  const fresh = fitting.map((mapping): CustomParameter => {
    return { tenant: ALL_TENANTS, id: mapping.url, mapping, state: 'building', since: at }
  })
  const definitions = [...kept, ...fresh, ...others]
  const building = new Set([...kept, ...fresh].flatMap((each) => (each.state === 'building' ? each.mapping.base : [])))
  // A started rebuild continues, because only its end removes the index that it fills.
  const rebuilds = state.rebuilds.filter((each) => each.forPackages === undefined || building.has(each.type) || 'taken' in each)
  return requestPackageRebuilds({ ...state, definitions, rebuilds }, [...new Set(fresh.map(({ mapping }) => mapping.base))])
}

export const requestPackageRebuilds = <State extends Definitions>(state: State, types: readonly string[]): State =>
  types.length === 0 ? state : { ...state, ...addRebuild(state, ALL_TENANTS, types, false, { forPackages: true }) }

/** Builds the parameters of packages again, because documents may lack their values. Returns the same object if there are none. */
export function rebuildPackageParameters<State extends Definitions>(state: State): State {
  const packaged = packageParametersIn(state)
  if (packaged.length === 0) return state
  const definitions = state.definitions.map(
    (each): CustomParameter => (each.tenant === ALL_TENANTS ? { ...each, state: 'building' } : each),
  )
  return requestPackageRebuilds({ ...state, definitions }, [...new Set(packaged.map(({ mapping }) => mapping.base))])
}

/** Whether the tenant already has the values of all parameters of packages that are being built for the type. */
export function isBuiltFor({ definitions }: Definitions, tenant: string, type: string): boolean {
  const isOfType = ({ mapping }: CustomParameter): boolean => mapping.base === type
  const own = definitions.filter((each) => each.tenant === tenant && each.state === 'active' && isOfType(each))
  const building = definitions.filter((each) => each.tenant === ALL_TENANTS && each.state === 'building' && isOfType(each))
  return building.every(({ mapping }) => own.some((each) => each.mapping.field === mapping.field))
}

/** Replaces the field of each mapping that differs from a registered one of its code in its canonical URL only, so that it is not rebuilt. */
function withKnownFields(wanted: readonly CustomMapping[], registered: readonly CustomParameter[]): readonly CustomMapping[] {
  return wanted.map((each) => {
    const same = registered.find(({ mapping }) => meaningOf(mapping) === meaningOf(each))
    return same === undefined ? each : { ...each, field: same.mapping.field }
  })
}

const meaningOf = ({ field: _, url: __, tenant: ___, ...meaning }: CustomMapping): string =>
  JSON.stringify(Object.entries(meaning).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** Returns the mappings that fit, in their order. `others`: parameters of tenants. */
function fittingOf(
  added: readonly CustomMapping[],
  kept: readonly CustomParameter[],
  others: Parameters<typeof isWithinTotalCapacity>[1],
): readonly CustomMapping[] {
  const fitting: CustomMapping[] = []
  const mine = mappingsIn(kept)
  for (const each of added) {
    const packaged = [...mine, ...fitting]
    if (isWithinTenantQuota([each], packaged) && isWithinTotalCapacity([each], [...packaged, ...others])) fitting.push(each)
  }
  return fitting
}

const mappingsIn = (definitions: readonly CustomParameter[]): readonly CustomMapping[] => definitions.map(({ mapping }) => mapping)
