/** Parses the parameters of a search: its criteria, and the form of the response. https://hl7.org/fhir/R4/search.html */
import { suggestNames } from '../../fhir/near-names.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { SortKey } from '../../ports/search/plan.ts'
import { parametersOf } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { Condition } from './condition.ts'
import { invalidValueError } from './criterion.ts'
import { findElementParameter } from './element-parameter.ts'
import { type Grouping, groupCountPerPage, parseGroupCount, parseGroupField } from './group.ts'
import { checkHiddenParameters } from './hidden-parameters.ts'
import { type Include, includeOf, isInclude } from './include.ts'
import { parsePageSize } from './page-size.ts'
import { checkSingleValued, MAX_SEARCH_PARAMETERS, type ParameterPairs, tooManyParametersError } from './parameter-pairs.ts'
import { newQueryBudget, type QueryBudget } from './query-budget.ts'
import { requestedTypesOf, sharedCriterionOf, sharedParameterOf } from './requested-types.ts'
import { parseResponsePart, type ResponsePart } from './response-part.ts'

export type SearchOptions = SearchContext & {
  readonly handling?: 'strict' | 'lenient'
  readonly pagination?: 'offset-skip' | 'offset-page'
  /** Whether result parameters and unknown parameters are answered 400, as in conditional interactions. Formats are then ignored. */
  readonly criteriaOnly?: boolean
  /**
   * Milliseconds since 1970, for the prefix `ap`, which widens a date by a tenth of its distance from now. Absent: `ap` is answered 400.
   */
  readonly now?: number
}

export type SearchRequest = {
  /** Conditions of the search; a match meets all of them. */
  readonly where: readonly Condition[]
  readonly order: readonly SortKey[]
  readonly count: number
  readonly total: 'none' | 'estimate' | 'accurate'
  readonly skip?: number
  /** Parameter of paging by offset, and the offset of this page. Absent: paging by cursor. */
  readonly offset?: OffsetParameter
  readonly includes: readonly Include[]
  readonly group?: Grouping
  /** Types that `_type` of a system-wide search names. Absent: all types. */
  readonly types?: readonly string[]
  /** Part of each resource that the response contains. */
  readonly part: ResponsePart
  /** Parameters that the server understood, with the values that it applies. The self link contains them. */
  readonly used: ParameterPairs
  /** Parameters among `used` that restrict the matches. */
  readonly criteria: ParameterPairs
  /** Names of ignored parameters, each once. The number of unknown ones is limited to MAX_LISTED. */
  readonly ignored: readonly string[]
}

/** Offset of a page. `_skip` counts matches or groups, `_page` counts pages from 0. */
export type OffsetParameter = { readonly name: '_skip' | '_page'; readonly at: number }

export const isOffsetParameter = (name: string): boolean => name === '_skip' || name === '_page'

/**
 * Parses a search. Throws FhirError 400 for a malformed value, an unsupported modifier or an exceeded limit. With strict handling or
 * `criteriaOnly` it also throws for an unknown parameter.
 */
export function parseSearch(type: string | undefined, pairs: ParameterPairs, options: SearchOptions): SearchRequest {
  if (pairs.length > MAX_SEARCH_PARAMETERS) throw tooManyParametersError()
  checkSingleValued(pairs, SINGLE_VALUE_PARAMETERS)
  const state = stateOf(type, pairs, options)
  for (const [name, value] of pairs) {
    if (options.criteriaOnly && FORMATS.has(name)) continue
    const isResult = readResult(state, name, value)
    if (!isResult && !readCriterion(state, name, value)) {
      if (options.handling === 'strict' || options.criteriaOnly)
        throw fhirError(400, 'not-found', `Unknown search parameter ${name.slice(0, 100)}${scopeText(name, type)}${near(state, name)}`)
      if (state.ignored.size < MAX_LISTED) state.ignored.add(name.slice(0, 100))
      continue
    }
    // Keep only the last value of a repeated result parameter. Only formats may be repeated with different values.
    if (isResult && !isInclude(name)) state.used = state.used.filter(([other]) => other !== name)
    state.used.push([name, value])
    if (!isResult) state.criteria.push([name, value])
    if (state.criteria.length > MAX_CRITERIA) throw fhirError(400, 'too-costly', `A search takes at most ${MAX_CRITERIA} criteria`)
    if (state.includes.length > MAX_INCLUDES) throw fhirError(400, 'too-costly', `A search takes at most ${MAX_INCLUDES} includes`)
  }
  return requestOf(state)
}

/** Maximum matches or groups that paging by offset skips. A larger offset is answered 400. */
export const MAX_SKIP = 10_000
/** Maximum unknown parameters that the response lists as ignored. */
const MAX_LISTED = 20
const MAX_CRITERIA = 200
const MAX_INCLUDES = 50
const MAX_SORT_KEYS = 10

type State = {
  readonly type: string | undefined
  readonly types?: readonly string[]
  readonly isGrouped: boolean
  readonly options: SearchOptions
  readonly left: QueryBudget
  readonly where: Condition[]
  readonly includes: Include[]
  used: (readonly [string, string])[]
  readonly criteria: (readonly [string, string])[]
  readonly ignored: Set<string>
  order: readonly SortKey[]
  count: number
  isCounted?: boolean
  total: SearchRequest['total']
  offset?: OffsetParameter
  groupField?: string
  groupOrder?: readonly SortKey[]
  groupCount?: number
}

function stateOf(type: string | undefined, pairs: ParameterPairs, options: SearchOptions): State {
  const left = newQueryBudget()
  const types = type === undefined ? requestedTypesOf(pairs, left) : undefined
  const isGrouped = pairs.some(([name]) => name === '_group')
  return { ...NEW_STATE(), type, isGrouped, options, left, ...(types === undefined ? {} : { types }) }
}

const NEW_STATE = (): Omit<State, 'type' | 'isGrouped' | 'options' | 'left'> => ({
  where: [],
  includes: [],
  used: [],
  criteria: [],
  ignored: new Set(),
  order: [],
  count: parsePageSize(undefined),
  total: 'estimate',
})

function requestOf(state: State): SearchRequest {
  const { where, order, criteria, ignored, includes, total, types } = state
  const group = groupingOf(state)
  checkHiddenParameters({ where, order, group, includes, types: state.type === undefined ? types : [state.type] }, state.options)
  const size = group === undefined ? state.count : groupCountPerPage(state.count, group.hits)
  const count = state.isCounted ? 0 : size
  const type = includes.length > 0 ? undefined : (state.type ?? onlyOf(types))
  const part = parseResponsePart(state.used, { type, handling: state.options.handling })
  const applied: Readonly<Record<string, string | undefined>> = {
    _count: String(size),
    _groupCount: String(group?.hits),
    _elements: part.elements?.join(','),
  }
  const used = state.used.flatMap(([name, value]): ParameterPairs => {
    if (!Object.hasOwn(applied, name)) return [[name, value]]
    const appliedValue = applied[name]
    return appliedValue === undefined ? [] : [[name, appliedValue]]
  })
  if (used.length < state.used.length) ignored.add('_elements')
  const offset = offsetOf(state)
  const skip = offset === undefined ? 0 : offset.at * (offset.name === '_page' ? count : 1)
  if (skip > MAX_SKIP) throw fhirError(400, 'too-costly', `Offsets go up to ${MAX_SKIP}: page by the cursors of the links instead`)
  return {
    where,
    includes,
    ...(group === undefined ? {} : { group }),
    order,
    count,
    total: count === 0 ? 'accurate' : total,
    ...(offset === undefined ? {} : { skip, offset }),
    ...(types === undefined ? {} : { types }),
    part,
    used,
    criteria,
    ignored: [...ignored],
  }
}

/** Returns the offset of the page. `_skip` or `_page` takes precedence over the pagination preference, which starts at 0. */
function offsetOf({ offset, options: { pagination } }: State): OffsetParameter | undefined {
  return offset ?? (pagination === undefined ? undefined : { name: pagination === 'offset-page' ? '_page' : '_skip', at: 0 })
}

function groupingOf({ groupField: field, groupOrder, groupCount: hits = 1, order }: State): Grouping | undefined {
  if (field === undefined) return undefined
  if (order.length > 0)
    throw fhirError(400, 'invalid', 'Groups stand in the order of their first resource: _group takes _groupSort, not _sort')
  return { field, order: groupOrder ?? [{ field: '_lastUpdated', descending: true }], hits }
}

type Reader = (state: State, value: string) => void

/**
 * Parameters that shape the format. Searches with `criteriaOnly` ignore them instead of rejecting them, because some JSON clients add them
 * to each URL.
 */
const FORMATS: ReadonlySet<string> = new Set(['_format', '_pretty'])

/** Readers of the result parameters, which shape the response and are no criteria. https://hl7.org/fhir/R4/search.html#return */
const RESULTS: Readonly<Record<string, Reader>> = {
  _count(state, value) {
    state.count = parsePageSize(value)
  },
  _sort(state, value) {
    state.order = sortKeys(state, '_sort', value)
  },
  _total(state, value) {
    if (value !== 'none' && value !== 'estimate' && value !== 'accurate') throw invalidValueError('_total', 'none, estimate or accurate')
    state.total = value
  },
  _summary(state, value) {
    state.isCounted = value === 'count'
  },
  _group(state, value) {
    state.groupField = parseGroupField(state.type ?? onlyOf(state.types), value, state.options.custom)
  },
  _groupSort(state, value) {
    state.groupOrder = sortKeys(state, '_groupSort', value)
  },
  _groupCount(state, value) {
    state.groupCount = parseGroupCount(value)
  },
  _skip: readOffset('_skip'),
  _page: readOffset('_page'),
  _elements() {},
  _format() {},
  _pretty() {},
}

/** Parameters that take effect only with `_group`. Without it they count as unknown. */
const GROUP_PARAMETERS: ReadonlySet<string> = new Set(['_groupSort', '_groupCount'])

const near = ({ type, options: { custom } }: State, name: string): string =>
  Object.hasOwn(RESULTS, name)
    ? ''
    : suggestNames(name, [...parametersOf(type ?? 'Resource', custom).map(({ code }) => code), ...Object.keys(RESULTS)])

const scopeText = (name: string, type: string | undefined): string =>
  GROUP_PARAMETERS.has(name) ? ' without _group' : type === undefined ? '' : ` of ${type}`

/** Parameters that must not occur with different values. Formats may, because JSON clients repeat them. */
export const SINGLE_VALUE_PARAMETERS: ReadonlySet<string> = new Set([
  '_cursor',
  ...Object.keys(RESULTS).filter((name) => !FORMATS.has(name)),
])

function readOffset(name: OffsetParameter['name']): Reader {
  return (state, value) => {
    if (!/^\d{1,15}$/.test(value)) throw invalidValueError(name, 'a number')
    if (state.offset !== undefined && state.offset.name !== name)
      throw fhirError(400, 'invalid', 'A search takes _skip or _page: the one counts resources, the other pages')
    state.offset = { name, at: Number(value) }
  }
}

function sortKeys(state: State, name: string, value: string): readonly SortKey[] {
  // Split off one key more than allowed: that is enough to detect too many.
  const keys = value.split(',', MAX_SORT_KEYS + 1).map((key) => sortKey(state, name, key))
  if (keys.length > MAX_SORT_KEYS) throw fhirError(400, 'too-costly', `${name} takes at most ${MAX_SORT_KEYS} parameters`)
  if (new Set(keys.map(({ field }) => field)).size < keys.length)
    throw invalidValueError(name, 'a list in which each parameter stands once')
  return keys
}

function sortKey(state: State, name: string, key: string): SortKey {
  const { type, options } = state
  const code = key.trim().replace(/^-/, '')
  const shared = sharedParameterOf(state, code, options.custom)
  const found =
    shared ?? (name === '_groupSort' ? findElementParameter(type ?? onlyOf(state.types) ?? 'Resource', code, options.custom) : undefined)
  if (found === undefined)
    throw invalidValueError(name, `a search parameter${type === undefined ? '' : ` of ${type}`}, perhaps after a minus`)
  return { field: found.field, descending: key.trim().startsWith('-') }
}

function readResult(state: State, name: string, value: string): boolean {
  const include = isInclude(name)
  const isResult = include || Object.hasOwn(RESULTS, name)
  if (isResult && state.options.criteriaOnly) throw fhirError(400, 'invalid', `The parameter ${name} is no criterion`)
  if (!isResult || (GROUP_PARAMETERS.has(name) && !state.isGrouped)) {
    refuseModifier(state, name)
    return false
  }
  if (include) state.includes.push(includeOf(name, value, state.options.custom))
  else RESULTS[name]!(state, value)
  return true
}

/** Throws FhirError 400 for a modifier on a result parameter. Otherwise the parameter would count as an unknown criterion. */
function refuseModifier({ type }: State, name: string): void {
  const [base = '', modifier] = name.split(':', 2)
  const isResultParameter = Object.hasOwn(RESULTS, base) || isInclude(base) || (base === '_type' && type === undefined)
  if (modifier !== undefined && isResultParameter)
    throw fhirError(400, 'not-supported', `The modifier :${modifier.slice(0, 50)} is not supported on the parameter ${base}`)
}

function readCriterion(state: State, name: string, value: string): boolean {
  if (name === '_type' && state.type === undefined) return true
  const condition = sharedCriterionOf(state, name, value, state.options, state.left)
  if (condition === undefined) return false
  state.where.push(condition)
  return true
}

const onlyOf = (types: readonly string[] = []): string | undefined => (types.length === 1 ? types[0] : undefined)
