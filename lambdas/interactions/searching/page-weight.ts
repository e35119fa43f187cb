/** How much of what was found a page holds, with what comes along. */
import type { BundleEntry } from '../../fhir/bundle.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Include } from '../../search/query/include.ts'
import type { FhirRequest } from '../interaction.ts'
import { included } from './included-resources.ts'
import type { SearchPorts } from './page-entries.ts'
import { HEAVIEST_PAGE, lightCount } from './page-limits.ts'

/** Resources that come along, at most, as long as the page can be shortened. */
const MOST_INCLUDED = 1_000

/** A match, or the matches of a group. */
type Part = readonly ResourceVersion[]

/** The first parts, whole, at least one and no more than weigh, and what they include. */
export async function weighed(
  ports: SearchPorts,
  request: FhirRequest,
  includes: readonly Include[],
  parts: readonly Part[],
): Promise<{ readonly shown: number; readonly others: readonly BundleEntry[] }> {
  for (let shown = lightCount(parts.map(weightOf)); ; shown = Math.ceil(shown / 2)) {
    const matches = parts.slice(0, shown).flat()
    const others = includes.length === 0 ? [] : await included(ports, request, includes, matches)
    const weight = others.reduce((sum, { resource }) => sum + (resource instanceof Uint8Array ? resource.length : 0), weightOf(matches))
    if (shown <= 1 || (others.length <= MOST_INCLUDED && weight <= HEAVIEST_PAGE)) return { shown, others }
  }
}

const weightOf = (versions: Part): number => versions.reduce((sum, { body }) => sum + body.length, 0)
