/** Requested types of a system-wide search (`_type`), and the parameters that all of them share. */
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import { findSearchParameter, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { QueryContext } from '../types/search-type.ts'
import type { Condition } from './condition.ts'
import { criterionOf, invalidValueError, isSearchable } from './criterion.ts'
import type { ParameterPairs } from './parameter-pairs.ts'
import { type QueryBudget, spendValues } from './query-budget.ts'

/**
 * Returns the types that occur in every `_type` parameter, or undefined if there is no `_type`. Throws FhirError 400 for an unknown type.
 */
export function requestedTypesOf(pairs: ParameterPairs, left: QueryBudget): readonly string[] | undefined {
  const lists = pairs.filter(([name]) => name === '_type').map(([, value]) => value.split(','))
  for (const list of lists) {
    spendValues(left, list.length)
    if (!list.every(isResourceType)) throw invalidValueError('_type', 'a list of resource types')
  }
  return lists.length === 0 ? undefined : resourceTypes.filter((type) => lists.every((list) => list.includes(type)))
}

/** Types of a search. `type`: the single type. `types`: types that `_type` names. If both are absent, the search covers all types. */
export type TypeScope = { readonly type: string | undefined; readonly types?: readonly string[] }

/**
 * Parses a criterion as `criterionOf` does. Returns undefined if a requested type does not have the parameter. Throws FhirError 400 if the
 * parameter means something else on another type.
 */
export function sharedCriterionOf(
  { type, types = [] }: TypeScope,
  name: string,
  value: string,
  context: QueryContext,
  left: QueryBudget,
): Condition | undefined {
  const common = criterionOf(type, name, value, context, left)
  if (common !== undefined || type !== undefined) return common
  const each = types.map((one) => criterionOf(one, name, value, context, left))
  const [first] = each
  if (first === undefined || each.includes(undefined)) return undefined
  if (new Set(each.map((condition) => JSON.stringify(condition))).size > 1)
    throw fhirError(400, 'not-supported', `The parameter ${name.slice(0, 100)} is another one on each type: search them one by one`)
  return first
}

/**
 * Returns the parameter by which all requested types can be sorted. Returns undefined if a type does not have it with the same parameter
 * type.
 */
export function sharedParameterOf(
  { type, types = [] }: TypeScope,
  code: string,
  custom: SearchContext['custom'],
): SearchParameter | undefined {
  const common = findSearchParameter(type ?? 'Resource', code, custom)
  const each = common !== undefined || type !== undefined ? [common] : types.map((one) => findSearchParameter(one, code, custom))
  const [first] = each
  const isShared = first !== undefined && isSearchable(first) && each.every((other) => other?.type === first.type)
  return isShared ? first : undefined
}
