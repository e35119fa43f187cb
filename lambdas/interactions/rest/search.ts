/** FHIR search on a type, in a compartment or on the whole system, by GET and POST. https://hl7.org/fhir/R4/http.html#search */
import type { Letter } from '../../access/scopes.ts'
import type { BundleEntry } from '../../fhir/bundle.ts'
import type { HitPosition, Matching, Plan } from '../../ports/search/plan.ts'
import { resolveChains } from '../../search/query/condition.ts'
import type { SearchRequest } from '../../search/query/query.ts'
import { eventualIndex } from '../consistency/eventual-index.ts'
import { outdatedWarningIndex } from '../consistency/outdated-index.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'
import { compartmentPredicatesOf, typesOf } from '../searching/compartment-search.ts'
import { distanceExtensionsOf } from '../searching/distance-extension.ts'
import { explanationEntry } from '../searching/explain.ts'
import { groupEntries } from '../searching/group-entries.ts'
import { checkIncludes } from '../searching/included-resources.ts'
import { withMemberData } from '../searching/member-data.ts'
import { withoutHiddenTargets } from '../searching/member-targets.ts'
import { matchEntry, outcomeEntry, type PagePorts, type SearchPage, type SearchPorts, versionsOf } from '../searching/page-entries.ts'
import { linksOf, type PageRequest, parsePageRequest } from '../searching/page-request.ts'
import { fitPartsIntoPage } from '../searching/page-weight.ts'
import { publicIndex } from '../searching/public-search.ts'
import { searchAccessOf } from '../searching/request-search-access.ts'
import { sharedIndex } from '../searching/shared-index.ts'

/** Creates the search interaction. `letters`: scope letters; searches find a resource only if the access allows it for each of them. */
export const search =
  (all: SearchPorts, letters: readonly Letter[] = ['s']): Interaction =>
  async (received) => {
    const outdated = outdatedWarningIndex(all.index)
    const eventual = received.preferences.consistency === 'eventual' ? eventualIndex(outdated.index) : undefined
    const index = eventual?.index ?? outdated.index
    const limited = received.isPublic ? publicIndex(index, () => performance.now()) : index
    const request = await withMemberData({ ...all, index: limited }, received)
    const ports = { ...all, index: sharedIndex(limited, request) }
    const page = await parsePageRequest(ports, request)
    const asked = await withoutHiddenTargets(all, request, page.search)
    const searcher = searchAccessOf(request, letters)
    checkIncludes(searcher, asked.includes)
    const types = typesOf(request, asked.types, searcher)
    // guard: search-needs-access
    const matching: Matching = {
      tenant: request.tenant,
      types,
      where: await resolveChains([...compartmentPredicatesOf(request), ...asked.where], searcher, ports.index),
      access: searcher.rules(types),
    }
    const { entries, total, next } =
      asked.group === undefined
        ? await hits(ports, request, asked, matching, page)
        : await groupEntries(ports, request, { ...asked, group: asked.group }, matching, page)
    const explained = request.preferences.explain === undefined ? [] : [await explanationEntry(ports, asked, matching)]
    const { links, isUnstored } = await linksOf(ports, request, page, next)
    return {
      status: 200,
      part: asked.part,
      headers: { ...outdated.headers(), ...eventual?.headers(), ...ignoredHeader(asked) },
      body: {
        kind: 'bundle',
        type: 'searchset',
        ...(total === undefined ? {} : { total }),
        link: links,
        entries: [...entries, ...(page.isHidden ? ignoredOf(asked) : []), ...(isUnstored ? [UNSTORED] : []), ...explained],
      },
    }
  }

async function hits(
  ports: PagePorts,
  request: FhirRequest,
  asked: SearchRequest,
  matching: Matching,
  page: PageRequest,
): Promise<SearchPage> {
  const plan: Plan = {
    ...matching,
    order: asked.order,
    limit: asked.count,
    total: asked.total,
    ...(asked.skip === undefined ? {} : { skip: asked.skip }),
    ...(page.after === undefined ? {} : { after: page.after as HitPosition }),
  }
  const found = await ports.index.find(plan)
  const versions = await versionsOf(ports, request, found.hits)
  const parts = versions.map((version) => [version])
  const { shown, others } = await fitPartsIntoPage(ports, request, asked.includes, parts)
  const distances = distanceExtensionsOf(asked)
  const entries = versions.slice(0, shown).map((version) => matchEntry(request, version, distances(version)))
  const more = found.more || shown < found.hits.length
  const last = found.hits[shown - 1]
  return {
    entries: [...entries, ...others],
    ...(found.total === undefined ? {} : { total: found.total }),
    ...(more && last !== undefined ? { next: { after: last.position, shown } } : {}),
  }
}

/** Characters to percent-encode in the parameter names of X-Ignored-Parameters. https://www.rfc-editor.org/rfc/rfc9110#section-5.5 */
const ENCODED = /[^\w.:$|[\]-]/gu

/** Maximum characters of X-Ignored-Parameters. Further names are left out, because API Gateway sends at most 10,240 bytes of headers. */
const LONGEST_NAMES = 2_000

function ignoredHeader({ ignored }: SearchRequest): Readonly<Record<string, string>> {
  const names = ignored.map((name) => name.toWellFormed().replaceAll(ENCODED, encodeURIComponent))
  const shown = names.filter((_, i) => names.slice(0, i + 1).join(', ').length <= LONGEST_NAMES)
  return shown.length === 0 ? {} : { 'x-ignored-parameters': shown.join(', ') }
}

const UNSTORED = outcomeEntry({
  severity: 'warning',
  code: 'no-store',
  text: 'The disk of the server is full, so this search could not be stored. The page has no links, and there may be more matches. A search by GET with fewer than 4,000 characters needs no room',
})

/**
 * Returns an entry with the names of ignored parameters, for a page whose self link does not show the used ones. Leaves out values, which
 * may be confidential.
 */
const ignoredOf = ({ ignored }: SearchRequest): readonly BundleEntry[] =>
  ignored.length === 0
    ? []
    : [
        outcomeEntry({
          severity: 'warning',
          code: 'not-found',
          text: `Unknown search parameters, which were ignored: ${ignored.join(', ')}`,
        }),
      ]
