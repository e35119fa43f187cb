/** Determines how many matches fit on a page together with the resources that they include. */
import type { BundleEntry } from '../../fhir/bundle.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Include } from '../../search/query/include.ts'
import type { FhirRequest } from '../interaction.ts'
import { weightOf } from './bounded-reads.ts'
import { readIncludedEntries } from './included-resources.ts'
import { outcomeEntry, type PagePorts } from './page-entries.ts'
import { countFittingPage, MAX_PAGE_BYTES } from './page-limits.ts'

/** Maximum included resources of a page with several parts. If there are more, the page is tried again with half as many parts. */
const MOST_INCLUDED = 1_000
/** Maximum included resources of a page with a single part. Further ones are left out, with a warning. */
const MOST_WITH_ONE = 10_000

/** A match, or those matches of a group that fit on a page. A page shows all resources of a part, or none. */
type Part = readonly ResourceVersion[]

/**
 * Returns how many of the first parts fit on a page, at least one, and the resources that they include. Parts are never cut. If the
 * includes of a single part exceed the limits, they are cut and an entry reports it.
 */
export async function fitPartsIntoPage(
  ports: PagePorts,
  request: FhirRequest,
  includes: readonly Include[],
  parts: readonly Part[],
): Promise<{ readonly shown: number; readonly others: readonly BundleEntry[] }> {
  for (let shown = countFittingPage(parts.map(weightOf)); ; shown = Math.ceil(shown / 2)) {
    if (includes.length === 0) return { shown, others: [] }
    const matches = parts.slice(0, shown).flat()
    const limits = { most: shown > 1 ? MOST_INCLUDED : MOST_WITH_ONE, room: MAX_PAGE_BYTES - weightOf(matches) }
    const { entries, isCut } = await readIncludedEntries(ports, request, includes, matches, limits)
    if (!isCut) return { shown, others: entries }
    if (shown <= 1) return { shown, others: [...entries, CUT] }
  }
}

const CUT = outcomeEntry({
  severity: 'warning',
  code: 'too-costly',
  text: `More than ${MOST_WITH_ONE} resources would be included with one match, or the page would have more than ${MAX_PAGE_BYTES} bytes: the others are left out. Search for them by their references`,
})
