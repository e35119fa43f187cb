/** Reads the parameters of a search: what is asked, and how the answer is wanted. https://hl7.org/fhir/R4/search.html */
import { fhirError } from '../fhir/outcome.ts'
import { isResourceType, resourceTypes } from '../fhir/resource-types.ts'
import { type Budget, spendValues, wholeBudget } from './budget.ts'
import type { Condition } from './condition.ts'
import { criterionOf, isSearchable, wrong } from './criterion.ts'
import { type Grouping, groupCount, groupField, groupsOnPage } from './group.ts'
import { type Include, includeOf, isInclude } from './include.ts'
import { pageSize } from './page-size.ts'
import { MOST_PARAMETERS, type Pairs, tooManyParameters } from './pairs.ts'
import { searchParameter } from './parameters.ts'
import type { SortKey } from './plan.ts'
import type { Reading } from './reading.ts'

export type SearchOptions = Reading & {
  readonly handling?: 'strict' | 'lenient'
  readonly pagination?: 'offset-skip' | 'offset-page'
  /** Conditional interactions: result parameters are errors, and so is what is unknown. */
  readonly criteriaOnly?: boolean
  /** Milliseconds since 1970: how far away a date is decides what is about it. Absent, `ap` is refused for dates. */
  readonly now?: number
}

export type SearchRequest = {
  /** All of them are met. */
  readonly where: readonly Condition[]
  readonly order: readonly SortKey[]
  readonly count: number
  readonly total: 'none' | 'estimate' | 'accurate'
  readonly skip?: number
  /** Paging by offset: the name of its parameter, where this page is, and how far it is to the next. */
  readonly offset?: { readonly name: '_skip' | '_page'; readonly at: number; readonly step: number }
  readonly includes: readonly Include[]
  readonly group?: Grouping
  /** System-wide search: the types asked for. */
  readonly types?: readonly string[]
  /** What was understood: the self link shows it. */
  readonly used: Pairs
  /** Of these, the ones that decide what matches. */
  readonly criteria: Pairs
}

/** FhirError 400: malformed value, unsupported modifier, too much of something, and, strictly handled, an unknown parameter. */
export function parseSearch(type: string | undefined, pairs: Pairs, options: SearchOptions): SearchRequest {
  if (pairs.length > MOST_PARAMETERS) throw tooManyParameters()
  const state = stateOf(type, options)
  for (const [name, value] of pairs) {
    const isResult = readResult(state, name, value)
    if (!isResult && !readCriterion(state, name, value)) {
      if (options.handling === 'strict' || options.criteriaOnly)
        throw fhirError(400, 'not-found', `Unknown search parameter ${name.slice(0, 100)}${type === undefined ? '' : ` of ${type}`}`)
      continue
    }
    state.used.push([name, value])
    if (!isResult) state.criteria.push([name, value])
    if (state.criteria.length > MOST_CRITERIA) throw fhirError(400, 'too-costly', `A search takes at most ${MOST_CRITERIA} criteria`)
    if (state.includes.length > MOST_INCLUDES) throw fhirError(400, 'too-costly', `A search takes at most ${MOST_INCLUDES} includes`)
  }
  return requestOf(state)
}

const DEEPEST_SKIP = 10_000
const MOST_CRITERIA = 200
const MOST_INCLUDES = 50
const MOST_SORT_KEYS = 10

type State = {
  readonly type: string | undefined
  readonly options: SearchOptions
  readonly left: Budget
  readonly where: Condition[]
  readonly includes: Include[]
  readonly used: (readonly [string, string])[]
  readonly criteria: (readonly [string, string])[]
  order: readonly SortKey[]
  count: number
  total: SearchRequest['total']
  offset?: number
  groupField?: string
  groupOrder?: readonly SortKey[]
  groupCount?: number
  types?: readonly string[]
}

const stateOf = (type: string | undefined, options: SearchOptions): State => ({
  type,
  options,
  left: wholeBudget(),
  where: [],
  includes: [],
  used: [],
  criteria: [],
  order: [],
  count: pageSize(undefined),
  total: 'estimate',
})

function requestOf(state: State): SearchRequest {
  const { where, order, used, criteria, includes, total, offset, types, options } = state
  const group = groupingOf(state)
  const count = group === undefined ? state.count : groupsOnPage(state.count, group.hits)
  const paged = options.pagination === 'offset-page' || used.some(([name]) => name === '_page')
  const offsets = options.pagination !== undefined || offset !== undefined
  const skip = (offset ?? 0) * (paged ? count : 1)
  if (offsets && skip > DEEPEST_SKIP)
    throw fhirError(400, 'too-costly', `Offsets go up to ${DEEPEST_SKIP}: page by the cursors of the links instead`)
  return {
    where,
    includes,
    ...(group === undefined ? {} : { group }),
    order,
    count,
    total: count === 0 ? 'accurate' : total,
    ...(offsets ? { skip, offset: { name: paged ? '_page' : '_skip', at: offset ?? 0, step: paged ? 1 : count } } : {}),
    ...(types === undefined ? {} : { types }),
    used,
    criteria,
  }
}

function groupingOf({ groupField: field, groupOrder, groupCount: hits = 1 }: State): Grouping | undefined {
  return field === undefined ? undefined : { field, order: groupOrder ?? [{ field: '_lastUpdated', descending: true }], hits }
}

type Reader = (state: State, value: string) => void

/** Parameters about the answer. https://hl7.org/fhir/R4/search.html#return */
const RESULTS: Readonly<Record<string, Reader>> = {
  _count(state, value) {
    state.count = pageSize(value)
  },
  _sort(state, value) {
    state.order = sortKeys(state, '_sort', value)
  },
  _total(state, value) {
    if (value !== 'none' && value !== 'estimate' && value !== 'accurate') throw wrong('_total', 'none, estimate or accurate')
    state.total = value
  },
  _summary(state, value) {
    if (value === 'count') state.count = 0
  },
  _group(state, value) {
    state.groupField = groupField(state.type, value, state.options.custom)
  },
  _groupSort(state, value) {
    state.groupOrder = sortKeys(state, '_groupSort', value)
  },
  _groupCount(state, value) {
    state.groupCount = groupCount(value)
  },
  _skip: readOffset('_skip'),
  _page: readOffset('_page'),
  _elements() {},
  _format() {},
  _pretty() {},
}

function readOffset(name: string): Reader {
  return (state, value) => {
    if (!/^\d{1,15}$/.test(value)) throw wrong(name, 'a number')
    state.offset = Number(value)
  }
}

function sortKeys(state: State, name: string, value: string): readonly SortKey[] {
  // One more than are allowed is enough to know.
  const keys = value.split(',', MOST_SORT_KEYS + 1).map((key) => sortKey(state, name, key))
  if (keys.length > MOST_SORT_KEYS) throw fhirError(400, 'too-costly', `${name} takes at most ${MOST_SORT_KEYS} parameters`)
  if (new Set(keys.map(({ field }) => field)).size < keys.length) throw wrong(name, 'a list in which each parameter stands once')
  return keys
}

function sortKey({ type, options }: State, name: string, key: string): SortKey {
  const code = key.trim().replace(/^-/, '')
  const found = searchParameter(type ?? 'Resource', code, options.custom)
  if (found === undefined || !isSearchable(found))
    throw wrong(name, `a search parameter${type === undefined ? '' : ` of ${type}`}, perhaps after a minus`)
  return { field: found.field, descending: key.trim().startsWith('-') }
}

function readResult(state: State, name: string, value: string): boolean {
  const include = isInclude(name)
  if (!include && !Object.hasOwn(RESULTS, name)) return false
  if (state.options.criteriaOnly) throw fhirError(400, 'invalid', `The parameter ${name} is no criterion`)
  if (include) state.includes.push(includeOf(name, value, state.options.custom))
  else RESULTS[name]!(state, value)
  return true
}

function readCriterion(state: State, name: string, value: string): boolean {
  if (name === '_type' && state.type === undefined) {
    state.types = typesOf(value, state.left)
    return true
  }
  const condition = criterionOf(state.type, name, value, state.options, state.left)
  if (condition === undefined) return false
  state.where.push(condition)
  return true
}

function typesOf(value: string, left: Budget): readonly string[] {
  const types = value.split(',')
  spendValues(left, types.length)
  if (!types.every(isResourceType)) throw wrong('_type', 'a list of resource types')
  return resourceTypes.filter((type) => types.includes(type))
}
