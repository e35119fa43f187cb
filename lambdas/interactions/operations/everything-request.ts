/** Parameters of `$everything`, and the links of its pages. https://hl7.org/fhir/R4/patient-operation-everything.html */
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
 * Position at which a page starts. `own`: the resources of the patient, after the given one. `gathering`: still collecting the resources
 * that they refer to. `referred`: those resources, after the one with this name. `kept`: key of the stored collection.
 */
export type EverythingPosition =
  | { readonly in: 'own'; readonly after?: { readonly type: string; readonly id: string } }
  | { readonly in: 'gathering'; readonly kept: string }
  | { readonly in: 'referred'; readonly kept: string; readonly after?: string }

/** Content of the sealed cursor in a paging link. `posted`: parameters from the body of the first request, which links do not show. */
type Cursor = { readonly place: EverythingPosition; readonly posted: ParameterPairs }

export type EverythingRequest = {
  /** Maximum resources of a page, by `_count`. Absent: as many as MAX_PAGE_BYTES allows. */
  readonly count?: number
  /** Time window for the clinical dates of the resources, by `start` and `end`. */
  readonly window: TimeWindow
  /** Shows only versions with a lastUpdated after this instant, in milliseconds since 1970. */
  readonly since?: number
  /** Types to show, by `_type`. Absent: all types. */
  readonly types?: ReadonlySet<string>
  /** Position of the page. Absent: the first page. */
  readonly place?: EverythingPosition
  readonly paged: PagedRequest
  /** Parameters of the URL, as links repeat them. */
  readonly shown: ParameterPairs
  readonly posted: ParameterPairs
}

type Sealing = Pick<Ports, 'seal' | 'clock'>

/**
 * Parses the request. Throws FhirError 400 for an invalid parameter or a cursor of another request. Throws 410 for a cursor that has
 * expired or is from before a point-in-time restore.
 */
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

/** Parameters that may occur only once. `_type` may be repeated: its types are combined. */
const GIVEN_ONCE: ReadonlySet<string> = new Set(['start', 'end', '_since', '_count', '_cursor', '_summary', '_elements'])

const POSTED = { to: '$everything', limit: MAX_SEARCH_PARAMETERS, kinds: PARAMETERS }

/** Returns the path of the operation below the base URL. */
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
