/** Parameters of an export kick-off. Specification 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters */
import { parseDateRange } from '../fhir/date-range.ts'
import { FhirError, fhirError } from '../fhir/outcome.ts'
import { toLocalReference } from '../fhir/references.ts'
import { isId } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { Condition } from '../search/query/condition.ts'
import { type ParameterPairs, parseParameterPairs } from '../search/query/parameter-pairs.ts'
import { parseSearch } from '../search/query/query.ts'
import type { SearchContext } from '../search/search-context.ts'

export type ExportLevel = 'system' | 'patient' | 'group'

/** Setting that names the types of Group exports. */
export const GROUP_TYPES_SETTING = 'FHIR_GROUP_EXPORT_TYPES'

/** Element of `_elements`, at the root of a resource. Without `type` it applies to every type that has the element. */
export type RequestedElement = { readonly type?: string; readonly element: string }
/** A `_typeFilter`. `query`: the search criteria without `Type?`. */
export type TypeFilter = { readonly type: string; readonly query: string }

/**
 * Returns the conditions of the filter, all of which must hold. `now`: instant that the date prefix `ap` compares with, in milliseconds
 * since 1970. Throws FhirError 400 if the filter is invalid, and 403 for a parameter that the caller must not use.
 */
export const parseFilter = ({ type, query }: TypeFilter, reading: SearchContext, now: number): readonly Condition[] =>
  parseSearch(type, parseParameterPairs(query), { ...reading, handling: 'strict', criteriaOnly: true, now }).where

/** Instants are milliseconds since 1970. */
export type ExportRequest = {
  /** Exports only versions with lastUpdated > since. */
  readonly since?: number
  /** Exports only versions with lastUpdated < until. */
  readonly until?: number
  /** Requested types. Absent: all types of the level. */
  readonly types?: readonly string[]
  readonly elements: readonly RequestedElement[]
  /** References such as `Patient/1`. Empty: the request names no patients, so all patients of the level are exported. */
  readonly patients: readonly string[]
  /** Filters. A resource must match one of the filters of its type; a type without filters is not filtered. */
  readonly filters: readonly TypeFilter[]
  /** Messages about parameters that lenient handling ignored. The error file of the export reports them. */
  readonly passedOver: readonly string[]
}

export type KickOff = {
  readonly level: ExportLevel
  readonly parameters: ParameterPairs
  /** Whether the request is a POST. Only a POST may contain `patient`. */
  readonly posted: boolean
  readonly lenient: boolean
  readonly reading: SearchContext
  /** Time of the request, in milliseconds since 1970. */
  readonly now: number
}

const FORMATS: ReadonlySet<string> = new Set(['application/fhir+ndjson', 'application/ndjson', 'ndjson'])
const MAX_FILTERS = 100
export const MAX_NAMED_PATIENTS = 10_000
const MAX_ELEMENTS = 200
const MAX_IGNORED = 100
/**
 * Maximum characters of all parameters except `patient`, and maximum bytes of the job row at kick-off. A larger request is answered 413.
 * The row later grows by its list of files.
 */
export const MAX_REQUEST_LENGTH = 250_000

type State = {
  -readonly [Field in keyof ExportRequest]: ExportRequest[Field] extends readonly (infer Item)[] ? Item[] : ExportRequest[Field]
}

/**
 * Parses the parameters. Throws FhirError 400 that names the parameter, or 413 if the request is too long. With lenient handling it ignores
 * unknown parameters and most invalid values instead, and records a message for each.
 */
export function parseExportRequest(kickOff: KickOff): ExportRequest {
  const limited = kickOff.parameters.filter(([name]) => name !== 'patient')
  if (limited.reduce((sum, [name, value]) => sum + name.length + value.length, 0) > MAX_REQUEST_LENGTH) throw requestTooLong()
  const state: State = { elements: [], patients: [], filters: [], passedOver: [] }
  for (const [name, value] of kickOff.parameters) read(state, name, value, kickOff)
  if (state.since !== undefined && state.until !== undefined && state.until <= state.since)
    throw invalid('_until', 'is not later than _since')
  return { ...state, patients: [...new Set(state.patients)] }
}

function read(state: State, name: string, value: string, kickOff: KickOff): void {
  switch (name) {
    case '_outputFormat':
      if (!FORMATS.has(withPlus(value))) throw invalid(name, `is one of ${[...FORMATS].join(', ')}`)
      return
    case '_since':
    case '_until':
      return readInstant(state, name, value, kickOff)
    case '_type':
      return readTypes(state, value, kickOff)
    case '_elements':
      return readElements(state, value)
    case 'patient':
      return readPatient(state, value, kickOff)
    case '_typeFilter':
      for (const each of value.split(NEXT_FILTER)) readFilter(state, each, kickOff)
      return
    default:
      ignoreOrReject(state, kickOff.lenient, invalid(name, 'is not a parameter of an export'))
  }
}

/** A comma that separates two filters. The next filter starts with a type and `?`; a comma within a filter has other text after it. */
const NEXT_FILTER = /,(?=[A-Z][A-Za-z]+\?)/

function readInstant(state: State, name: '_since' | '_until', value: string, kickOff: KickOff): void {
  const field = name === '_since' ? 'since' : 'until'
  if (state[field] !== undefined) throw invalid(name, 'is given twice')
  const text = withPlus(value)
  const range = parseDateRange(text)
  const instant = range !== undefined && /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? range.low : undefined
  if (instant === undefined) ignoreOrReject(state, kickOff.lenient, invalid(name, 'is an instant, as 2026-01-31T12:00:00Z'))
  else if (name === '_since' && instant > kickOff.now) ignoreOrReject(state, kickOff.lenient, invalid(name, 'is later than now'))
  else state[field] = instant
}

/** Restores a plus sign that was not percent-encoded and therefore arrived as a space. */
const withPlus = (value: string): string => value.replace(' ', '+')

function readTypes(state: State, value: string, kickOff: KickOff): void {
  const types = listed(value)
  if (types.length === 0) return ignoreOrReject(state, kickOff.lenient, invalid('_type', 'names no type'))
  state.types ??= []
  const valid = types.filter((type) => {
    if (!isResourceType(type))
      ignoreOrReject(state, kickOff.lenient, invalid('_type', `names ${JSON.stringify(type.slice(0, 64))}, which is no type of R4`))
    return isResourceType(type)
  })
  state.types = [...new Set([...state.types, ...valid])]
}

function readPatient(state: State, value: string, { level, posted, reading }: KickOff): void {
  if (!posted) throw invalid('patient', 'is sent by POST, in Parameters')
  if (level === 'system') throw invalid('patient', 'is for exports of patients or of a group')
  const name = isId(value) ? `Patient/${value}` : toLocalReference(value, reading)
  if (name?.startsWith('Patient/') !== true) throw invalid('patient', 'is a reference to a Patient of this server, as Patient/1')
  state.patients.push(name)
  if (state.patients.length > MAX_NAMED_PATIENTS) throw invalid('patient', `is given more than ${MAX_NAMED_PATIENTS} times`)
}

function readFilter(state: State, text: string, kickOff: KickOff): void {
  const [, type = '', query = ''] = /^([A-Za-z]+)\?(.+)$/s.exec(text) ?? []
  if (!isResourceType(type))
    return ignoreOrReject(state, kickOff.lenient, invalid('_typeFilter', 'is a search of a type, as Observation?status=final'))
  try {
    parseFilter({ type, query }, kickOff.reading, 0)
  } catch (error) {
    if (error instanceof FhirError && error.status === 403) throw error
    return ignoreOrReject(state, kickOff.lenient, invalid('_typeFilter', `cannot be used: ${type}?…: ${(error as Error).message}`))
  }
  state.filters.push({ type, query })
  if (state.filters.length > MAX_FILTERS) throw invalid('_typeFilter', `holds more than ${MAX_FILTERS} searches`)
}

function readElements(state: State, value: string): void {
  const elements = listed(value)
  if (elements.length === 0) throw invalid('_elements', 'names no element')
  for (const each of elements) state.elements.push(elementOf(each))
  if (state.elements.length > MAX_ELEMENTS) throw invalid('_elements', `names more than ${MAX_ELEMENTS} elements`)
}

function elementOf(text: string): RequestedElement {
  const [, type, element = ''] = /^(?:([A-Z][A-Za-z]+)\.)?([a-z][A-Za-z0-9]*(?:\[x\])?)$/.exec(text) ?? []
  if (element === '' || (type !== undefined && !isResourceType(type)))
    throw invalid('_elements', `names ${JSON.stringify(text.slice(0, 64))}: an element at the root is Patient.name, or name`)
  return type === undefined ? { element } : { type, element }
}

const listed = (value: string): readonly string[] =>
  value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

/**
 * Throws the error, or records its message with lenient handling. Throws it also once MAX_IGNORED messages are recorded.
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#query-parameters
 */
export function ignoreOrReject(state: Pick<State, 'passedOver'>, lenient: boolean, error: Error): void {
  if (!lenient || state.passedOver.length === MAX_IGNORED) throw error
  state.passedOver.push(error.message)
}

const invalid = (name: string, text: string): Error => fhirError(400, 'value', `${name.slice(0, 64)} ${text}`)

/**
 * Returns the error of a request that is too long. The length is checked before any parameter is parsed, because parsing delays other
 * requests.
 */
export const requestTooLong = (): FhirError =>
  fhirError(
    413,
    'too-long',
    `All that one export asks for has at most ${MAX_REQUEST_LENGTH} characters, besides patients: ask for fewer filters, in several exports`,
  )
