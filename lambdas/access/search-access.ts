/** Access of a search: the types in scope, and the rule for the visible resources of each type. */
import { type AccessRules, ALWAYS_FALSE } from '../ports/search/plan.ts'
import { type SearchAccess, unrestrictedSearchAccess } from '../search/query/condition.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { Access } from './access.ts'
import { isWholeTenant, ruleForLetters } from './rules.ts'
import type { Letter } from './scopes.ts'

export type SearchCaller = { readonly tenant: string; readonly access: Access; readonly reading: SearchContext }

/**
 * Creates the access of a search. The search finds only resources that each of the `letters` allows. `refused`: creates the error for a
 * search of types that are all out of scope.
 */
export function createSearchAccess(
  { tenant, access, reading }: SearchCaller,
  refused: (type: string) => Error,
  letters: readonly Letter[] = ['s'],
): SearchAccess {
  const ruleOf = (type: string) => ruleForLetters(access, type, letters, reading)
  if (letters.every((letter) => isWholeTenant(access, letter))) return unrestrictedSearchAccess(tenant)
  return {
    tenant,
    within(types) {
      const allowed = types.filter((type) => ruleOf(type) !== undefined)
      if (allowed.length === 0 && types.length > 0) throw refused(types[0]!)
      return allowed
    },
    rules: (types): AccessRules => Object.fromEntries(types.map((type) => [type, ruleOf(type) ?? ALWAYS_FALSE])),
  }
}
