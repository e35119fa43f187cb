/** Check of the setting sharedTenant, which requires tenancy. */
import { isTenant } from '../access/verification/tenant-claim.ts'
import { type Config, variableOf } from './config.ts'

/** Throws a RangeError if `sharedTenant` is not the name of a tenant, or if tenancy is off. An empty setting passes. */
export function checkSharedTenant({ sharedTenant, tenancy }: Pick<Config, 'sharedTenant' | 'tenancy'>): void {
  if (sharedTenant === '') return
  const name = variableOf('sharedTenant')
  if (!isTenant(sharedTenant)) throw new RangeError(`${name} is "${sharedTenant}", but must be the name of one tenant`)
  if (!tenancy) throw new RangeError(`${name} requires ${variableOf('tenancy')} "on"`)
}
