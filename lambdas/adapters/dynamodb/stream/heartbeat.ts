/**
 * The beats of a pulse as items of the table, each in a partition of its own. The stream reports them as it reports heads. The index shows
 * some of them, as late as heads.
 */
import type { Beat } from '../../../ports/search/heartbeat.ts'
import type { Dynamo, Item } from '../table-client.ts'
import { INDEX } from '../table-keys.ts'
import type { StreamRecord } from './stream.ts'

/** The sort key of beats. */
export const BEAT = 'P'

const PARTITION = '#PULSE#'

/** One beat of so many is in the index, because an entry costs a write unit. With 4 parts of an index, 16 beats miss one in 4 of 100 tables. */
const INDEXED = 4

const keyOf = (place: number): string => `${PARTITION}${place}`
const isIndexed = (place: number): boolean => place % INDEXED === 0

/** `sup` is the attribute that the index carries. With the same `gsk` each time, the entry is changed in its place, for one unit. */
export const beatItem = ({ place, sent }: Beat): Item => ({
  ...{ pk: keyOf(place), sk: BEAT, sent },
  ...(isIndexed(place) ? { gpk: keyOf(place), gsk: BEAT, sup: sent } : {}),
})

/** Returns the beats, of those given, that the index of the table does not show yet. */
export async function hiddenBeats(dynamo: Dynamo, beats: readonly Beat[]): Promise<readonly Beat[]> {
  const indexed = beats.filter(({ place }) => isIndexed(place))
  const hidden = await Promise.all(indexed.map(async ({ place, sent }) => (await shownBeat(dynamo, place)) < sent))
  return indexed.filter((_, i) => hidden[i])
}

/** Returns when the youngest beat was sent that the index shows in a place, or 0. */
async function shownBeat(dynamo: Dynamo, place: number): Promise<number> {
  for await (const { sup } of dynamo.query({
    IndexName: INDEX,
    KeyConditionExpression: 'gpk = :gpk',
    ExpressionAttributeValues: { ':gpk': keyOf(place) },
  }))
    return sup as number
  return 0
}

/** undefined: the record tells of none. */
export function streamBeat({ dynamodb }: StreamRecord): Beat | undefined {
  const { pk, sk, sent } = dynamodb?.NewImage ?? {}
  if (sk?.S !== BEAT || !pk?.S?.startsWith(PARTITION)) return undefined
  const before = dynamodb?.OldImage?.sent?.N
  return { place: Number(pk.S.slice(PARTITION.length)), sent: Number(sent?.N), ...(before === undefined ? {} : { before: Number(before) }) }
}
