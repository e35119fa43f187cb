/**
 * Heartbeats: markers that are written every minute and reach each index through the change stream, as all writes do. If an index holds a
 * heartbeat, it has every version written before it, or missing ones have been reported. An index with an older heartbeat than before was
 * restored to an earlier state.
 */

/**
 * Maximum age in milliseconds of the latest heartbeat in the index. Beyond it, conditional interactions are answered 503, and the server is
 * not ready.
 */
export const MAX_HEARTBEAT_AGE_MS = 5 * 60_000

/**
 * One of the markers of a heartbeat, for one partition of the change stream. `place`: number of the marker. `sent`: milliseconds since
 * 1970, the same for all markers of a heartbeat. `before`: `sent` of the previous heartbeat with this `place`.
 */
export type ShardHeartbeat = { readonly place: number; readonly sent: number; readonly before?: number }

/** Identity of each serving index, and `sent` of the latest heartbeat that it holds, by resource type. */
export type IndexHeartbeats = Readonly<Record<string, { readonly identity: string; readonly sent: number }>>
