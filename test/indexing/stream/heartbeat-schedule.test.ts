/** Minutes in which a heartbeat is sent. */
import { expect, it } from '@jest/globals'
import { NO_HEARTBEAT } from '../../../lambdas/indexing/stream/heartbeat.ts'
import { HeartbeatSchedule } from '../../../lambdas/indexing/stream/heartbeat-schedule.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

const MINUTE = 60_000
const START = 1_000 * MINUTE

/** Returns the minutes in which a heartbeat is sent. `isWriting`: whether versions come in this minute. `isFollowed`: whether beats arrive. */
async function minutesOf(isWriting: (minute: number) => boolean, isFollowed = true): Promise<readonly number[]> {
  const rows = new MemoryRows()
  // The sweep and the stream are followed by different processes.
  const [sweep, follower] = [new HeartbeatSchedule(rows), new HeartbeatSchedule(rows)]
  const sent: number[] = []
  for (let minute = 0; minute < 12; minute++) {
    const now = START + minute * MINUTE + (minute % 3) * 400
    const latest = isFollowed && sent.length > 0 ? { latest: START + 60 * MINUTE } : {}
    if (await sweep.recordIfDue({ ...NO_HEARTBEAT, ...latest }, now)) sent.push(minute)
    if (isWriting(minute)) for (let n = 0; n < 3; n++) await follower.noteWrites(now + 20_000 + n)
  }
  return sent
}

it('A heartbeat is sent every third minute while nothing is written', async () => {
  expect(await minutesOf(() => false)).toEqual([0, 3, 6, 9])
})

it('A heartbeat is sent in the minute after each write', async () => {
  expect(await minutesOf(() => true)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  expect(await minutesOf((minute) => minute === 3 || minute === 4)).toEqual([0, 3, 4, 5, 8, 11])
})

it('A heartbeat is sent every minute while the latest one is not complete', async () => {
  expect(await minutesOf(() => false, false)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
})

it('A heartbeat is sent every minute while an index lacks the latest one', async () => {
  const schedule = new HeartbeatSchedule(new MemoryRows())
  const heldAt = (sent: number) => ({
    ...NO_HEARTBEAT,
    latest: START,
    held: { Patient: { identity: 'one', sent: START }, Basic: { identity: 'one', sent } },
  })
  expect(await schedule.recordIfDue(heldAt(START - MINUTE), START)).toBe(true)
  expect(await schedule.recordIfDue(heldAt(START), START + MINUTE)).toBe(false)
  expect(await schedule.recordIfDue(heldAt(START - MINUTE), START + MINUTE)).toBe(true)
})

it('A heartbeat follows writes that a process does not note, because it noted others before the previous heartbeat', async () => {
  const schedule = new HeartbeatSchedule(new MemoryRows())
  const state = { ...NO_HEARTBEAT, latest: START + 60 * MINUTE }
  await schedule.noteWrites(START)
  expect(await schedule.recordIfDue(state, START + 10_000)).toBe(true)
  await schedule.noteWrites(START + 20_000)
  expect(await schedule.recordIfDue(state, START + 70_000)).toBe(true)
  expect(await schedule.recordIfDue(state, START + 130_000)).toBe(false)
})

it('Writes are noted once in half a minute, by one of all processes', async () => {
  const rows = new MemoryRows()
  const schedules = [new HeartbeatSchedule(rows), new HeartbeatSchedule(rows)]
  for (const now of [0, 10_000, 29_999, 30_000, 40_000, 60_000]) for (const each of schedules) await each.noteWrites(START + now)
  expect(rows.writes).toBe(3)
})
