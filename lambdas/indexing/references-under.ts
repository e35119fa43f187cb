/** Documents with references that were indexed as another server's, and that a new base URL makes this server's own. */
import { and, or, type Predicate } from '../ports/search/plan.ts'
import { parametersOf } from '../search/parameters.ts'
import type { SearchContext } from '../search/search-context.ts'

/** The keys below a base URL: `/` and what follows it in the order of code points. */
export const keyRangeOf = (base: string): { readonly from: string; readonly to: string } => ({ from: `${base}/`, to: `${base}0` })

/** Returns a predicate for documents of the type with references below one of the bases. Without bases, all documents match. */
export function referencePredicateOf(type: string, bases: readonly string[] | undefined, { custom }: SearchContext): Predicate {
  if (bases === undefined) return and()
  const fields = parametersOf(type, custom).filter((parameter) => parameter.type === 'reference')
  return or(...fields.flatMap(({ field }) => bases.map((base): Predicate => ({ kind: 'keyRange', field, ...keyRangeOf(base) }))))
}
