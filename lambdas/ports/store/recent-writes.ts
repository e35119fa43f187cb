/**
 * Latest writes, for an index that follows the store and may not have them yet.
 *
 * Guarantees
 * - `recent` yields current versions of one type, deletions too, each resource once and in its state at the read. It covers all versions
 *   stamped at `since` or later. It also covers, whatever their stamps, all versions of commits that are still in progress or finished
 *   shortly before. Throws the fault `index-behind`, before the first version, if more than `most` versions were stamped since.
 * - A commit that resolved before the read began is covered. A store that shows commits up to a second late must document that. A store
 *   with a longer lag waits. Throws the fault `writes-hidden` if the wait takes too long.
 */
import type { ResourceVersion } from './resource-store.ts'

export interface RecentWrites {
  /** `since`: milliseconds since 1970. */
  recent(scope: { readonly tenant: string; readonly type: string }, since: number, most: number): AsyncIterable<ResourceVersion>
}
