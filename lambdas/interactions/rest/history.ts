/** FHIR history of a resource, a type or the whole system. https://hl7.org/fhir/R4/http.html#history */
import type { BundleEntry, BundleLink } from '../../fhir/bundle.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { toEtag, toInstant } from '../../fhir/version.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Seal } from '../../ports/security/seal.ts'
import type {
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceVersion,
  WriteKind,
} from '../../ports/store/resource-store.ts'
import { parsePageSize } from '../../search/query/page-size.ts'
import { checkSingleValued, type ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { FhirRequest, FhirResponse, Interaction, Ports } from '../interaction.ts'
import { keyOf } from '../resources/request-key.ts'
import { versionedKeyOf } from '../resources/shared-definitions.ts'
import { shownEntry } from '../resources/shown-entry.ts'
import { notFound } from '../resources/version-response.ts'
import { checkCursor, openCursor, type PagedRequest, sealCursor } from '../searching/cursor.ts'
import { GENERAL_PARAMETERS, linkParametersOf, parseDateParameter, takeFittingPage, toQueryText } from '../searching/page-limits.ts'
import type { VisibleStore } from '../visible-store.ts'

type HistoryPorts = Pick<Ports, 'resources' | 'clock' | 'seal' | 'choices'>

export const history =
  ({ resources, clock, seal, choices }: HistoryPorts): Interaction =>
  async (request) => {
    const asked = parametersOf(request)
    const paged: PagedRequest = { caller: request, path: pathOf(request), of: asked.window }
    const after = asked.cursor === undefined ? undefined : positionAsked(seal, clock, asked.cursor, paged)
    const seen = resources(request, request.id === undefined ? 's' : 'r')
    const scope = await scopeOf(request, seen)
    const window = choices.versioning ? asked.window : { ...asked.window, currentAt: Number.MAX_SAFE_INTEGER }
    if (asked.count === 0) return counted(request, seen, scope, asked, window)
    const page = await seen.history(scope, window, after, asked.count)
    if (scope.id !== undefined && page.versions.length === 0 && (await isUnknown(seen, scope))) throw notFound(scope)
    const versions = takeFittingPage(page.versions)
    const last = versions.at(-1)
    const more = last !== undefined && (page.more || versions.length < page.versions.length)
    const end = earliestUntil(after, page)
    const next = more ? sealCursor(seal, clock, { ...positionOf(last), ...end }, paged) : undefined
    return {
      status: 200,
      ...untilOf(end),
      body: {
        kind: 'bundle',
        type: 'history',
        // The total is only known if this is the only page.
        ...(more || after !== undefined ? {} : { total: versions.length }),
        link: linksOf(request, asked, next),
        entries: versions.map((version) => entryOf(version, request)),
      },
    }
  }

/** Maximum versions that are counted, as for the matches of a search. Beyond it, the response has no total. */
const MOST_COUNTED = 10_000

/** Returns a Bundle without entries whose total is the number of versions, for `_count=0` and `_summary=count`. */
async function counted(
  request: FhirRequest,
  seen: VisibleStore,
  scope: HistoryScope,
  asked: Asked,
  window: HistoryWindow,
): Promise<FhirResponse> {
  let total = 0
  let page: HistoryPage | undefined
  while (page === undefined || (page.more && total < MOST_COUNTED)) {
    page = await seen.history(scope, { ...window, placesOnly: true }, page?.versions.at(-1), MOST_COUNTED - total)
    total += page.versions.length
  }
  if (scope.id !== undefined && total === 0 && (await isUnknown(seen, scope))) throw notFound(scope)
  const link = linksOf(request, asked, undefined)
  return {
    status: 200,
    ...untilOf(page),
    body: { kind: 'bundle', type: 'history', ...(page.more ? {} : { total }), link, entries: [] },
  }
}

type HistoryEnd = Pick<HistoryPage, 'until'>

/**
 * Returns the earliest `until` of all pages so far. Versions stamped at or after `until` may still be missing. So each page can send it in
 * X-History-Until, and clients can use it as their next `_since`.
 */
function earliestUntil(before: HistoryEnd | undefined, { until }: HistoryPage): HistoryEnd {
  const ends = [before?.until, until].filter((end) => end !== undefined)
  return ends.length === 0 ? {} : { until: Math.min(...ends) }
}

const untilOf = ({ until }: HistoryEnd): Pick<FhirResponse, 'headers'> =>
  until === undefined ? {} : { headers: { 'x-history-until': toInstant(until) } }

const isUnknown = async (seen: VisibleStore, scope: HistoryScope): Promise<boolean> =>
  (await seen.history(scope, {}, undefined, 1)).versions.length === 0

/** Position in a cursor, with the earliest `until` of the pages before it. */
type PagePosition = HistoryPosition & HistoryEnd

function positionAsked(seal: Seal, clock: Clock, text: string, paged: PagedRequest): PagePosition {
  const cursor = openCursor<PagePosition>(seal, clock, text, paged.caller)
  checkCursor(cursor, paged)
  return cursor.position
}

async function scopeOf(request: FhirRequest, seen: VisibleStore): Promise<HistoryScope> {
  const { tenant, type, id } = request
  if (id !== undefined) return versionedKeyOf(request, seen, keyOf(request))
  return type === undefined ? { tenant } : { tenant, type }
}

const pathOf = ({ type, id }: FhirRequest): string => `/${[type, id, '_history'].filter((part) => part !== undefined).join('/')}`

type Asked = {
  readonly count: number
  readonly window: HistoryWindow
  readonly cursor?: string
  readonly shown: ParameterPairs
}

const GIVEN_ONCE: ReadonlySet<string> = new Set(['_count', '_since', '_at', '_cursor', '_summary', '_elements'])

function parametersOf({ parameters, preferences, reading, type }: FhirRequest): Asked {
  checkSingleValued(parameters, GIVEN_ONCE)
  let count = parsePageSize(undefined)
  let window: HistoryWindow = {}
  let cursor: string | undefined
  const shown = new Map<string, string>()
  for (const [name, value] of parameters) {
    if (name === '_count') count = parsePageSize(value)
    else if (name === '_since') window = { ...window, since: parseDateParameter(name, value, reading).low }
    else if (name === '_at')
      window = { ...window, before: parseDateParameter(name, value, reading).high, currentAt: parseDateParameter(name, value, reading).low }
    else if (name === '_cursor') cursor = value
    else if (preferences.handling === 'strict' && !GENERAL_PARAMETERS.has(name))
      throw fhirError(400, 'not-found', `Unknown parameter ${name} of history`)
    else if (!GENERAL_PARAMETERS.has(name)) continue
    if (name !== '_cursor') shown.set(name, value)
  }
  const isCounted = shown.get('_summary') === 'count'
  return {
    count: isCounted ? 0 : count,
    window,
    shown: linkParametersOf([...shown], { count, type }),
    ...(cursor === undefined ? {} : { cursor }),
  }
}

const positionOf = ({ lastUpdated, type, id, versionId }: ResourceVersion): HistoryPosition => ({ lastUpdated, type, id, versionId })

function linksOf(request: FhirRequest, { shown }: Asked, next: string | undefined): readonly BundleLink[] {
  const url = (extra: ParameterPairs): string => {
    const query = toQueryText([...shown, ...extra])
    return `${request.baseUrl}${pathOf(request)}${query === '' ? '' : `?${query}`}`
  }
  const self: BundleLink = { relation: 'self', url: url([]) }
  return next === undefined ? [self] : [self, { relation: 'first', url: url([]) }, { relation: 'next', url: url([['_cursor', next]]) }]
}

/** HTTP method and response status by write kind, for the `request` and `response` of a history entry. */
const REQUESTS: Readonly<Record<WriteKind | 'delete', readonly [method: string, status: string]>> = {
  create: ['POST', '201'],
  'update-as-create': ['PUT', '201'],
  update: ['PUT', '200'],
  patch: ['PATCH', '200'],
  delete: ['DELETE', '204'],
}

/** Returns the history entry of a version, with the request that created it. https://hl7.org/fhir/R4/bundle.html#history */
function entryOf(version: ResourceVersion, request: FhirRequest): BundleEntry {
  const { type, id, versionId, lastUpdated, deleted } = version
  const [method, status] = REQUESTS[deleted ? 'delete' : (version.made ?? likelyMaking(versionId))]
  const url = method === 'POST' ? type : `${type}/${id}`
  const response = { status, etag: toEtag(versionId), lastModified: toInstant(lastUpdated) }
  return shownEntry(request, version, { request: { method, url }, response })
}

/** Guesses the write kind of a version that was written before write kinds were stored. */
const likelyMaking = (versionId: number): WriteKind => (versionId === 1 ? 'create' : 'update')
