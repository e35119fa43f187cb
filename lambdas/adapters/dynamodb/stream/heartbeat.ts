/**
 * Heartbeats as items of the table, each in a partition of its own. The stream reports them like head items. Some are also in the table's
 * index and measure its lag.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import { BEATS_PER_PARTITION, MIN_BEATS, type ShardHeartbeat } from '../../../ports/search/heartbeat.ts'
import type { Item, TableClient } from '../table-client.ts'
import { INDEX_NAME } from '../table-keys.ts'
import type { StreamRecord } from './stream.ts'

/** Sort key of heartbeats. */
export const HEARTBEAT_SORT_KEY = 'P'

const PARTITION = '#PULSE#'
/**
 * Prefix of places that earlier releases do not send. They ignore these beats after a rollback. Otherwise they would wait for the next beats
 * of these places, and consider no heartbeat complete.
 */
const HIGH_PARTITION = '#PULSE+#'

/**
 * At most one of this many heartbeats is in the index of a small table, because each entry costs a write unit. If an index has 4 partitions,
 * 24 indexed heartbeats miss one of them in 4 of 1,000 tables.
 */
const INDEXED = 4
/** Maximum number of beats in a small table, which has 8 partitions. The index of a larger one has all of them. */
const FEW_BEATS = 8 * BEATS_PER_PARTITION
/** Maximum parallel queries of the index. */
const QUERIES = 64

const keyOf = (place: number): string => `${place < MIN_BEATS ? PARTITION : HIGH_PARTITION}${place}`

/** Whether the index has the heartbeat. It has at least BEATS_PER_PARTITION. */
function isIndexed({ place, of }: ShardHeartbeat): boolean {
  return of > FEW_BEATS || place % Math.min(INDEXED, Math.floor(of / BEATS_PER_PARTITION)) === 0
}

/**
 * Creates the item of a heartbeat. The index carries the attribute `sup`. The sort key `gsk` is constant, so the index updates its entry in
 * place, for one write unit.
 */
export const heartbeatItem = (beat: ShardHeartbeat): Item => ({
  ...{ pk: keyOf(beat.place), sk: HEARTBEAT_SORT_KEY, sent: beat.sent, of: beat.of },
  ...(isIndexed(beat) ? { gpk: keyOf(beat.place), gsk: HEARTBEAT_SORT_KEY, sup: beat.sent } : {}),
})

/** Returns the instant at which the latest heartbeat was sent, in milliseconds since 1970, or undefined if none was. */
export async function readSentHeartbeat(dynamo: TableClient): Promise<number | undefined> {
  return (await dynamo.get({ pk: keyOf(0), sk: HEARTBEAT_SORT_KEY }))?.sent as number | undefined
}

/** Returns those of the given heartbeats that are in the index, but not yet with their latest instant. */
export async function hiddenHeartbeats(dynamo: TableClient, beats: readonly ShardHeartbeat[]): Promise<readonly ShardHeartbeat[]> {
  const hidden: ShardHeartbeat[] = []
  await forEachInParallel(beats.filter(isIndexed), QUERIES, async (beat) => {
    if ((await shownBeat(dynamo, beat.place)) < beat.sent) hidden.push(beat)
  })
  return hidden
}

/** Returns the instant of the latest heartbeat that the index shows for `place`, in milliseconds since 1970, or 0. */
async function shownBeat(dynamo: TableClient, place: number): Promise<number> {
  for await (const { sup } of dynamo.query({
    IndexName: INDEX_NAME,
    KeyConditionExpression: 'gpk = :gpk',
    ExpressionAttributeValues: { ':gpk': keyOf(place) },
  }))
    return sup as number
  return 0
}

/** Returns the heartbeat that a stream record contains, with the previous one as `before`, or undefined for any other record. */
export function heartbeatOfRecord({ dynamodb }: StreamRecord): ShardHeartbeat | undefined {
  const { pk, sk, sent, of } = dynamodb?.NewImage ?? {}
  const place = /^#PULSE\+?#(\d+)$/.exec(pk?.S ?? '')?.[1]
  if (sk?.S !== HEARTBEAT_SORT_KEY || place === undefined) return undefined
  const before = dynamodb?.OldImage?.sent?.N
  return {
    ...{ place: Number(place), of: of === undefined ? MIN_BEATS : Number(of.N), sent: Number(sent?.N) },
    ...(before === undefined ? {} : { before: Number(before) }),
  }
}
