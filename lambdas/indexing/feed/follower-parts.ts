/** Parts of a follower of the change feed. */
import type { ChangeFeed } from '../../ports/store/change-feed.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Definitions } from '../custom-definitions.ts'
import type { ParameterPrefetch } from '../parameter-prefetch.ts'
import type { FollowingIndex, UnindexableHandler } from './indexing.ts'
import type { RebuiltIndex } from './rebuild-slice.ts'

/**
 * The change feed of a store, and reads of that store. `hasOthersThan`: whether another tenant has ever written to the store. `tenantsOf`:
 * tenants that have ever written a resource of the type.
 */
export type FollowedFeed = ChangeFeed & {
  readonly version: (key: VersionKey) => ResourceVersion | undefined
  readonly hasOthersThan: (tenant: string) => boolean
  readonly tenantsOf: (type: string) => readonly string[]
}

export type FeedFollowerParts = {
  readonly feed: FollowedFeed
  readonly index: FollowingIndex & RebuiltIndex
  /** Search context without custom parameters. */
  readonly reading: SearchContext
  /**
   * SearchParameters that were current when the follower started. An index without documents uses their parameters from its first document
   * on.
   */
  readonly defining?: readonly ResourceVersion[]
  readonly prefetch: ParameterPrefetch
  readonly onPoison: UnindexableHandler
  /** Number of versions from the feed after which `follow` commits the index. */
  readonly commitEvery: number
  /** Receives the parts of the definitions that changed, and the rebuilds whenever one progressed. */
  readonly onChange: (changed: Partial<Definitions>) => void
}
