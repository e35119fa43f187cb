/** `_type` of a search on the whole system: the types that are asked for, and what is searched by on all of them. */
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType, resourceTypes } from '../../fhir/resource-types.ts'
import { type SearchParameter, searchParameter } from '../parameters.ts'
import type { Reading } from '../search-context.ts'
import type { QueryContext } from '../types/search-type.ts'
import type { Condition } from './condition.ts'
import { criterionOf, isSearchable, wrong } from './criterion.ts'
import type { Pairs } from './parameter-pairs.ts'
import { type Budget, spendValues } from './query-budget.ts'

/** Those that every `_type` names; undefined where there is none. FhirError 400 for what is no type. */
export function typesAsked(pairs: Pairs, left: Budget): readonly string[] | undefined {
  const lists = pairs.filter(([name]) => name === '_type').map(([, value]) => value.split(','))
  for (const list of lists) {
    spendValues(left, list.length)
    if (!list.every(isResourceType)) throw wrong('_type', 'a list of resource types')
  }
  return lists.length === 0 ? undefined : resourceTypes.filter((type) => lists.every((list) => list.includes(type)))
}

/** What is asked of one type, of each of those named, or of whatever there is. */
export type Scope = { readonly type: string | undefined; readonly types?: readonly string[] }

/** As `criterionOf`; of several types it is one that they share. FhirError 400 for one that means something else on each. */
export function criterionIn(
  { type, types = [] }: Scope,
  name: string,
  value: string,
  context: QueryContext,
  left: Budget,
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
export function parameterIn({ type, types = [] }: Scope, code: string, custom: Reading['custom']): SearchParameter | undefined {
  const common = searchParameter(type ?? 'Resource', code, custom)
  const each = common !== undefined || type !== undefined ? [common] : types.map((one) => searchParameter(one, code, custom))
  const [first] = each
  const isShared = first !== undefined && isSearchable(first) && each.every((other) => other?.type === first.type)
  return isShared ? first : undefined
}
