import { isTenantBoundUser } from '../access/user-patients.ts'
import type { User } from '../ports/rows/users.ts'
import { DEFAULT_TENANT } from '../ports/store/tenants.ts'
import type { AuthChoices } from './endpoint.ts'

export { TENANCY_OFF_TEXT } from '../access/verification/tenant-claim.ts'

/** Whether the list names exactly one tenant. `*` is none. */
export const isSingleTenant = ([first, ...others]: readonly string[]): boolean =>
  first !== undefined && first !== '*' && others.length === 0

/**
 * Returns the `tenants` of a client or user. Returns none if `person` is a patient or related person and there are several: the same id
 * identifies a different person in each tenant. `person`: reference such as `Patient/1`.
 */
export const tenantsOfPerson = (tenants: readonly string[], person: string | undefined): readonly string[] =>
  isTenantBoundUser(person) && !isSingleTenant(tenants) ? [] : tenants

/**
 * Returns those of the tenants that this server serves. Without tenancy it serves only the tenant `default`, so a client or user of other
 * tenants gets none.
 */
export const filterServedTenants = ({ tenancy }: Pick<AuthChoices, 'tenancy'>, tenants: readonly string[]): readonly string[] =>
  tenancy ? tenants : intersectTenants(tenants, [DEFAULT_TENANT])

/** Returns the served tenants of a user. Returns none if the user is a patient or a related person and has several tenants. */
export const tenantsOfUser = (choices: Pick<AuthChoices, 'tenancy'>, { tenants, fhirUser }: Pick<User, 'tenants' | 'fhirUser'>) =>
  tenantsOfPerson(filterServedTenants(choices, tenants), fhirUser)

/** Returns the tenants that are in both lists. `*` in a list stands for every tenant. */
export function intersectTenants(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.includes('*')) return others
  return others.includes('*') ? some : some.filter((tenant) => others.includes(tenant))
}
