import { isTenantBoundUser } from '../access/user-patients.ts'
import type { User } from '../ports/rows/users.ts'
import { DEFAULT_TENANT } from '../ports/store/tenants.ts'
import type { AuthChoices } from './endpoint.ts'

export { TENANCY_OFF_TEXT } from '../access/verification/tenant-claim.ts'

/** Whether they are one, by its name. */
export const isSingleTenant = ([first, ...others]: readonly string[]): boolean =>
  first !== undefined && first !== '*' && others.length === 0

/** Those of a client or a user; none where it is a patient of several: in each that is somebody else. `person`: `Patient/1`. */
export const tenantsOfPerson = (tenants: readonly string[], person: string | undefined): readonly string[] =>
  isTenantBoundUser(person) && !isSingleTenant(tenants) ? [] : tenants

/** Those of a client, a user or a token whose data are here: without tenancy one has everything, and opens nothing to who is of others. */
export const filterServedTenants = ({ tenancy }: Pick<AuthChoices, 'tenancy'>, tenants: readonly string[]): readonly string[] =>
  tenancy ? tenants : intersectTenants(tenants, [DEFAULT_TENANT])

/** Those of a user whose data are here, where they are known to be about one person. */
export const tenantsOfUser = (choices: Pick<AuthChoices, 'tenancy'>, { tenants, fhirUser }: Pick<User, 'tenants' | 'fhirUser'>) =>
  tenantsOfPerson(filterServedTenants(choices, tenants), fhirUser)

/** Those that both have; `*`: any. */
export function intersectTenants(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.includes('*')) return others
  return others.includes('*') ? some : some.filter((tenant) => others.includes(tenant))
}
