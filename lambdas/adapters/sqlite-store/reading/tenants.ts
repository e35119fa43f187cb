/** The tenants of the file, from the index over what kinds of versions it has: one look for each, however much it has. */
import type { DatabaseSync } from 'node:sqlite'
import { DEFAULT_TENANT } from '../../../ports/store/tenants.ts'

const NEXT = 'SELECT min(tenant) AS tenant FROM kind WHERE tenant > ?'

/** The one that a store always knows comes first. */
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
