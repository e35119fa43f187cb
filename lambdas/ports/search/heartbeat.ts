/**
 * The pulse of what follows a store: every minute one goes the way of all writes into each index. By what an index has of it is known since when
 * writes may be missing from it, and whether it was set back.
 */

/** A part of a pulse, in a place of the stream of its own. `sent`: ms since 1970, the number of the pulse. `before`: of the one ahead of it in its place. */
export type ShardHeartbeat = { readonly place: number; readonly sent: number; readonly before?: number }

/** Type → the identity of its index, and the latest pulse it was seen to have. */
export type IndexHeartbeats = Readonly<Record<string, { readonly identity: string; readonly sent: number }>>
