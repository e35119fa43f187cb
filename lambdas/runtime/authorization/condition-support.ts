/** Checks whether the parameters of at least one tenant suffice to decide a scope condition. `*` stands for the default tenant. */
import { isDecidable } from '../../access/scope-conditions.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { SearchContext } from '../../search/search-context.ts'

export const decidabilityCheck =
  (reading: (tenant: string) => SearchContext | Promise<SearchContext>): AuthPorts['isDecidable'] =>
  async (tenants, type, query) => {
    for (const tenant of tenants) if (isDecidable(type, query, await reading(tenant === '*' ? DEFAULT_TENANT : tenant))) return true
    return false
  }
