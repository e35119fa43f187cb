/** `_type` of a search on the whole system: the types that are asked for, and what is searched by on all of them. */
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import { findSearchParameter, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { QueryContext } from '../types/search-type.ts'
import type { Condition } from './condition.ts'
import { criterionOf, invalidValueError, isSearchable } from './criterion.ts'
import type { ParameterPairs } from './parameter-pairs.ts'
import { type QueryBudget, spendValues } from './query-budget.ts'

/** Those that every `_type` names; undefined where there is none. FhirError 400 for what is no type. */
export function requestedTypesOf(pairs: ParameterPairs, left: QueryBudget): readonly string[] | undefined {
  const lists = pairs.filter(([name]) => name === '_type').map(([, value]) => value.split(','))
  for (const list of lists) {
    spendValues(left, list.length)
    if (!list.every(isResourceType)) throw invalidValueError('_type', 'a list of resource types')
  }
  return lists.length === 0 ? undefined : resourceTypes.filter((type) => lists.every((list) => list.includes(type)))
}

/** What is asked of one type, of each of those named, or of whatever there is. */
export type TypeScope = { readonly type: string | undefined; readonly types?: readonly string[] }

/** As `criterionOf`; of several types it is one that they share. FhirError 400 for one that means something else on each. */
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

/** The parameter by which all that is asked for is sorted; undefined where some of it is not. */
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
