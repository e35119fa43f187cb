/**
 * Heartbeats as items of the table, each in a partition of its own. The stream reports them like head items. Some are also in the table's
 * index and measure its lag.
 */
import type { ShardHeartbeat } from '../../../ports/search/heartbeat.ts'
import type { Item, TableClient } from '../table-client.ts'
import { INDEX_NAME } from '../table-keys.ts'
import type { StreamRecord } from './stream.ts'

/** Sort key of heartbeats. */
export const HEARTBEAT_SORT_KEY = 'P'

const PARTITION = '#PULSE#'

/**
 * One of this many heartbeats is in the index, because each entry costs a write unit. If an index has 4 partitions, 16 indexed heartbeats
 * miss one of them in 4 % of tables.
 */
const INDEXED = 4

const keyOf = (place: number): string => `${PARTITION}${place}`
const isIndexed = (place: number): boolean => place % INDEXED === 0

/**
 * Creates the item of a heartbeat. The index carries the attribute `sup`. The sort key `gsk` is constant, so the index updates its entry in
 * place, for one write unit.
 */
export const heartbeatItem = ({ place, sent }: ShardHeartbeat): Item => ({
  ...{ pk: keyOf(place), sk: HEARTBEAT_SORT_KEY, sent },
  ...(isIndexed(place) ? { gpk: keyOf(place), gsk: HEARTBEAT_SORT_KEY, sup: sent } : {}),
})

/** Returns the instant at which the latest heartbeat was sent, in milliseconds since 1970, or undefined if none was. */
export async function readSentHeartbeat(dynamo: TableClient): Promise<number | undefined> {
  return (await dynamo.get({ pk: keyOf(0), sk: HEARTBEAT_SORT_KEY }))?.sent as number | undefined
}

/** Returns those of the given heartbeats that are in the index, but not yet with their latest instant. */
export async function hiddenHeartbeats(dynamo: TableClient, beats: readonly ShardHeartbeat[]): Promise<readonly ShardHeartbeat[]> {
  const indexed = beats.filter(({ place }) => isIndexed(place))
  const hidden = await Promise.all(indexed.map(async ({ place, sent }) => (await shownBeat(dynamo, place)) < sent))
  return indexed.filter((_, i) => hidden[i])
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
  const { pk, sk, sent } = dynamodb?.NewImage ?? {}
  if (sk?.S !== HEARTBEAT_SORT_KEY || !pk?.S?.startsWith(PARTITION)) return undefined
  const before = dynamodb?.OldImage?.sent?.N
  return { place: Number(pk.S.slice(PARTITION.length)), sent: Number(sent?.N), ...(before === undefined ? {} : { before: Number(before) }) }
}
