/** FHIR search on a type or on the whole system, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { BundleEntry, Link } from '../fhir/bundle.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { Hit } from '../ports/search-index.ts'
import type { Plan, Position } from '../search/plan.ts'
import { type Pairs, parseSearch, type SearchRequest } from '../search/query.ts'
import { openCursor, sealCursor } from './cursor.ts'
import type { FhirRequest, Interaction, Ports } from './interaction.ts'
import { HEAVIEST_PAGE, queryText } from './page.ts'

type SearchPorts = Pick<Ports, 'resources' | 'index' | 'clock' | 'seal'>

/** What a paging link carries, sealed: a search by POST shows no query in its links. */
type Cursor = { readonly position: Position; readonly pairs?: Pairs }

export const search =
  (ports: SearchPorts): Interaction =>
  async (request) => {
    const cursor = cursorOf(ports, request)
    const pairs = cursor?.pairs ?? request.parameters.filter(([name]) => name !== '_cursor')
    const asked = parseSearch(request.type, pairs, { ...request.preferences, now: ports.clock.now(), ...request.reading })
    const plan = planOf(request, asked, cursor)
    const page = await ports.index.find(plan)
    const found = await entriesOf(ports, request, page.hits)
    const last = page.hits[found.entries.length - 1]
    const more = page.more || found.entries.length < page.hits.length
    const links = linksOf(ports, request, asked, cursor, more ? last : undefined)
    return {
      status: 200,
      body: {
        kind: 'bundle',
        type: 'searchset',
        ...(page.total === undefined ? {} : { total: page.total }),
        link: links,
        entries: found.entries,
      },
    }
  }

const pathOf = ({ type }: FhirRequest): string => (type === undefined ? '' : `/${type}`)

function cursorOf({ seal, clock }: SearchPorts, request: FhirRequest): Cursor | undefined {
  const [, text] = request.parameters.findLast(([name]) => name === '_cursor') ?? []
  return text === undefined ? undefined : openCursor<Cursor>(seal, clock, text, pathOf(request))
}

const planOf = ({ tenant, type }: FhirRequest, asked: SearchRequest, cursor: Cursor | undefined): Plan => ({
  tenant,
  types: type === undefined ? (asked.types ?? resourceTypes) : [type],
  where: asked.where,
  order: asked.order,
  limit: asked.count,
  total: asked.total,
  ...(asked.skip === undefined ? {} : { skip: asked.skip }),
  ...(cursor === undefined ? {} : { after: cursor.position }),
})

/** The entries of the page, at least one and no more than a page may weigh. */
async function entriesOf(
  { resources }: SearchPorts,
  { tenant, baseUrl }: FhirRequest,
  hits: readonly Hit[],
): Promise<{ readonly entries: readonly BundleEntry[] }> {
  const versions = await resources.versions(hits.map(({ type, id, version }) => ({ tenant, type, id, versionId: version })))
  const entries: BundleEntry[] = []
  let weight = 0
  for (const version of versions) {
    if (version === undefined) throw new Error('the index knows a version that the store does not have')
    weight += version.body.length
    if (entries.length > 0 && weight > HEAVIEST_PAGE) break
    entries.push({ fullUrl: `${baseUrl}/${version.type}/${version.id}`, resource: version.body, more: { search: { mode: 'match' } } })
  }
  return { entries }
}

/** https://hl7.org/fhir/R4/search.html#Paging */
function linksOf(
  ports: SearchPorts,
  request: FhirRequest,
  asked: SearchRequest,
  cursor: Cursor | undefined,
  last: Hit | undefined,
): readonly Link[] {
  const url = (pairs: Pairs): string => {
    const query = queryText(pairs)
    return `${request.baseUrl}${pathOf(request)}${query === '' ? '' : `?${query}`}`
  }
  const hidden = request.posted || cursor?.pairs !== undefined
  const self = hidden ? [] : asked.used
  const links: Link[] = [{ relation: 'self', url: url(self) }]
  if (last === undefined || asked.count === 0) return links
  if (asked.skip !== undefined) return [...links, { relation: 'next', url: url(asked.nextPage) }]
  const next: Cursor = { position: last.position, ...(hidden ? { pairs: asked.used } : {}) }
  const sealed = sealCursor(ports.seal, ports.clock, next, pathOf(request))
  return [...links, { relation: 'next', url: url([...self, ['_cursor', sealed]]) }]
}
