/** Parses which page of a search is requested, and creates the links to other pages. https://hl7.org/fhir/R4/search.html#Paging */
import { searchContextUnder } from '../../access/view/view-rules.ts'
import type { BundleLink } from '../../fhir/bundle.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { isFault } from '../../ports/faults.ts'
import type { GroupPosition, HitPosition } from '../../ports/search/plan.ts'
import { checkSingleValued, type ParameterPairs } from '../../search/query/parameter-pairs.ts'
import {
  isOffsetParameter,
  MAX_SKIP,
  type OffsetParameter,
  parseSearch,
  type SearchRequest,
  SINGLE_VALUE_PARAMETERS,
} from '../../search/query/query.ts'
import type { FhirRequest } from '../interaction.ts'
import { checkCursor, openCursor, type PagedRequest, sealCursor } from './cursor.ts'
import type { NextPage, PagePorts } from './page-entries.ts'
import { toQueryText } from './page-limits.ts'
import { limitPublicParameters, limitPublicSearch } from './public-search.ts'
import { readStoredQuery, storeQuery } from './stored-query.ts'

/**
 * Sealed content of a paging link. `after`: position after which the page starts. `query`: key of the stored parameters, if the link does
 * not show them.
 */
type Cursor = { readonly after?: HitPosition | GroupPosition; readonly query?: string }

/** Content that the link actually carries. `whole`: key of a stored Cursor that is too long for a link. */
type Carried = Cursor | { readonly whole: string }

export type PageRequest = {
  readonly search: SearchRequest
  readonly paged: PagedRequest
  readonly after?: HitPosition | GroupPosition
  /** Whether the links must not show the parameters, because they came in a body or are too long. */
  readonly isHidden: boolean
  /** Key of the parameters if they are already stored, as in Cursor. */
  readonly query?: string
}

/** Maximum characters of a query in a link. Longer queries are stored, and their links carry a key. */
const LONGEST_QUERY = 4_000
/** Maximum characters of a cursor; longer ones are stored too. The whole link then stays below the 8,192 characters that proxies accept. */
const LONGEST_CURSOR = 3_500

/**
 * Parses the search and the position of its page. Throws FhirError 400 for an invalid search or the cursor of another search. Throws
 * FhirError 410 for an expired cursor, and 403 for a parameter that could reveal what the view of the caller hides.
 */
export async function parsePageRequest(ports: PagePorts, request: FhirRequest): Promise<PageRequest> {
  checkSingleValued(request.parameters, SINGLE_VALUE_PARAMETERS)
  const [, text] = request.parameters.find(([name]) => name === '_cursor') ?? []
  const given = request.parameters.filter(([name]) => name !== '_cursor')
  if (text === undefined) return askedOf(ports, request, given, { isHidden: hidesParameters(request) })
  const cursor = openCursor<Carried>(ports.seal, ports.clock, text, request)
  const { after, query } = await wholeOf(ports, request, cursor.position)
  const kept = query === undefined ? [] : await stillKept(ports, request, query)
  const isSaidAgain = (name: string): boolean => SINGLE_VALUE_PARAMETERS.has(name) && given.some(([other]) => other === name)
  const asked = askedOf(ports, request, [...kept.filter(([name]) => !isSaidAgain(name)), ...given], {
    isHidden: hidesParameters(request) || query !== undefined,
    ...(after === undefined ? {} : { after }),
    ...(query === undefined || given.some(([name]) => !isOffsetParameter(name)) ? {} : { query }),
  })
  checkCursor(cursor, asked.paged)
  if (after !== undefined && asked.search.offset !== undefined)
    throw fhirError(400, 'invalid', 'A cursor goes on where its page ended: it takes no offset beside it')
  return asked
}

/** Whether links must not show the parameters of the body. Links of public read show them, so that the server stores none. */
const hidesParameters = ({ posted, isPublic }: FhirRequest): boolean => posted && isPublic !== true

const wholeOf = async (ports: PagePorts, request: FhirRequest, carried: Carried): Promise<Cursor> =>
  'whole' in carried ? stillKept<Cursor>(ports, request, carried.whole) : carried

async function stillKept<Kept = ParameterPairs>({ blobs }: PagePorts, request: FhirRequest, key: string): Promise<Kept> {
  const kept = await readStoredQuery<Kept>(blobs, request, key)
  if (kept === undefined)
    throw fhirError(410, 'not-found', 'The search of the paging link is no longer kept: start again from the first page')
  return kept
}

function askedOf(
  { clock }: PagePorts,
  request: FhirRequest,
  pairs: ParameterPairs,
  more: Omit<PageRequest, 'search' | 'paged'>,
): PageRequest {
  // Check the length first, because parsing long values delays other requests.
  if (request.isPublic && toQueryText(pairs).length > LONGEST_QUERY)
    throw fhirError(400, 'too-costly', `The parameters of a search without a token have at most ${LONGEST_QUERY} characters`)
  // A cursor continues where its page ended, regardless of the preferred pagination.
  const { pagination, ...preferences } = request.preferences
  const preferred = more.after === undefined && pagination !== undefined ? { pagination } : {}
  const reading = searchContextUnder(request.access.view, request.reading)
  const options = { ...preferences, ...preferred, now: clock.now(), ...reading }
  const search = request.isPublic
    ? limitPublicSearch(parseSearch(request.type, limitPublicParameters(pairs), options))
    : parseSearch(request.type, pairs, options)
  const { criteria, order, group } = search
  const isLong = toQueryText(search.used).length > LONGEST_QUERY
  const filters = criteria.map((pair) => JSON.stringify(pair)).sort()
  return {
    search,
    paged: { caller: request, path: pathOf(request), of: [filters, order, group?.field, group?.order] },
    ...more,
    isHidden: more.isHidden || isLong,
  }
}

/** Returns the path of the search below the base URL. A search of all types of a compartment ends with `*`. */
export const pathOf = ({ compartment, type }: FhirRequest): string =>
  [compartment === undefined ? '' : `/${compartment}`, type === undefined ? (compartment === undefined ? '' : '/*') : `/${type}`].join('')

/** Links of a page. `isUnstored`: there are none, because they need a stored query and the disk is full. */
export type PageLinks = { readonly links: readonly BundleLink[]; readonly isUnstored?: true }

export async function linksOf(ports: PagePorts, request: FhirRequest, asked: PageRequest, next: NextPage | undefined): Promise<PageLinks> {
  try {
    return { links: await linksTo(ports, request, asked, next) }
  } catch (error) {
    if (isFault(error, 'disk-full')) return { links: [], isUnstored: true }
    throw error
  }
}

async function linksTo(
  ports: PagePorts,
  request: FhirRequest,
  asked: PageRequest,
  next: NextPage | undefined,
): Promise<readonly BundleLink[]> {
  const path = pathOf(request)
  const { used } = asked.search
  const pairs = used.filter(([name]) => !isOffsetParameter(name))
  const query = asked.isHidden ? await keyOf(ports, request, asked, pairs) : undefined
  const link = async ({ relation, after, offset = [] }: PageLink): Promise<BundleLink> => {
    const url = (pairs: ParameterPairs): BundleLink => ({
      relation,
      url: `${request.baseUrl}${path}${pairs.length === 0 ? '' : `?${toQueryText(pairs)}`}`,
    })
    if (query === undefined && after === undefined) return url([...pairs, ...offset])
    const cursor: Cursor = {
      ...(after === undefined ? {} : { after }),
      ...(query === undefined ? {} : { query }),
    }
    return url([...(query === undefined ? pairs : offset), ['_cursor', await carriedBy(ports, request, cursor, asked.paged)]])
  }
  return Promise.all(pagesFrom(asked, next).map(link))
}

async function carriedBy(ports: PagePorts, request: FhirRequest, cursor: Cursor, paged: PagedRequest): Promise<string> {
  const { seal, clock } = ports
  const text = sealCursor(seal, clock, cursor, paged)
  if (text.length <= LONGEST_CURSOR) return text
  const carried: Carried = { whole: await storeQuery(ports, request, cursor) }
  return sealCursor(seal, clock, carried, paged)
}

/** Stores the parameters, unless the request came with their key. Returns the key, or undefined if there are no parameters. */
const keyOf = async (ports: PagePorts, request: FhirRequest, { query }: PageRequest, pairs: ParameterPairs): Promise<string | undefined> =>
  query ?? (pairs.length === 0 ? undefined : await storeQuery(ports, request, pairs))

type PageLink = {
  readonly relation: BundleLink['relation']
  readonly after?: HitPosition | GroupPosition
  readonly offset?: ParameterPairs
}

function pagesFrom({ search: { count, offset, used }, after }: PageRequest, next: NextPage | undefined): readonly PageLink[] {
  const self: PageLink = {
    relation: 'self',
    ...(after === undefined ? {} : { after }),
    offset: used.filter(([name]) => isOffsetParameter(name)),
  }
  if (count === 0) return [self]
  const following: readonly PageLink[] = next === undefined ? [] : [{ relation: 'next', ...nextOf(offset, count, next) }]
  if (offset === undefined) return next === undefined ? [self] : [self, { relation: 'first' }, ...following]
  const { name, at } = offset
  const previous = [[name, String(Math.max(0, at - (name === '_page' ? 1 : count)))]] as const
  return [
    self,
    { relation: 'first', offset: [[name, '0']] },
    ...(at === 0 ? [] : [{ relation: 'previous', offset: previous } as const]),
    ...following,
  ]
}

/**
 * Returns the start of the next page: the next `_page` or `_skip`. After a page that ended early, `_page` becomes `_skip`. Beyond MAX_SKIP,
 * it is a cursor.
 */
function nextOf(offset: OffsetParameter | undefined, count: number, { after, shown }: NextPage): Pick<PageLink, 'after' | 'offset'> {
  if (offset === undefined) return { after }
  const isPaged = offset.name === '_page'
  const skip = offset.at * (isPaged ? count : 1) + shown
  if (skip > MAX_SKIP) return { after }
  return { offset: [isPaged && shown === count ? ['_page', String(offset.at + 1)] : ['_skip', String(skip)]] }
}
