/** FHIR search on a type, in a compartment or on the whole system, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { Letter } from '../access/scopes.ts'
import type { BundleEntry } from '../fhir/bundle.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import { resolved } from '../search/condition.ts'
import type { Matching, Plan, Position } from '../search/plan.ts'
import type { SearchRequest } from '../search/query.ts'
import { compartmentOf, typesOf } from './compartment-search.ts'
import { explanation } from './explain.ts'
import { groupEntries } from './grouped.ts'
import { checkIncludes, included } from './included.ts'
import type { FhirRequest, Interaction } from './interaction.ts'
import { nearest } from './nearest.ts'
import { HEAVIEST_PAGE, lightEnough } from './page.ts'
import { matchEntry, type SearchPage, type SearchPorts, versionsOf } from './search-entries.ts'
import { type Asked, linksOf, pageAsked } from './search-page.ts'
import { searcherOf } from './searcher.ts'

/** `letters`: under all of which is found what is found. */
export const search =
  (ports: SearchPorts, letters: readonly Letter[] = ['s']): Interaction =>
  async (request) => {
    const page = await pageAsked(ports, request)
    const asked = page.search
    const searcher = searcherOf(request, letters)
    checkIncludes(searcher, asked.includes)
    const types = typesOf(request, asked.types, searcher)
    const matching: Matching = {
      tenant: request.tenant,
      types,
      where: await resolved([...compartmentOf(request), ...asked.where], searcher, ports.index),
      access: searcher.rules(types),
    }
    const { entries, total, next } =
      asked.group === undefined
        ? await hits(ports, request, asked, matching, page)
        : await groupEntries(ports, request, { ...asked, group: asked.group }, matching, page)
    const explained = request.preferences.explain === undefined ? [] : [await explanation(ports, asked, matching)]
    return {
      status: 200,
      body: {
        kind: 'bundle',
        type: 'searchset',
        ...(total === undefined ? {} : { total }),
        link: await linksOf(ports, request, page, next),
        entries: [...entries, ...explained],
      },
    }
  }

async function hits(ports: SearchPorts, request: FhirRequest, asked: SearchRequest, matching: Matching, page: Asked): Promise<SearchPage> {
  const plan: Plan = {
    ...matching,
    order: asked.order,
    limit: asked.count,
    total: asked.total,
    ...(asked.skip === undefined ? {} : { skip: asked.skip }),
    ...(page.after === undefined ? {} : { after: page.after as Position }),
  }
  const found = await ports.index.find(plan)
  const versions = await versionsOf(ports, request, found.hits)
  const { shown, others } = await weighed(ports, request, asked, versions)
  const distances = nearest(asked)
  const entries = shown.map((version) => matchEntry(request, version, distances(version)))
  const more = found.more || shown.length < found.hits.length
  const last = found.hits[shown.length - 1]
  return {
    entries: [...entries, ...others],
    ...(found.total === undefined ? {} : { total: found.total }),
    ...(more && last !== undefined ? { next: last.position } : {}),
  }
}

/** Resources that come along, at most, as long as the page can be shortened. */
const MOST_INCLUDED = 1_000

/** The matches of the page, at least one and no more than weigh, with what they include, as much as a page holds. */
async function weighed(
  ports: SearchPorts,
  request: FhirRequest,
  asked: SearchRequest,
  versions: readonly ResourceVersion[],
): Promise<{ readonly shown: readonly ResourceVersion[]; readonly others: readonly BundleEntry[] }> {
  for (let count = lightEnough(versions).length; ; count = Math.ceil(count / 2)) {
    const shown = versions.slice(0, count)
    const others = asked.includes.length === 0 ? [] : await included(ports, request, asked.includes, shown)
    const weight = others.reduce((sum, { resource }) => sum + (resource instanceof Uint8Array ? resource.length : 0), weightOf(shown))
    if (count <= 1 || (others.length <= MOST_INCLUDED && weight <= HEAVIEST_PAGE)) return { shown, others }
  }
}

const weightOf = (versions: readonly ResourceVersion[]): number => versions.reduce((sum, { body }) => sum + body.length, 0)
