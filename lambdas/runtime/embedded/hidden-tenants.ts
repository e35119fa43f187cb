/** Data of tenants that no request can reach. */
import { DEFAULT_TENANT, type StoredTenants } from '../../ports/store/tenants.ts'

/** Maximum tenants that a warning names. */
const MAX_NAMED = 3

/** Warns if tenants other than the default tenant have data. No request can reach this data while tenancy is off. */
export async function warnOfHiddenTenants(known: StoredTenants, warn: ((line: string) => void) | undefined): Promise<void> {
  const others: string[] = []
  for await (const tenant of known.tenants()) if (tenant !== DEFAULT_TENANT && others.push(tenant) > MAX_NAMED) break
  const named = others.length > MAX_NAMED ? `${others.slice(0, MAX_NAMED).join(', ')} and more` : others.join(', ')
  if (others.length > 0)
    warn?.(`no client can reach the data of tenants other than "${DEFAULT_TENANT}" (${named}), because FHIR_TENANCY is off`)
}
