/** Whether conditions of scopes can be decided, by what each tenant has defined. */
import { isDecidable } from '../../access/scope-conditions.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { TENANT } from '../../ports/store/tenants.ts'
import type { ReadingOf } from '../../search/search-context.ts'

export const decidable =
  (reading: ReadingOf): AuthPorts['isDecidable'] =>
  async (tenants, type, query) =>
    tenants.some((tenant) => isDecidable(type, query, reading(tenant === '*' ? TENANT : tenant)))
