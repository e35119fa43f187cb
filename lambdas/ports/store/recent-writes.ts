/**
 * Latest writes, which an index that follows a store may not have yet.
 *
 * Guarantees
 * - `recent` gives the heads of one type, deletions too, each resource once and as it is when it is read: all those stamped at `since` or later,
 *   and, whatever their stamps, all that commits are still bringing in or brought in only lately. IndexBehind, before the first, where more than
 *   `most` versions were stamped since.
 * - A commit that resolved before the reading began is there: a store that shows it up to a second late says so, and one that shows it later waits.
 *   WritesHidden where that takes too long.
 */
import type { ResourceVersion } from './resource-store.ts'

export interface RecentWrites {
  /** `since`: ms since 1970. */
  recent(scope: { readonly tenant: string; readonly type: string }, since: number, most: number): AsyncIterable<ResourceVersion>
}
