/**
 * Selects documents with references below a base URL. If the server adds that base URL, these references become local, so the documents are
 * rebuilt.
 */
import { and, or, type Predicate } from '../ports/search/plan.ts'
import { parametersOf } from '../search/parameters.ts'
import type { SearchContext } from '../search/search-context.ts'

/** Returns the range of index keys of references below a base URL. It starts with `/` and ends before `0`, the next code point. */
export const keyRangeOf = (base: string): { readonly from: string; readonly to: string } => ({ from: `${base}/`, to: `${base}0` })

/** Returns a predicate for documents of the type with references below one of the bases. If `bases` is undefined, all documents match. */
export function referencePredicateOf(type: string, bases: readonly string[] | undefined, { custom }: SearchContext): Predicate {
  if (bases === undefined) return and()
  const fields = parametersOf(type, custom).filter((parameter) => parameter.type === 'reference')
  return or(...fields.flatMap(({ field }) => bases.map((base): Predicate => ({ kind: 'keyRange', field, ...keyRangeOf(base) }))))
}
