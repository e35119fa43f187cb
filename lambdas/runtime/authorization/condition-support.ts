/** Checks whether a scope condition can be decided with the parameters of at least one of the given tenants. */
import { isDecidable } from '../../access/scope-conditions.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { SearchContextOf } from '../../search/search-context.ts'

export const decidabilityCheck =
  (reading: SearchContextOf): AuthPorts['isDecidable'] =>
  async (tenants, type, query) =>
    tenants.some((tenant) => isDecidable(type, query, reading(tenant === '*' ? DEFAULT_TENANT : tenant)))
