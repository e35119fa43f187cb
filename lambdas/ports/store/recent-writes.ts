/**
 * Latest writes in the store, for a search whose index may not have them yet.
 *
 * Guarantees
 * - `recent` yields current versions of one type, including deletions: each resource once, in its state at the read. It covers all versions
 *   stamped at `since` or later. It also covers, whatever their stamps, all versions of commits that are still in progress or finished
 *   shortly before.
 * - It throws the fault `index-behind`, before the first version, if more than `most` versions were stamped at `since` or later.
 * - It covers every commit that resolved before the read began. A store that shows commits up to a second late must document that. A store
 *   with a longer lag must wait. It throws the fault `writes-hidden` if the wait takes too long.
 */
import type { ResourceVersion } from './resource-store.ts'

export interface RecentWrites {
  /** Yields the latest writes of a type. `since`: milliseconds since 1970. `most`: maximum versions since then. */
  recent(scope: { readonly tenant: string; readonly type: string }, since: number, most: number): AsyncIterable<ResourceVersion>
}
