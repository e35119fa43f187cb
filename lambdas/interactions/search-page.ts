/** Which page of a search is asked for, and the links to others. https://hl7.org/fhir/R4/search.html#Paging */
import type { Link } from '../fhir/bundle.ts'
import { fhirError } from '../fhir/outcome.ts'
import type { Pairs } from '../search/pairs.ts'
import type { GroupPosition, Position } from '../search/plan.ts'
import { parseSearch, type SearchRequest } from '../search/query.ts'
import { mustPage, openCursor, type Paged, sealCursor } from './cursor.ts'
import type { FhirRequest } from './interaction.ts'
import { queryText } from './page.ts'
import type { SearchPorts } from './search-entries.ts'
import { keepQuery, keptQuery } from './stored-query.ts'

/** What a paging link carries, sealed. `query`: the key of the parameters, where the link does not show them. */
type Cursor = { readonly after?: Position | GroupPosition; readonly query?: string; readonly offset?: Pairs }

export type Asked = {
  readonly search: SearchRequest
  readonly paged: Paged
  readonly after?: Position | GroupPosition
  /** The links must not show the parameters. */
  readonly isHidden: boolean
  /** See Cursor. */
  readonly query?: string
}

/** Longer queries are kept, and their links carry a key. */
const LONGEST_QUERY = 4_000

/** FhirError 400: what the search cannot mean, and a cursor that is not of this search. */
export async function pageAsked(ports: SearchPorts, request: FhirRequest): Promise<Asked> {
  const [, text] = request.parameters.findLast(([name]) => name === '_cursor') ?? []
  const given = request.parameters.filter(([name]) => name !== '_cursor')
  if (text === undefined) return askedOf(ports, request, given, { isHidden: request.posted })
  const cursor = openCursor<Cursor>(ports.seal, ports.clock, text, request)
  const { after, query, offset = [] } = cursor.position
  const kept = query === undefined ? [] : await keptQuery(ports.blobs, request, query)
  if (kept === undefined)
    throw fhirError(410, 'not-found', 'The search of the paging link is no longer kept: start again from the first page')
  const asked = askedOf(ports, request, [...kept.filter(([name]) => !offset.some(([other]) => other === name)), ...offset, ...given], {
    isHidden: request.posted || query !== undefined,
    ...(after === undefined ? {} : { after }),
    ...(query === undefined || given.length > 0 ? {} : { query }),
  })
  mustPage(cursor, asked.paged)
  if (after !== undefined && asked.search.offset !== undefined)
    throw fhirError(400, 'invalid', 'A cursor goes on where its page ended: it takes no offset beside it')
  return asked
}

function askedOf({ clock }: SearchPorts, request: FhirRequest, pairs: Pairs, more: Omit<Asked, 'search' | 'paged'>): Asked {
  const search = parseSearch(request.type, pairs, { ...request.preferences, now: clock.now(), ...request.reading })
  const { criteria, order, group } = search
  const filters = criteria.map((pair) => JSON.stringify(pair)).sort()
  return { search, paged: { caller: request, path: pathOf(request), of: [filters, order, group?.field, group?.order] }, ...more }
}

/** The path below the base. */
export const pathOf = ({ compartment, type }: FhirRequest): string =>
  [compartment === undefined ? '' : `/${compartment}`, type === undefined ? (compartment === undefined ? '' : '/*') : `/${type}`].join('')

export async function linksOf(
  ports: SearchPorts,
  request: FhirRequest,
  { search: asked, paged, isHidden: mustHide, query: known }: Asked,
  next: Position | GroupPosition | undefined,
): Promise<readonly Link[]> {
  const { seal, clock, blobs } = ports
  const path = pathOf(request)
  const url = (pairs: Pairs): string => {
    const query = queryText(pairs)
    return `${request.baseUrl}${path}${query === '' ? '' : `?${query}`}`
  }
  const isHidden = mustHide || queryText(asked.used).length > LONGEST_QUERY
  const shown = isHidden ? [] : asked.used
  const self: Link = { relation: 'self', url: url(shown) }
  const others = pagesFrom(asked, next)
  if (others.length === 0) return [self]
  const query = isHidden ? (known ?? (await keepQuery(blobs, clock, request, asked.used))) : undefined
  const link = ({ relation, after, offset }: PageLink): Link => {
    if (query === undefined && after === undefined) return { relation, url: url(offset === undefined ? shown : withOffset(shown, offset)) }
    const cursor: Cursor = {
      ...(after === undefined ? {} : { after }),
      ...(query === undefined ? {} : { query }),
      ...(offset === undefined ? {} : { offset }),
    }
    return { relation, url: url([...shown, ['_cursor', sealCursor(seal, clock, cursor, paged)]]) }
  }
  return [self, ...others.map(link)]
}

const withOffset = (pairs: Pairs, offset: Pairs): Pairs => [...pairs.filter(([name]) => name !== offset[0]![0]), ...offset]

type PageLink = { readonly relation: 'first' | 'previous' | 'next'; readonly after?: Position | GroupPosition; readonly offset?: Pairs }

function pagesFrom({ count, offset }: SearchRequest, next: Position | GroupPosition | undefined): readonly PageLink[] {
  if (count === 0) return []
  if (offset === undefined) return next === undefined ? [] : [{ relation: 'first' }, { relation: 'next', after: next }]
  const { name, at, step } = offset
  const page = (at: number): Pairs => [[name, String(at)]]
  return [
    { relation: 'first', offset: page(0) },
    ...(at === 0 ? [] : [{ relation: 'previous', offset: page(Math.max(0, at - step)) } as const]),
    ...(next === undefined ? [] : [{ relation: 'next', offset: page(at + step) } as const]),
  ]
}
