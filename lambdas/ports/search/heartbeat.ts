/**
 * Heartbeats: markers that are written every minute and reach each index on the same path as all writes. The latest one in an index shows
 * two facts: since when versions may be missing there, and whether the index was returned to an earlier state.
 */

/**
 * Part of a heartbeat, for one partition of the change stream. `place`: number of the part. `sent`: milliseconds since 1970, the same for
 * all parts. `before`: `sent` of the previous heartbeat in this place.
 */
export type ShardHeartbeat = { readonly place: number; readonly sent: number; readonly before?: number }

/** Identity of the index and the latest heartbeat seen in it, by resource type. */
export type IndexHeartbeats = Readonly<Record<string, { readonly identity: string; readonly sent: number }>>
