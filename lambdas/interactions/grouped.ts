/** The entries of a grouped search: the first resources of each group, each told its group's key and size. */
import type { BundleEntry } from '../fhir/bundle.ts'
import type { Grouping } from '../search/group.ts'
import type { GroupPlan, GroupPosition, Matching } from '../search/plan.ts'
import type { SearchRequest } from '../search/query.ts'
import type { FhirRequest } from './interaction.ts'
import { matchEntry, type SearchPage, type SearchPorts, versionsOf } from './search-entries.ts'
import type { Asked } from './search-page.ts'

/** Of `entry.search`, below the base of the server, with the extensions `key` (valueString) and `size` (valueInteger). */
const GROUP = 'StructureDefinition/search-group'

export async function groupEntries(
  ports: SearchPorts,
  request: FhirRequest,
  { group, count, skip }: SearchRequest & { readonly group: Grouping },
  matching: Matching,
  { after }: Asked,
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
  let next = 0
  const entries = groups.flatMap(({ key, size, hits }): readonly BundleEntry[] => {
    const extension = [
      {
        url: `${request.baseUrl}/${GROUP}`,
        extension: [
          { url: 'key', valueString: key },
          { url: 'size', valueInteger: size },
        ],
      },
    ]
    return hits.map(() => matchEntry(request, versions[next++]!, extension))
  })
  const last = groups.at(-1)
  return { entries, total, ...(more && last !== undefined ? { next: { position: last.hits[0]!.position, key: last.key } } : {}) }
}
