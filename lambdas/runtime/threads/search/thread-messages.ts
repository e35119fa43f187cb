/** Messages between the server and the thread of its index. */
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import type { Freshness, GroupPlan, Matching, Plan } from '../../../ports/search/plan.ts'
import type { ResourceVersion, VersionKey } from '../../../ports/store/resource-store.ts'

/**
 * Files of the store and the index. `reading`: the search context, for the program of the thread. `defining`: the current SearchParameters.
 * `budget`: milliseconds that a search may take. `asked`: number of sent requests that the thread has not read yet. `stored`: number of
 * versions in the store when the thread started.
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

/** Method of the index and its arguments. */
export type IndexCall =
  | { readonly method: 'find' | 'explain'; readonly of: readonly [plan: Plan] }
  | { readonly method: 'distinct'; readonly of: readonly [matching: Matching & Freshness, field: string, limit: number] }
  | { readonly method: 'groups'; readonly of: readonly [plan: GroupPlan] }

/** Position up to which the versions of a tenant must be indexed before the answer. Without a tenant: the versions of all tenants. */
export type RequiredPosition = { readonly position: number; readonly tenant?: string | undefined }

export type IndexRequest = { readonly kind: 'ask'; readonly number: number; readonly question: IndexCall } & RequiredPosition

export type SearchThreadMessage =
  | { readonly kind: 'follow'; readonly position: number }
  | IndexRequest
  /** The caller no longer waits for the answer. */
  | { readonly kind: 'forget'; readonly number: number }
  | { readonly kind: 'rebuild'; readonly tenant: string; readonly types: readonly string[] }
  | { readonly kind: 'close' }

export type SearchThreadReply =
  | { readonly kind: 'positions'; readonly positions: FeedPositions }
  /**
   * Changed parts of the definitions of SearchParameters, and the progress of their rebuilds. The program of the thread determines the
   * type.
   */
  | { readonly kind: 'definitions'; readonly definitions: unknown }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'too-costly' | 'too-many-groups'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string }
  /** Requests cannot be answered: the index lacks versions that cannot be read from the store. */
  | { readonly kind: 'store-damaged'; readonly reason: string }
  /** The index is damaged. The next thread rebuilds it. */
  | { readonly kind: 'index-damaged' }
  | { readonly kind: 'poison'; readonly version: VersionKey; readonly reason: string }
  /** A line for the operator. */
  | { readonly kind: 'notice'; readonly text: string }
