/** Certain progress of the indices behind a stream of many shards, each in its own order. */
import { describe, expect, it } from '@jest/globals'
import {
  BEATS_PER_HEARTBEAT,
  followHeartbeat,
  heartbeatAgeOf,
  indexHealthOf,
  latestHeartbeatOf,
  NO_HEARTBEAT,
  sendHeartbeat,
  withBeats,
  withIndexHeartbeats,
} from '../../../lambdas/indexing/stream/heartbeat.ts'
import type { IndexHeartbeats, ShardHeartbeat } from '../../../lambdas/ports/search/heartbeat.ts'
import type { ServingIndices } from '../../../lambdas/ports/search/serving-indices.ts'
import { memoryState } from '../../fixtures/memory-state.ts'

const all = (sent: number): readonly ShardHeartbeat[] => Array.from({ length: BEATS_PER_HEARTBEAT }, (_, place) => ({ place, sent }))
const neverMissed = (since: number): Promise<void> => Promise.reject(new Error(`missed since ${since}`))
const one = (sent: number) => ({ identity: 'one', sent })
const types: ServingIndices['types'] = { Patient: { identity: 'one' }, Basic: { identity: 'one' } }

describe('a heartbeat', () => {
  it('arrives with its last beat; later beats count, earlier and repeated ones do not', () => {
    const [last, ...others] = all(10)
    const missing = withBeats(NO_HEARTBEAT, others)
    expect(latestHeartbeatOf(missing)).toBeUndefined()
    const whole = withBeats(missing, [last!])
    expect(latestHeartbeatOf(whole)).toBe(10)
    expect(withBeats(whole, [...all(9), ...all(10)])).toBe(whole)
    expect(latestHeartbeatOf(withBeats(whole, all(20).slice(1)))).toBe(10)
    expect(latestHeartbeatOf(withBeats(withBeats(whole, all(20).slice(1)), [{ place: 0, sent: 15 }, { place: 0, sent: 12 }]))).toBe(15) // biome-ignore format: one line
  })

  it('never covers an acknowledged write that is not applied, in any order of shards', async () => {
    const PARTS = 5
    // Each part keeps its order. The seeds choose which part continues.
    for (let seed = 1; seed <= 40; seed++) {
      const state = memoryState(NO_HEARTBEAT)
      const told: number[] = []
      const parts: (ShardHeartbeat | number)[][] = Array.from({ length: PARTS }, () => [])
      const [applied, acknowledged] = [new Set<number>(), [] as number[]]
      const tell = async (sent: number): Promise<IndexHeartbeats> => {
        expect(acknowledged.filter((at) => at < sent && !applied.has(at))).toEqual([])
        told.push(sent)
        return { Patient: one(sent) }
      }
      const send = async (beats: readonly ShardHeartbeat[]) => void beats.map((beat) => parts[beat.place % PARTS]!.push(beat))
      const follow = async (part: (ShardHeartbeat | number)[], count: number) => {
        const records = part.splice(0, count)
        for (const each of records) if (typeof each === 'number') applied.add(each)
        const beats = records.filter((each) => typeof each !== 'number')
        if (beats.length > 0) await followHeartbeat({ state, tell, missed: neverMissed }, beats, 0)
      }
      let random = seed
      const next = (below: number): number => {
        random = (random * 48_271) % 2_147_483_647
        return random % below
      }
      for (let now = 1; now < 200; now++) {
        acknowledged.push(now)
        parts[next(PARTS)]!.push(now)
        if (now % 20 === 0) await sendHeartbeat({ state, send }, now)
        for (let i = next(4); i > 0; i--) await follow(parts[next(PARTS)]!, 1 + next(30))
      }
      for (const part of parts) await follow(part, part.length)
      expect([latestHeartbeatOf((await state.read()).value), told.at(-1), told.toSorted((a, b) => a - b)]).toEqual([180, 180, told])
    }
  })

  it('is written to the indices once, by its last beat, and again after a failure', async () => {
    const state = memoryState(NO_HEARTBEAT)
    const told: (readonly [number, IndexHeartbeats])[] = []
    const tell = async (sent: number, held: IndexHeartbeats) => {
      told.push([sent, held])
      if (told.length === 1) throw new Error('refused')
      return { Patient: one(sent) }
    }
    await followHeartbeat({ state, tell, missed: neverMissed }, all(10).slice(1), 0)
    expect(told).toEqual([])
    await expect(followHeartbeat({ state, tell, missed: neverMissed }, all(10).slice(0, 1), 0)).rejects.toThrow('refused')
    await followHeartbeat({ state, tell, missed: neverMissed }, all(10).slice(0, 1), 0)
    await followHeartbeat({ state, tell, missed: neverMissed }, all(10), 0)
    await followHeartbeat({ state, tell, missed: neverMissed }, all(20), 0)
    expect(told).toEqual([
      [10, {}],
      [10, {}],
      [20, { Patient: one(10) }],
    ])
  })

  it('with a gap reports missed versions until that succeeds, and then continues', async () => {
    const [HOUR, MINUTE] = [3_600_000, 60_000]
    const state = memoryState(NO_HEARTBEAT)
    const [told, missing]: [number[], number[]] = [[], []]
    let isDown = true
    const parts = {
      state,
      tell: async (sent: number) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
      missed: async (since: number) => {
        missing.push(since)
        if (isDown) throw new Error('down')
      },
    }
    const beatsOf = (sent: number, before: number) => all(sent).map((beat) => ({ ...beat, before }))
    await followHeartbeat(parts, beatsOf(2 * HOUR, 2 * HOUR - 1), 0)
    await followHeartbeat(parts, beatsOf(3 * HOUR, 2 * HOUR), 0)
    await followHeartbeat(parts, beatsOf(3 * HOUR, 3 * HOUR - 1), 0)
    expect([told, missing]).toEqual([[2 * HOUR, 3 * HOUR], []])
    const late = [...beatsOf(4 * HOUR, 3 * HOUR).slice(0, 9), { place: 9, sent: 5 * HOUR, before: 4 * HOUR }]
    await expect(followHeartbeat(parts, [...late, { place: 8, sent: 7 * HOUR, before: 6 * HOUR }], 0)).rejects.toThrow('down')
    isDown = false
    await followHeartbeat(parts, beatsOf(8 * HOUR, 4 * HOUR), 100)
    expect([told.at(-1), missing]).toEqual([3 * HOUR, [2 * HOUR, 2 * HOUR]])
    await followHeartbeat(parts, beatsOf(8 * HOUR + 1, 8 * HOUR), 99 + MINUTE)
    await followHeartbeat(parts, beatsOf(8 * HOUR + 2, 8 * HOUR + 1), 100 + MINUTE)
    expect([told.slice(2), missing.length]).toEqual([[8 * HOUR + 2], 2])
  })

  it('is held by an index until another index replaces it', () => {
    const before = withIndexHeartbeats(NO_HEARTBEAT, { Patient: one(10), Basic: one(10) })
    expect(withIndexHeartbeats(before, { Patient: one(9) })).toBe(before)
    expect(withIndexHeartbeats(before, { Patient: { identity: 'two', sent: 5 }, Basic: one(20) }).held).toEqual({
      Patient: { identity: 'two', sent: 5 },
      Basic: one(20),
    })
  })
})

describe('the age of the heartbeat', () => {
  it('is that of the oldest serving index, or of the first heartbeat sent', async () => {
    const state = memoryState(NO_HEARTBEAT)
    const sends: (readonly ShardHeartbeat[])[] = []
    const send = async (beats: readonly ShardHeartbeat[]) => void sends.push(beats)
    expect(heartbeatAgeOf(await sendHeartbeat({ state, send }, 100), {}, 100)).toBe(0)
    expect(heartbeatAgeOf(await sendHeartbeat({ state, send }, 160), types, 160)).toBe(60)
    expect(sends).toEqual([all(100), all(160)])
    const whole = withBeats((await state.read()).value, all(160))
    expect(heartbeatAgeOf(whole, types, 220)).toBe(60)
    const held = withIndexHeartbeats(whole, { Patient: one(160), Basic: one(100) })
    expect(heartbeatAgeOf(held, types, 220)).toBe(120)
    expect(heartbeatAgeOf(held, { ...types, Basic: { identity: 'one', lost: true } }, 220)).toBe(60)
    expect(heartbeatAgeOf(held, { ...types, Basic: { identity: 'two' } }, 220)).toBe(60)
  })
})

describe('the health of the index', () => {
  const MINUTE = 60_000
  const arrived = withBeats(NO_HEARTBEAT, all(MINUTE))

  it('is working from the first heartbeat that arrived, with its age as lag', async () => {
    const state = memoryState(NO_HEARTBEAT)
    expect(indexHealthOf(NO_HEARTBEAT, {}, MINUTE)).toEqual({ isWorking: false, lag: 0 })
    const { value } = await state.change(() => ({ ...NO_HEARTBEAT, since: MINUTE }))
    expect(indexHealthOf(value, {}, MINUTE + 1_500)).toEqual({ isWorking: false, lag: 2 })
    expect(indexHealthOf(arrived, types, MINUTE + 1_500)).toEqual({ isWorking: true, lag: 2 })
  })

  it('fails after five minutes without a heartbeat in one of the indices', () => {
    const held = withIndexHeartbeats(withBeats(arrived, all(2 * MINUTE)), { Patient: one(2 * MINUTE), Basic: one(MINUTE) })
    expect(indexHealthOf(held, types, 6 * MINUTE)).toEqual({ isWorking: true, lag: 300 })
    expect(indexHealthOf(held, types, 6 * MINUTE + 1)).toEqual({ isWorking: false, lag: 301 })
  })

  it('fails while an index is lost or unreconciled, and not while one is rebuilt beside it', () => {
    const now = MINUTE + 1_000
    const outdated = { ...types, Basic: { identity: 'one', outdated: { format: 'before', since: 1 } } }
    expect(indexHealthOf(arrived, outdated, now)).toEqual({ isWorking: true, lag: 1 })
    for (const mark of [{ lost: true }, { unreconciled: true }] as const)
      expect(indexHealthOf(arrived, { ...types, Basic: { identity: 'one', ...mark } }, now)).toEqual({ isWorking: false, lag: 1 })
  })
})
