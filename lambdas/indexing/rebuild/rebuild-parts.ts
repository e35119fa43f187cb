/** Ports of the rebuild workflow, including the indices that it fills. */
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { rebuildsOfAttempt } from '../lifecycle/rebuild-queue.ts'
import type { IndexState, SharedIndexState } from '../lifecycle/state.ts'
import type { BackfillParts } from './document-backfill.ts'
import type { OfType, RebuildProgress } from './rebuild-progress.ts'
import type { ReconciliationParts } from './reconciliation.ts'
import type { IndexPresence } from './removed-index.ts'

/** Next index of a type. The rebuild fills it while the serving index answers searches. */
export type NextIndex = {
  readonly name: string
  readonly identity: string
  /** Writes documents to this index only. `isAgain`: also replaces a document of the same version. */
  readonly apply: (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>
  /** Gives the full index its replicas. Returns its health: `green` once all copies exist. */
  readonly complete: () => Promise<'green' | 'yellow' | 'red'>
  /**
   * Makes this index the serving index. Removes the replaced index and returns undefined. `isKept`: retains the replaced index and returns
   * its name.
   */
  readonly swap: (isKept: boolean) => Promise<string | undefined>
}

/** Indices of all types. The index of a type has the documents of all tenants. */
export type RebuiltIndices = IndexPresence & {
  /**
   * Returns the index with this name, to continue its rebuild. Without a name, returns the next index of the type, and creates it if there
   * is none.
   */
  readonly rebuild: (type: string, name?: string) => Promise<NextIndex>
  /** Makes a previous index the next index of its type, with its documents. Returns undefined if it no longer exists. */
  readonly takeBack: (type: string, name: string) => Promise<NextIndex | undefined>
  /** Removes the next and the previous index of the type. `but`: index to retain; it then is no longer the next index. */
  readonly abandon: (type: string, but?: string) => Promise<void>
  /**
   * Removes previous indices, except those whose names `but` returns. Lists the indices before it calls `but`, so that an index retained
   * meanwhile is not removed.
   */
  readonly removeKept: (but: () => Promise<readonly string[]>) => Promise<void>
  /** Writes documents to the serving indices. Also replaces documents of the same version. */
  readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
  /** Makes all applied documents of the type visible to searches. */
  readonly show: (type: string) => Promise<void>
  /** Whether this next index exists with all its shards. */
  readonly isSound: (type: string, index: string) => Promise<boolean>
}

export type RebuildParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly progress: RebuildProgress
  readonly resources: Pick<ResourceReader, 'extent' | 'scan' | 'heads' | 'history'> & StoredTenants
  /** Opens the store from before a restore, by its name. */
  readonly former: ReconciliationParts['former']
  /** Returns a new identity for the index that replaces a lost one. */
  readonly newIdentity: () => string
  readonly index: RebuiltIndices
  readonly reading: SearchContext
  /** Document format of this code. */
  readonly extraction: string
  /** Restore generation of the store that this code reads. Each restore increments it. */
  readonly epoch: number
  /** How long a previous index is retained, in milliseconds. 0: not at all. */
  readonly keepFor: number
  readonly now: () => number
  /** Seconds after which every function uses the current definitions and writes to a next index. */
  readonly wait: number
  /** Time in milliseconds after which a step starts no further page. The next step continues. */
  readonly budget: number
  /** Announces the canonical URLs of the versions, including those written before any were announced. */
  readonly announce: (versions: readonly ResourceVersion[]) => Promise<void>
  /** Adds the identifier rows of the versions. */
  readonly addIdentifiers: (versions: readonly ResourceVersion[]) => Promise<void>
  readonly warn: (message: string) => void
}

/** Whether the state has another document format. Code of that format performs the rebuilds then. */
export const hasOtherFormat = ({ extraction }: RebuildParts, state: IndexState): boolean =>
  state.extraction !== undefined && state.extraction !== extraction

/** Whether the attempt still has a rebuild of the type. False after a newer request for it, which the next attempt performs. */
export const isWanted = (state: IndexState, { type, attempt }: OfType): boolean =>
  rebuildsOfAttempt(state, attempt).some((each) => each.type === type)

export const timeRangeOf = (since: number | undefined, until: number | undefined) => ({
  ...(since === undefined ? {} : { since }),
  ...(until === undefined ? {} : { until }),
})
