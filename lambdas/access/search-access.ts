/** Who searches, as searches ask: which types are in scope, and what of them may be found. */
import { type AccessRules, NEVER } from '../ports/search/plan.ts'
import { ofTenant, type Searcher } from '../search/query/condition.ts'
import type { Reading } from '../search/search-context.ts'
import type { Access } from './access.ts'
import { isWholeTenant, ruleForAll } from './rules.ts'
import type { Letter } from './scopes.ts'

export type Searching = { readonly tenant: string; readonly access: Access; readonly reading: Reading }

/** `refused`: what is thrown where none of several types is in scope, by the first of them. `letters`: under all of which one finds. */
export function searcherUnder(
  { tenant, access, reading }: Searching,
  refused: (type: string) => Error,
  letters: readonly Letter[] = ['s'],
): Searcher {
  const ruleOf = (type: string) => ruleForAll(access, type, letters, reading)
  if (letters.every((letter) => isWholeTenant(access, letter))) return ofTenant(tenant)
  return {
    tenant,
    within(types) {
      const allowed = types.filter((type) => ruleOf(type) !== undefined)
      if (allowed.length === 0 && types.length > 0) throw refused(types[0]!)
      return allowed
    },
    rules: (types): AccessRules => Object.fromEntries(types.map((type) => [type, ruleOf(type) ?? NEVER])),
  }
}
