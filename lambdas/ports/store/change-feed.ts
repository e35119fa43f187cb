/** Change feed: the versions of a store in the order in which they were committed. Indices are filled from it. */
import type { ResourceVersion } from './resource-store.ts'

export type Change = { readonly position: number; readonly version: ResourceVersion }

/** Selects versions of the feed: those of one tenant, or those of all tenants except some. */
export type FeedTenants = { readonly only: string } | { readonly except: readonly string[] }

/** Part of the feed. `upTo`: position up to which `changes` holds every selected version, beginning after the requested position. */
export type FeedPart = { readonly changes: readonly Change[]; readonly upTo: number }

/**
 * Guarantees
 * - Each committed version gets a higher position than all before it. The versions of one commit are adjacent. No version is added later at
 *   a position without one.
 * - `changes` returns the versions after position `after` (0: from the start), at most `limit` versions and about `limit` × 64 KB.
 * - `changesOf` returns the selected versions after `after`, within the same limits. A caller that continues at `upTo` gets each of them
 *   once and reaches the end of the feed. One call examines a bounded number of positions, so a part may be empty before the end.
 * - `tenantsIn` returns the tenants that have versions after position `after` and up to `upTo`.
 * - A damaged version is returned without a body. A position that cannot be read at all throws the fault `store-damaged`.
 */
export interface ChangeFeed {
  changes(after: number, limit: number): readonly Change[]
  changesOf(tenants: FeedTenants, after: number, limit: number): FeedPart
  tenantsIn(after: number, upTo: number): readonly string[]
}
