/** Entries of a grouped search: the first resources of each group, each with the key and the size of its group. */
import type { BundleEntry } from '../../fhir/bundle.ts'
import { SEARCH_GROUP_EXTENSION } from '../../fhir/own-extensions.ts'
import type { GroupPlan, GroupPosition, Matching } from '../../ports/search/plan.ts'
import type { HitGroup } from '../../ports/search/search-index.ts'
import type { Grouping } from '../../search/query/group.ts'
import type { SearchRequest } from '../../search/query/query.ts'
import type { FhirRequest } from '../interaction.ts'
import { matchEntry, outcomeEntry, type PagePorts, type SearchPage, versionsOf } from './page-entries.ts'
import { MAX_PAGE_BYTES, takeFittingPage } from './page-limits.ts'
import type { PageRequest } from './page-request.ts'
import { fitPartsIntoPage } from './page-weight.ts'

export async function groupEntries(
  ports: PagePorts,
  request: FhirRequest,
  { group, count, skip, includes, total: asked }: SearchRequest & { readonly group: Grouping },
  matching: Matching,
  { after }: PageRequest,
): Promise<SearchPage> {
  const plan: GroupPlan = {
    ...matching,
    ...group,
    limit: count,
    ...(after === undefined ? {} : { after: after as GroupPosition }),
    ...(skip === undefined ? {} : { skip }),
  }
  const { groups, more, total } = await ports.index.groups(plan)
  const versions = await versionsOf(
    ports,
    request,
    groups.flatMap(({ hits }) => hits),
  )
  const sizes = groups.map(({ hits }) => hits.length)
  // If the byte limit ends the read within a group, the page ends before that group. The first group is shown in part.
  const parts = inPartsOf(sizes, versions).filter((part, i) => i === 0 || part.length === sizes[i])
  const light = parts.map(takeFittingPage)
  const { shown, others } = await fitPartsIntoPage(ports, request, includes, light)
  const entries = groups.slice(0, shown).flatMap(({ key, size }, i): readonly BundleEntry[] => {
    const extension = [
      {
        url: SEARCH_GROUP_EXTENSION,
        extension: [
          { url: 'key', valueString: key },
          { url: 'size', valueInteger: size },
        ],
      },
    ]
    return light[i]!.map((version) => matchEntry(request, version, extension))
  })
  const last = groups[shown - 1]
  const isMore = more || shown < groups.length
  return {
    entries: [...entries, ...others, ...leftOut(hitsIn(groups.slice(0, shown)) - entries.length)],
    ...(asked === 'none' ? {} : { total }),
    ...(isMore && last !== undefined ? { next: { after: { position: last.hits[0]!.position, key: last.key }, shown } } : {}),
  }
}

/** Returns a warning with the number of omitted resources, if a single group exceeds the maximum bytes of a page. */
const leftOut = (count: number): readonly BundleEntry[] =>
  count === 0
    ? []
    : [
        outcomeEntry({
          severity: 'warning',
          code: 'too-costly',
          text: `A group is shown as far as its resources have ${MAX_PAGE_BYTES} bytes: ${count} of this page are left out. Search for them by the key of their group`,
        }),
      ]

const hitsIn = (groups: readonly HitGroup[]): number => groups.reduce((sum, { hits }) => sum + hits.length, 0)

function inPartsOf<T>(sizes: readonly number[], all: readonly T[]): readonly (readonly T[])[] {
  let from = 0
  return sizes.map((size) => {
    from += size
    return all.slice(from - size, from)
  })
}
