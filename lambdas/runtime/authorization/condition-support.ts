/** Whether conditions of scopes can be decided, by what each tenant has defined. */
import { isDecidable } from '../access/granular.ts'
import type { AuthPorts } from '../auth/endpoint.ts'
import { TENANT } from '../ports/known-tenants.ts'
import type { ReadingOf } from '../search/reading.ts'

export const decidable =
  (reading: ReadingOf): AuthPorts['isDecidable'] =>
  async (tenants, type, query) =>
    tenants.some((tenant) => isDecidable(type, query, reading(tenant === '*' ? TENANT : tenant)))
