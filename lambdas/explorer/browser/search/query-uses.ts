/** Other uses of the query of a search: `_typeFilter` of an export and a SMART scope. Also the parameters that the server ignored. */
import { type Tree, textOf, treesOf } from '../json.ts'
import { isCriterion, type Pair, pairsOf, queryOf } from './query-rows.ts'

/** `path`: of the search, below the base. `type`: undefined if the search has several types. */
type Search = { readonly path: string; readonly query: string; readonly type: string | undefined }

/**
 * Returns the criteria of the query as `_typeFilter`. An export has no sorting and no pages, so other parameters are left out. Returns
 * undefined without criteria, and for a search in a compartment, which `_typeFilter` cannot express.
 */
export function typeFilterOf({ path, query, type }: Search): string | undefined {
  const criteria = criteriaOf(query)
  if (path !== `/${type}` || criteria.length === 0) return undefined
  return `_typeFilter=${encodeURIComponent(`${type}?${queryOf(criteria)}`)}`
}

/**
 * Returns the scope that allows reading the matches of the query. Returns undefined if no scope means the same: the server decides a condition
 * by the resource alone, without a compartment, a chain or `_has`.
 */
export function scopeOf({ path, query, type }: Search): string | undefined {
  const criteria = criteriaOf(query)
  if (path !== `/${type}` || criteria.some(([name]) => name.startsWith('_has:') || name.includes('.'))) return undefined
  return `user/${type}.rs${criteria.length === 0 ? '' : `?${queryOf(criteria)}`}`
}

const criteriaOf = (query: string): readonly Pair[] => pairsOf(query).filter(([name]) => isCriterion(name))

/**
 * Returns the names in the query that the server ignored: the link `self` of the Bundle has the parameters that the server used.
 * https://hl7.org/fhir/R4/search.html#conformance
 */
export function ignoredNames({ link }: Tree, query: string): readonly string[] {
  const url = textOf(treesOf(link).find(({ relation }) => relation === 'self')?.url)
  if (url === undefined) return []
  const used = new Set(pairsOf(url.includes('?') ? url.slice(url.indexOf('?')) : '').map(([name]) => name))
  return [...new Set(pairsOf(query).map(([name]) => name))].filter((name) => !used.has(name))
}
