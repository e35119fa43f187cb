/** Messages between the server and the index thread. */
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import type { PackageDefinitions } from '../../../ports/definitions/package-definitions.ts'
import type { Freshness, GroupPlan, Matching, Plan } from '../../../ports/search/plan.ts'
import type { ResourceVersion, VersionKey } from '../../../ports/store/resource-store.ts'

/**
 * Data of the index thread. `store`, `index`: paths of their files. `reading`: search context. `defining`: current SearchParameters.
 * `budget`: maximum milliseconds of a search. `asked`: number of requests that were sent, but not yet read by the thread. `stored`: number
 * of versions in the store when the thread started.
 */
export type SearchThreadData = {
  readonly store: string
  readonly index: string
  readonly reading: object
  readonly defining?: readonly ResourceVersion[]
  readonly budget: number
  readonly asked: Int32Array<SharedArrayBuffer>
  readonly stored: number
}

/** Data of the index thread, and callbacks of the server. */
export type ThreadedIndexOptions = Omit<SearchThreadData, 'asked' | 'stored'> & {
  /** Program of the thread. */
  readonly thread: URL
  /** Returns the change feed position of the last acknowledged write, of one tenant or of all. */
  readonly acknowledged: (tenant?: string) => number
  readonly report: (error: unknown) => void
  readonly onDefinitions?: (definitions: unknown) => void
  /** Receives one-line messages for the operator. */
  readonly warn?: (line: string) => void
}

/** Call of a method of the index: its name and its arguments. */
export type IndexCall =
  | { readonly method: 'find' | 'explain'; readonly of: readonly [plan: Plan] }
  | { readonly method: 'distinct'; readonly of: readonly [matching: Matching & Freshness, field: string, limit: number] }
  | { readonly method: 'groups'; readonly of: readonly [plan: GroupPlan] }

/**
 * Position up to which versions must be indexed before a request is answered. `tenant`: only versions of this tenant must be. Absent: those
 * of all tenants.
 */
export type RequiredPosition = { readonly position: number; readonly tenant?: string | undefined }

export type IndexRequest = { readonly kind: 'ask'; readonly number: number; readonly question: IndexCall } & RequiredPosition

export type SearchThreadMessage =
  | { readonly kind: 'follow'; readonly position: number }
  | IndexRequest
  /** The caller no longer waits for the answer to this request. */
  | { readonly kind: 'forget'; readonly number: number }
  | { readonly kind: 'rebuild'; readonly tenant: string; readonly types: readonly string[] }
  /** Replaces the parameters of packages. `at`: now, in ms since 1970. The thread reports the same `number` once they are registered. */
  | { readonly kind: 'packages'; readonly number: number; readonly packages: readonly PackageDefinitions[]; readonly at: number }
  | { readonly kind: 'close' }

export type SearchThreadReply =
  | { readonly kind: 'positions'; readonly positions: FeedPositions }
  | { readonly kind: 'packages'; readonly number: number }
  /**
   * Parts of the definitions of SearchParameters that changed, and the progress of rebuilds. The type is `unknown`, because only the
   * program of the thread knows it.
   */
  | { readonly kind: 'definitions'; readonly definitions: unknown }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'too-costly' | 'too-many-groups'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string }
  /** The store cannot be read. The server rejects the requests for which the index lacks versions. */
  | { readonly kind: 'store-damaged'; readonly reason: string }
  /** The index is damaged and deleted. The next thread builds it again. */
  | { readonly kind: 'index-damaged' }
  | { readonly kind: 'poison'; readonly version: VersionKey; readonly reason: string }
  /** Line for the operator. */
  | { readonly kind: 'notice'; readonly text: string }
