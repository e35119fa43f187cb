/** Ports of the rebuild workflow, and the indices that it builds. */
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { SharedIndexState } from '../lifecycle/state.ts'
import type { BackfillParts } from './document-backfill.ts'
import type { ReconciliationParts } from './reconciliation.ts'
import type { IndexPresence } from './removed-index.ts'

/** Next index of a type. It is filled while the serving index answers searches. */
export type NextIndex = {
  readonly name: string
  readonly identity: string
  /** Indexes documents. `isAgain`: also replaces a document of the same version. */
  readonly apply: (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>
  /** Makes this index the serving index and removes the replaced one. `isKept`: retains the replaced index and returns its name. */
  readonly swap: (isKept: boolean) => Promise<string | undefined>
}

/** Indices of all types. The index of a type has the documents of all tenants. */
export type RebuiltIndices = IndexPresence & {
  /** Creates the next index of a type, or continues the index with this name. */
  readonly rebuild: (type: string, name?: string) => Promise<NextIndex>
  /** Continues a previous index. Returns undefined if it no longer exists. */
  readonly takeBack: (type: string, name: string) => Promise<NextIndex | undefined>
  /** Removes the index being built and the previous index of the type. `but`: index that is retained and no longer being built. */
  readonly abandon: (type: string, but?: string) => Promise<void>
  /** Removes previous indices, except those that `but` returns. Calls `but` after it has read which indices exist. */
  readonly removeKept: (but: () => Promise<readonly string[]>) => Promise<void>
  /** Indexes documents in the serving indices, and also replaces documents of the same version. */
  readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
  /** Makes all applied documents of the type visible to searches. */
  readonly show: (type: string) => Promise<void>
}

export type RebuildParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly resources: Pick<ResourceReader, 'extent' | 'scan' | 'heads' | 'history'> & StoredTenants
  /** Opens a store from before a restore, by its name. */
  readonly former: ReconciliationParts['former']
  /** Returns an identity for the index that replaces a lost one. */
  readonly newIdentity: () => string
  readonly index: RebuiltIndices
  readonly reading: SearchContext
  /** Document format of this code. */
  readonly extraction: string
  /** Restore generation of the store. It rises by one with each restore. */
  readonly epoch: number
  /** How long a replaced index is retained, in milliseconds. */
  readonly keepFor: number
  readonly now: () => number
  /** Seconds after which no function uses older definitions. */
  readonly wait: number
  /** Time in milliseconds after which a step stops filling and returns its cursor. */
  readonly budget: number
  /** Indexes definitions by canonical URL, including those written before this index existed. */
  readonly define: (versions: readonly ResourceVersion[]) => Promise<void>
}
