/** What `$everything` is asked for, and the links of its pages. https://hl7.org/fhir/R4/patient-operation-everything.html */
import type { BundleLink } from '../../fhir/bundle.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { TimeWindow } from '../../search/clinical-dates.ts'
import { parsePageSize } from '../../search/query/page-size.ts'
import { checkSingleValued, MAX_SEARCH_PARAMETERS, type ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { INSTANT_VALUE_NAMES, parsePostedParameters, TEXT_VALUE_NAMES } from '../../search/query/posted-parameters.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { checkCursor, openCursor, type PagedRequest, sealCursor } from '../searching/cursor.ts'
import { GENERAL_PARAMETERS, linkParametersOf, parseDateParameter, toQueryText } from '../searching/page-limits.ts'

/**
 * Where a page goes on. `own`: with what belongs to the patient, after this one; `gathering`: by looking for what that refers to, as far as it
 * came; `referred`: with that, after the one of this name. `kept`: the key of what was gathered.
 */
export type EverythingPosition =
  | { readonly in: 'own'; readonly after?: { readonly type: string; readonly id: string } }
  | { readonly in: 'gathering'; readonly kept: string }
  | { readonly in: 'referred'; readonly kept: string; readonly after?: string }

/** What a paging link carries, sealed. `posted`: the parameters that came in a body. */
type Cursor = { readonly place: EverythingPosition; readonly posted: ParameterPairs }

export type EverythingRequest = {
  /** Resources of a page; absent: as many as it holds. */
  readonly count?: number
  /** By the clinical dates of what belongs to the patient. */
  readonly window: TimeWindow
  /** Only versions with lastUpdated > since. */
  readonly since?: number
  /** Absent: all. */
  readonly types?: ReadonlySet<string>
  /** Absent: the first page. */
  readonly place?: EverythingPosition
  readonly paged: PagedRequest
  /** Of the URL, as links show them. */
  readonly shown: ParameterPairs
  readonly posted: ParameterPairs
}

type Sealing = Pick<Ports, 'seal' | 'clock'>

/** FhirError 400: a parameter that cannot be meant, a cursor that is not of this; 410: one that has expired. */
export function parseEverythingRequest({ seal, clock }: Sealing, request: FhirRequest): EverythingRequest {
  const [, text] = request.parameters.find(([name]) => name === '_cursor') ?? []
  const inUrl = request.parameters.filter(([name]) => name !== '_cursor')
  const cursor = text === undefined ? undefined : openCursor<Cursor>(seal, clock, text, request)
  const posted = cursor?.position.posted ?? (request.resource === undefined ? [] : parsePostedParameters(request.resource, POSTED))
  checkSingleValued([...request.parameters, ...posted], GIVEN_ONCE)
  const state = read(request, [...inUrl, ...posted])
  const { count, window, since, types } = state
  const paged = { caller: request, path: pathOf(request), of: [window.low, window.high, since, types && [...types].sort()] }
  if (cursor !== undefined) checkCursor(cursor, paged)
  return {
    ...(count === undefined ? {} : { count }),
    ...(since === undefined ? {} : { since }),
    ...(types === undefined ? {} : { types }),
    ...(cursor === undefined ? {} : { place: cursor.position.place }),
    ...{ window, paged, posted, shown: linkParametersOf(inUrl.filter(isKnown), { count }) },
  }
}

const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['start', ['valueDate', 'valueDateTime', 'valueString']],
  ['end', ['valueDate', 'valueDateTime', 'valueString']],
  ['_since', INSTANT_VALUE_NAMES],
  ['_type', TEXT_VALUE_NAMES],
  ['_count', ['valueInteger', 'valueString']],
])

const isKnown = ([name]: ParameterPairs[number]): boolean => PARAMETERS.has(name) || GENERAL_PARAMETERS.has(name)

/** Types are joined. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(['start', 'end', '_since', '_count', '_cursor', '_summary', '_elements'])

const POSTED = { to: '$everything', most: MAX_SEARCH_PARAMETERS, kinds: PARAMETERS }

/** Below the base. */
const pathOf = ({ type, id }: FhirRequest): string => `/${type}/${id}/$everything`

type State = { count?: number; window: TimeWindow; since?: number; types?: Set<string> }

function read({ preferences, reading }: FhirRequest, pairs: ParameterPairs): State {
  const state: State = { window: {} }
  for (const [name, value] of pairs) {
    // A plus sign that was not percent-encoded arrives as a space.
    const date = () => parseDateParameter(name, value.replace(' ', '+'), reading)
    if (name === 'start') state.window = { ...state.window, low: date().low }
    else if (name === 'end') state.window = { ...state.window, high: date().high }
    else if (name === '_since') state.since = date().low
    else if (name === '_type') state.types = new Set([...(state.types ?? []), ...typesIn(value)])
    else if (name === '_count') state.count = Math.max(1, parsePageSize(value))
    else if (preferences.handling === 'strict' && !GENERAL_PARAMETERS.has(name))
      throw fhirError(400, 'not-found', `Unknown parameter ${name.slice(0, 100)} of $everything`)
  }
  const { low, high } = state.window
  if (low !== undefined && high !== undefined && high <= low) throw fhirError(400, 'value', 'The end is before the start')
  return state
}

function typesIn(value: string): readonly string[] {
  const types = value.split(',').map((type) => type.trim())
  const unknown = types.find((type) => !isResourceType(type))
  if (unknown !== undefined) throw fhirError(400, 'value', `_type names ${JSON.stringify(unknown.slice(0, 64))}, which is no type of R4`)
  return types
}

export function everythingLinksOf(
  { seal, clock }: Sealing,
  request: FhirRequest,
  asked: EverythingRequest,
  next: EverythingPosition | undefined,
): readonly BundleLink[] {
  const { shown, posted, paged } = asked
  const url = (pairs: ParameterPairs): string => `${request.baseUrl}${pathOf(request)}${pairs.length === 0 ? '' : `?${toQueryText(pairs)}`}`
  const self: BundleLink = { relation: 'self', url: url(shown) }
  if (next === undefined) return [self]
  const cursor: Cursor = { place: next, posted }
  return [self, { relation: 'next', url: url([...shown, ['_cursor', sealCursor(seal, clock, cursor, paged)]]) }]
}
