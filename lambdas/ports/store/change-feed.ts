/** The versions of a store in the order they were committed, from which an index is fed. */
import type { ResourceVersion } from './resource-store.ts'

export type Change = { readonly position: number; readonly version: ResourceVersion }

/**
 * Guarantees
 * - Positions rise with every committed version; the versions of one commit are adjacent; a position never gets a version later.
 * - `changes` returns what follows `after` (0: from the start), at most `limit` versions and about `limit` × 64 KB.
 * - A version that is damaged comes without a body; a place that cannot be read at all is Damaged.
 */
export interface ChangeFeed {
  changes(after: number, limit: number): readonly Change[]
}
