/**
 * The tenants a store knows.
 *
 * Guarantees
 * - A tenant is there from the moment on when a commit of it resolved, whichever process made it, and whichever died since. One that has
 *   nothing may be there, too.
 * - Each comes once, and two listings give those they have in common in the same order.
 */
export interface StoredTenants {
  tenants(): AsyncIterable<string>
}

/** Everything belongs to it without tenancy, and did before there was any: a store always knows it. */
export const DEFAULT_TENANT = 'default'
