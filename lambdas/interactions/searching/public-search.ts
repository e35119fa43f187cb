/** Limits of a search without a token. Any machine may send it, so it costs less than other searches. */
import { fhirError } from '../../fhir/outcome.ts'
import { decorateSearches, type Searches } from '../../ports/search/search-index.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { SearchRequest } from '../../search/query/query.ts'

const PUBLIC_COUNT = 100
const PUBLIC_CRITERIA = 20
const PUBLIC_SORT_KEYS = 2
/** Milliseconds for all lookups of a search. A longer search is answered 503. */
const PUBLIC_BUDGET = 2_000

/** Returns the parameters with a smaller `_count`. Throws FhirError 400 for a result that needs all matches. */
export function limitPublicParameters(pairs: ParameterPairs): ParameterPairs {
  for (const [name, value] of pairs)
    if (name === '_group' || (name === '_total' && value === 'accurate'))
      throw fhirError(400, 'too-costly', `A search without a token cannot use ${name === '_group' ? name : '_total=accurate'}`)
  return pairs.map(([name, value]) => [name, name === '_count' && Number(value) > PUBLIC_COUNT ? String(PUBLIC_COUNT) : value])
}

/** Returns the search with an estimated total. Throws FhirError 400 for too many criteria or sort keys. */
export function limitPublicSearch(search: SearchRequest): SearchRequest {
  const { criteria, order, total } = search
  // guard: public-search-limits
  if (criteria.length > PUBLIC_CRITERIA || order.length > PUBLIC_SORT_KEYS)
    throw fhirError(
      400,
      'too-costly',
      `A search without a token takes at most ${PUBLIC_CRITERIA} criteria and ${PUBLIC_SORT_KEYS} sort keys`,
    )
  return { ...search, total: total === 'accurate' ? 'estimate' : total }
}

/** Returns the index for one search, with one budget for all its lookups. `now`: milliseconds of a steady clock. */
export function publicIndex(index: Searches, now: () => number): Searches {
  const ends = now() + PUBLIC_BUDGET
  return decorateSearches(index, { plan: (plan) => ({ ...plan, budget: Math.max(1, ends - now()) }) })
}
