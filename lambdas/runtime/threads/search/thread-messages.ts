/** The messages between the server and the thread of its index. */
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import type { Freshness, GroupPlan, Matching, Plan } from '../../../ports/search/plan.ts'
import type { ResourceVersion, VersionKey } from '../../../ports/store/resource-store.ts'

/**
 * Files of the store and the index; `reading`: how texts are read, for the program of the thread; `defining`: the current SearchParameters of
 * the store; `budget`: milliseconds a search may take; `asked`: how many Asks were sent that the thread has not taken yet; `stored`: versions that
 * the store had when the thread was started.
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

/** A method of the index and what it is called with. */
export type IndexCall =
  | { readonly method: 'find' | 'explain'; readonly of: readonly [plan: Plan] }
  | { readonly method: 'distinct'; readonly of: readonly [matching: Matching & Freshness, field: string, limit: number] }
  | { readonly method: 'groups'; readonly of: readonly [plan: GroupPlan] }

/** The position up to which the versions of a tenant must be indexed before the answer. Without a tenant: the versions of all tenants. */
export type RequiredPosition = { readonly position: number; readonly tenant?: string | undefined }

export type IndexRequest = { readonly kind: 'ask'; readonly number: number; readonly question: IndexCall } & RequiredPosition

export type SearchThreadMessage =
  | { readonly kind: 'follow'; readonly position: number }
  | IndexRequest
  /** Nobody waits for the answer any more. */
  | { readonly kind: 'forget'; readonly number: number }
  | { readonly kind: 'rebuild'; readonly tenant: string; readonly types: readonly string[] }
  | { readonly kind: 'close' }

export type SearchThreadReply =
  | { readonly kind: 'positions'; readonly positions: FeedPositions }
  /** Of the thread's program: what is different now about what SearchParameters define, and how far the index has come with it. */
  | { readonly kind: 'definitions'; readonly definitions: unknown }
  | { readonly kind: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly kind: 'too-costly' | 'too-many-groups'; readonly number: number }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string }
  /** What was asked cannot be answered: the index is not as new as the store, which it cannot read. */
  | { readonly kind: 'store-damaged'; readonly reason: string }
  /** The index is made again, by the next thread. */
  | { readonly kind: 'index-damaged' }
  | { readonly kind: 'poison'; readonly version: VersionKey; readonly reason: string }
  /** A line for the operator. */
  | { readonly kind: 'notice'; readonly text: string }
