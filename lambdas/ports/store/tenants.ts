/**
 * Tenants that a store knows.
 *
 * Guarantees
 * - A tenant is listed as soon as a commit of it has resolved, in any process, even one that has died since. A tenant without data may be
 *   listed, too.
 * - Each tenant is listed once. Two listings return the tenants that they share in the same order.
 */
export interface StoredTenants {
  tenants(): AsyncIterable<string>
}

/** Tenant that owns everything if tenancy is off, and everything from before tenancy was switched on. A store always lists it. */
export const DEFAULT_TENANT = 'default'
