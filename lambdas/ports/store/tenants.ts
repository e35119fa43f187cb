/**
 * Tenants with data in a store.
 *
 * Guarantees
 * - A tenant is listed as soon as a commit of it has resolved, in any process, even one that has died since. A tenant without data may be
 *   listed, too.
 * - Each tenant is listed once. The order of two tenants is the same in every listing.
 */
export interface StoredTenants {
  tenants(): AsyncIterable<string>
}

/** Tenant that owns all data while tenancy is off, and all data from before tenancy was switched on. Every store lists it. */
export const DEFAULT_TENANT = 'default'
