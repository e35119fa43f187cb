/** The beats of a pulse as items of the table, each in a partition of its own: its stream tells them where it tells heads. */
import type { Beat } from '../../../ports/search/heartbeat.ts'
import type { Item } from '../table-client.ts'
import type { StreamRecord } from './stream.ts'

/** The sort key of beats. */
export const BEAT = 'P'

const PARTITION = '#PULSE#'

export const beatItem = ({ place, sent }: Beat): Item => ({ pk: `${PARTITION}${place}`, sk: BEAT, sent })

/** undefined: the record tells of none. */
export function streamBeat({ dynamodb }: StreamRecord): Beat | undefined {
  const { pk, sk, sent } = dynamodb?.NewImage ?? {}
  if (sk?.S !== BEAT || !pk?.S?.startsWith(PARTITION)) return undefined
  const before = dynamodb?.OldImage?.sent?.N
  return { place: Number(pk.S.slice(PARTITION.length)), sent: Number(sent?.N), ...(before === undefined ? {} : { before: Number(before) }) }
}
