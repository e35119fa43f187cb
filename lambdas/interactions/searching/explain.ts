/** `Prefer: explain`: entry of the result with the plan of the search and the queries to the index, so that administrators can tune it. */
import type { BundleEntry } from '../../fhir/bundle.ts'
import type { Matching, Plan } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { SearchRequest } from '../../search/query/query.ts'
import { outcomeEntry } from './page-entries.ts'

export async function explanationEntry(
  { index }: { readonly index: Pick<Searches, 'explain'> },
  { order, count, total }: SearchRequest,
  matching: Matching,
): Promise<BundleEntry> {
  const plan: Plan = { ...matching, order, limit: count, total }
  const native = await index.explain(plan)
  const types = plan.types.length > 10 ? `${plan.types.length} types` : plan.types
  const texts = [`The plan: ${JSON.stringify({ ...plan, types })}`, ...native]
  return outcomeEntry(...texts.map((text) => ({ severity: 'information', code: 'informational', text }) as const))
}
