/** Checks whether the parameters of at least one tenant suffice to decide a scope condition. `*` stands for the default tenant. */
import { isDecidable } from '../../access/scope-conditions.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { SearchContextOf } from '../../search/search-context.ts'

export const decidabilityCheck =
  (reading: SearchContextOf): AuthPorts['isDecidable'] =>
  async (tenants, type, query) =>
    tenants.some((tenant) => isDecidable(type, query, reading(tenant === '*' ? DEFAULT_TENANT : tenant)))
