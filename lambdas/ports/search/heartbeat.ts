/**
 * Heartbeats: markers that are written every minute, or every third one without writes. They reach each index through the change stream, as
 * all writes do. If an index holds a heartbeat, it has every version written before it, or missing ones have been reported. An index with an
 * older heartbeat than before was restored to an earlier state.
 */

/**
 * Maximum age in milliseconds of the latest heartbeat in the index. Beyond it, conditional interactions are answered 503, and the server is
 * not ready.
 */
export const MAX_HEARTBEAT_AGE_MS = 5 * 60_000

/**
 * Beats of a heartbeat for each partition of the change stream. A stream may have partitions of half the average size. With n such
 * partitions, the probability that one of them gets no beat is at most n · e^−12: 2 in 100,000 for 4, and 2 in 1,000 for 300.
 */
export const BEATS_PER_PARTITION = 24
/** Minimum number of beats of a heartbeat. Earlier releases send this number. */
export const MIN_BEATS = 64
/** Maximum number of beats that are sent. Each costs a write unit of the table and one of its index. */
export const MAX_BEATS = 12_000
/**
 * Number of beats that are written, and then looked for in the table's index, at once. With all 12,000, the time of the calls themselves would
 * appear as lag.
 */
export const BEATS_AT_ONCE = 480
/** Maximum number of partitions of the change stream. A heartbeat through more might miss some of them. */
export const MAX_STREAM_PARTITIONS = MAX_BEATS / BEATS_PER_PARTITION

/**
 * One of the markers of a heartbeat. `place`: number of the marker, from 0 on. `of`: number of markers of its heartbeat. It is greater than
 * MAX_BEATS if the heartbeat may miss partitions of the stream: it then never becomes complete. `sent`: milliseconds since 1970, the same for
 * all markers of a heartbeat. `before`: `sent` of the previous heartbeat with this `place`.
 */
export type ShardHeartbeat = { readonly place: number; readonly of: number; readonly sent: number; readonly before?: number }

/** Identity of each serving index, and `sent` of the latest heartbeat that it holds, by resource type. */
export type IndexHeartbeats = Readonly<Record<string, { readonly identity: string; readonly sent: number }>>
