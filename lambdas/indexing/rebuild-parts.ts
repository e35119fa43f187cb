/** The ports of the rebuild workflow, and the indices that it makes. */
import type { IndexDocument } from '../ports/search/search-index.ts'
import type { ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { StoredTenants } from '../ports/store/tenants.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { BackfillParts } from './document-backfill.ts'
import type { SharedIndexState } from './index-state.ts'
import type { ReconciliationParts } from './reconciliation.ts'
import type { IndexPresence } from './removed-index.ts'

/** The next index of a type, filled beside the live one. */
export type NextIndex = {
  readonly name: string
  readonly identity: string
  /** `isAgain`: also where that version is there already. */
  readonly apply: (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>
  /** It takes the place of the live one, which goes, or is kept: then its name. */
  readonly swap: (isKept: boolean) => Promise<string | undefined>
}

/** The index of each type has the documents of all tenants. */
export type RebuiltIndices = IndexPresence & {
  /** Begins the next index of a type, or, with its name, goes on with it. */
  readonly rebuild: (type: string, name?: string) => Promise<NextIndex>
  /** Goes on with an index that was kept. undefined: it is not there any more. */
  readonly takeBack: (type: string, name: string) => Promise<NextIndex | undefined>
  /** What is built of the type ends, and what is kept of it goes, but this one: that is kept. */
  readonly abandon: (type: string, but?: string) => Promise<void>
  /** What is kept goes, but the indices named, which is asked when it is known what there is. */
  readonly removeKept: (but: () => Promise<readonly string[]>) => Promise<void>
  /** Where they are, also where that version is there already. */
  readonly applyAgain: (documents: readonly IndexDocument[]) => Promise<void>
  /** From now on searches see what was applied. */
  readonly show: (type: string) => Promise<void>
}

export type RebuildParts = BackfillParts & {
  readonly state: SharedIndexState
  readonly resources: Pick<ResourceReader, 'extent' | 'scan' | 'heads' | 'history'> & StoredTenants
  /** A store that was there before this one. */
  readonly former: ReconciliationParts['former']
  /** Of an index that is lost. */
  readonly newIdentity: () => string
  readonly index: RebuiltIndices
  readonly reading: SearchContext
  /** What this code makes documents with. */
  readonly extraction: string
  /** Of the store, one higher each time it was set back. */
  readonly epoch: number
  /** For which an index is kept that another took the place of: ms. */
  readonly keepFor: number
  readonly now: () => number
  /** Seconds after which no function works with older definitions. */
  readonly wait: number
  /** Milliseconds a step may go on filling. */
  readonly budget: number
  /** Those of definitions come to be found by their canonicals, whenever they were written. */
  readonly define: (versions: readonly ResourceVersion[]) => Promise<void>
}
