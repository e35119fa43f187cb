/** Grouped searches: the parameters `_group`, `_groupSort` and `_groupCount` of the service's specification (4.2). */
import { fhirError } from '../../fhir/outcome.ts'
import type { SortKey } from '../../ports/search/plan.ts'
import { findSearchParameter, parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import { isSearchable } from './criterion.ts'
import { findElementParameter } from './element-parameter.ts'

export type Grouping = {
  /** Field of IndexDocument.groups by which the resources are grouped. */
  readonly field: string
  readonly order: readonly SortKey[]
  /** Maximum resources that the response shows of each group. */
  readonly hits: number
}

const MAX_HITS = 100
/** Maximum resources on one page, over all groups. With more resources per group, a page has fewer groups. */
const MAX_ON_PAGE = 1_000

/**
 * Returns the group field for a value of `_group`: `code:code`, `code:system|code` or `code`, where `code` names a parameter or an element.
 * Throws FhirError 400 if the type has no such parameter, or if the form does not suit its values.
 */
export function parseGroupField(type: string | undefined, value: string, custom: SearchContext['custom']): string {
  const [code = '', form = 'code', ...more] = value.split(':')
  const parameter = findSearchParameter(type ?? 'Resource', code, custom) ?? findElementParameter(type ?? 'Resource', code, custom)
  const refuse = (expected: string) => fhirError(400, 'value', `The value of _group is not ${expected}`)
  if (parameter === undefined || !isSearchable(parameter))
    throw refuse(`a search parameter or an element with one${type === undefined ? '' : ` of ${type}`}`)
  if (!isGrouped(parameter)) {
    const codes = parametersOf(type ?? 'Resource', custom)
      .filter(isGrouped)
      .map(({ code }) => code)
    throw refuse(`a parameter that resources are grouped by. These are: ${codes.join(', ')}`)
  }
  if (more.length > 0 || (form !== 'code' && form !== 'system|code')) throw refuse('of the form element:code or element:system|code')
  if (form === 'system|code' && parameter.type !== 'token') throw refuse(`possible: ${code} has no systems`)
  return `${parameter.field}:${form === 'code' ? 'code' : 'system'}`
}

/** Whether the parameter may have values with a single text, by which resources can be grouped. */
const isGrouped = ({ code, type, valueTypes }: SearchParameter): boolean =>
  !UNGROUPED.has(type) && code !== '_lastUpdated' && (valueTypes.length === 0 || !valueTypes.every((each) => MANIFOLD.has(each)))

const UNGROUPED: ReadonlySet<string> = new Set(['quantity', 'composite', 'special'])
/** FHIR types with several texts or an interval as value. A parameter that reads only these cannot group. */
const MANIFOLD: ReadonlySet<string> = new Set(['HumanName', 'Address', 'Period', 'Timing', 'Range'])

export function parseGroupCount(value: string): number {
  if (!/^[1-9]\d{0,14}$/.test(value)) throw fhirError(400, 'value', 'The value of _groupCount is not a number of resources')
  return Math.min(Number(value), MAX_HITS)
}

/** Returns the maximum number of groups on a page. `count`: number requested. `hits`: resources shown of each group. */
export const groupCountPerPage = (count: number, hits: number): number => Math.min(count, Math.max(1, Math.floor(MAX_ON_PAGE / hits)))
