/** Tenants of the file, read from the index by tenant and type. It takes one lookup per tenant, regardless of the number of versions. */
import type { DatabaseSync } from 'node:sqlite'
import { DEFAULT_TENANT } from '../../../ports/store/tenants.ts'

const NEXT = 'SELECT min(tenant) AS tenant FROM kind WHERE tenant > ?'

/** Yields the tenants. The default tenant comes first, even if it has no versions. */
export function* tenantsOf(db: DatabaseSync): Generator<string> {
  yield DEFAULT_TENANT
  const next = db.prepare(NEXT)
  for (let last = ''; ; ) {
    const { tenant } = next.get(last) as { readonly tenant: string | null }
    if (tenant === null) return
    if (tenant !== DEFAULT_TENANT) yield tenant
    last = tenant
  }
}
