/** Documents with references that were indexed as another server's, and that a new base URL makes this server's own. */
import { all, type Predicate, some } from '../ports/search/plan.ts'
import { parametersOf } from '../search/parameters.ts'
import type { Reading } from '../search/search-context.ts'

/** The keys below a base URL: `/` and what follows it in the order of code points. */
export const keysUnder = (base: string): { readonly from: string; readonly to: string } => ({ from: `${base}/`, to: `${base}0` })

/** Returns a predicate for documents of the type with references below one of the bases. Without bases, all documents match. */
export function referringUnder(type: string, bases: readonly string[] | undefined, { custom }: Reading): Predicate {
  if (bases === undefined) return all()
  const fields = parametersOf(type, custom).filter((parameter) => parameter.type === 'reference')
  return some(...fields.flatMap(({ field }) => bases.map((base): Predicate => ({ kind: 'keyRange', field, ...keysUnder(base) }))))
}
