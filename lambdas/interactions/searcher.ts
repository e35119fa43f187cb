/** Who searches, as searches ask: which types are in scope, and what of them may be found. */
import { isWholeTenant, ruleFor } from '../access/rules.ts'
import { ofTenant, type Searcher } from '../search/condition.ts'
import { type AccessRules, NEVER } from '../search/plan.ts'
import { outOfScope } from './forbidden.ts'
import type { FhirRequest } from './interaction.ts'

export function searcherOf({ tenant, access, reading }: Pick<FhirRequest, 'tenant' | 'access' | 'reading'>): Searcher {
  const ruleOf = (type: string) => ruleFor(access, type, 's', reading)
  if (isWholeTenant(access, 's')) return ofTenant(tenant)
  return {
    tenant,
    within(types) {
      const allowed = types.filter((type) => ruleOf(type) !== undefined)
      if (allowed.length === 0 && types.length > 0) throw outOfScope(access, types[0]!, 's')
      return allowed
    },
    rules: (types): AccessRules => Object.fromEntries(types.map((type) => [type, ruleOf(type) ?? NEVER])),
  }
}
