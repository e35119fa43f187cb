/** Reads the parameters of a search: what is asked, and how the answer is wanted. https://hl7.org/fhir/R4/search.html */
import { type FhirError, fhirError } from '../fhir/outcome.ts'
import { isResourceType, resourceTypes } from '../fhir/resource-types.ts'
import { pageSize } from './page-size.ts'
import { type SearchParameter, searchParameter } from './parameters.ts'
import { all, not, type Predicate, type SortKey, some } from './plan.ts'
import type { Reading } from './reading.ts'
import { splitValue } from './types/search-type.ts'
import { SEARCH_TYPES } from './types/search-types.ts'

export type Pairs = readonly (readonly [name: string, value: string])[]

export type SearchOptions = Reading & {
  readonly handling?: 'strict' | 'lenient'
  readonly pagination?: 'offset-skip' | 'offset-page'
  /** Conditional interactions: result parameters are errors, and so is what is unknown. */
  readonly criteriaOnly?: boolean
  /** Milliseconds since 1970: how far away a date is decides what is about it. Absent, `ap` is refused for dates. */
  readonly now?: number
}

export type SearchRequest = {
  readonly where: Predicate
  readonly order: readonly SortKey[]
  readonly count: number
  readonly total: 'none' | 'estimate' | 'accurate'
  readonly skip?: number
  /** The parameters of the page after this one, when paging by offset. */
  readonly nextPage: Pairs
  /** System-wide search: the types asked for. */
  readonly types?: readonly string[]
  /** What was understood: the self link shows it. */
  readonly used: Pairs
}

/** FhirError 400: malformed value, unsupported modifier, and, strictly handled, an unknown parameter. */
export function parseSearch(type: string | undefined, pairs: Pairs, options: SearchOptions): SearchRequest {
  const state: State = { type, options, where: [], order: [], used: [], count: pageSize(undefined), total: 'estimate' }
  for (const [name, value] of pairs) {
    if (!(readResult(state, name, value) || readCriterion(state, name, value))) {
      if (options.handling === 'strict' || options.criteriaOnly)
        throw fhirError(400, 'not-found', `Unknown search parameter ${name.slice(0, 100)}${type === undefined ? '' : ` of ${type}`}`)
      continue
    }
    state.used.push([name, value])
    if (state.where.length > MOST_CRITERIA) throw fhirError(400, 'too-costly', `A search takes at most ${MOST_CRITERIA} criteria`)
  }
  return requestOf(state)
}

const DEEPEST_SKIP = 10_000
const MOST_CRITERIA = 200
/** Of one criterion. Keys are one look-up, however many. */
const MOST_RANGES = 100

type State = {
  readonly type: string | undefined
  readonly options: SearchOptions
  readonly where: Predicate[]
  readonly used: (readonly [string, string])[]
  order: readonly SortKey[]
  count: number
  total: SearchRequest['total']
  offset?: number
  types?: readonly string[]
}

function requestOf({ where, order, used, count, total, offset, types, options }: State): SearchRequest {
  const paged = options.pagination === 'offset-page' || used.some(([name]) => name === '_page')
  const offsets = options.pagination !== undefined || offset !== undefined
  const skip = (offset ?? 0) * (paged ? count : 1)
  if (offsets && skip > DEEPEST_SKIP)
    throw fhirError(400, 'too-costly', `Offsets go up to ${DEEPEST_SKIP}: page by the cursors of the links instead`)
  const name = paged ? '_page' : '_skip'
  const next = paged ? (offset ?? 0) + 1 : skip + count
  return {
    where: all(...where),
    order,
    count,
    total: count === 0 ? 'accurate' : total,
    ...(offsets ? { skip } : {}),
    nextPage: [...used.filter(([used]) => used !== name), [name, String(next)]],
    ...(types === undefined ? {} : { types }),
    used,
  }
}

type Reader = (state: State, value: string) => void

/** Parameters about the answer. https://hl7.org/fhir/R4/search.html#return */
const RESULTS: Readonly<Record<string, Reader>> = {
  _count(state, value) {
    state.count = pageSize(value)
  },
  _sort(state, value) {
    state.order = value.split(',').map((key) => sortKey(state, key))
  },
  _total(state, value) {
    if (value !== 'none' && value !== 'estimate' && value !== 'accurate') throw wrong('_total', 'none, estimate or accurate')
    state.total = value
  },
  _summary(state, value) {
    if (value === 'count') state.count = 0
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

function sortKey({ type }: State, key: string): SortKey {
  const param = key.trim().replace(/^-/, '')
  const found = searchParameter(type ?? 'Resource', param)
  if (found === undefined || !isSearchable(found))
    throw wrong('_sort', `a search parameter${type === undefined ? '' : ` of ${type}`}, perhaps after a minus`)
  return { param, descending: key.trim().startsWith('-') }
}

function readResult(state: State, name: string, value: string): boolean {
  if (!Object.hasOwn(RESULTS, name)) return false
  if (state.options.criteriaOnly) throw fhirError(400, 'invalid', `The parameter ${name} is no criterion`)
  RESULTS[name]!(state, value)
  return true
}

function readCriterion(state: State, name: string, value: string): boolean {
  if (name === '_type' && state.type === undefined) {
    state.types = typesOf(value)
    return true
  }
  const [code = '', ...modifiers] = name.split(':')
  const parameter = searchParameter(state.type ?? 'Resource', code)
  if (parameter === undefined || !isSearchable(parameter)) return false
  state.where.push(lower(parameter, modifiers.length === 0 ? undefined : modifiers.join(':'), value, state.options))
  return true
}

function typesOf(value: string): readonly string[] {
  const types = value.split(',')
  if (!types.every(isResourceType)) throw wrong('_type', 'a list of resource types')
  return resourceTypes.filter((type) => types.includes(type))
}

/** One criterion: any of its values; `:not=a,b` means neither. */
function lower(parameter: SearchParameter, modifier: string | undefined, value: string, options: SearchOptions): Predicate {
  const { code, type } = parameter
  const searchType = SEARCH_TYPES[type]!
  if (modifier === 'missing') return missing(parameter, value)
  const isTarget = type === 'reference' && modifier !== undefined && parameter.targets.includes(modifier)
  if (modifier !== undefined && !isTarget && !searchType.modifiers.includes(modifier))
    throw fhirError(400, 'not-supported', `The modifier :${modifier.slice(0, 50)} is not supported on the parameter ${code}`)
  const values = splitValue(value, ',')
  if (values.every((each) => each.trim() === '')) throw fhirError(400, 'value', `The parameter ${code} has no value`)
  const each = values.filter((each) => each.trim() !== '').map((each) => searchType.lower(parameter, each, modifier, options))
  if (each.filter(({ kind }) => kind !== 'key').length > MOST_RANGES)
    throw fhirError(400, 'too-costly', `The parameter ${code} takes at most ${MOST_RANGES} such values`)
  return modifier === 'not' ? not(merged(each)) : merged(each)
}

/** Any of them; keys of one field become one look-up. */
function merged(predicates: readonly Predicate[]): Predicate {
  const keys = new Map<string, string[]>()
  const others: Predicate[] = []
  for (const predicate of predicates)
    if (predicate.kind !== 'key') others.push(predicate)
    else if (keys.has(predicate.field)) keys.get(predicate.field)!.push(...predicate.oneOf)
    else keys.set(predicate.field, [...predicate.oneOf])
  return some(...[...keys].map(([field, oneOf]): Predicate => ({ kind: 'key', field, oneOf: [...new Set(oneOf)] })), ...others)
}

function missing(parameter: SearchParameter, value: string): Predicate {
  const { code } = parameter
  if (code === 'address')
    throw fhirError(400, 'not-supported', 'The parameter address is an address: the modifier :missing is not supported')
  if (value !== 'true' && value !== 'false') throw wrong(`${code}:missing`, 'true or false')
  const present: Predicate = { kind: 'present', field: code }
  return value === 'true' ? not(present) : present
}

const wrong = (name: string, expected: string): FhirError => fhirError(400, 'value', `The value of ${name} is not ${expected}`)

/** The server can search by it. */
export const isSearchable = ({ type }: SearchParameter): boolean => SEARCH_TYPES[type] !== undefined
