/** Certain progress of the indices behind a stream of many shards, each in its own order. */
import { describe, expect, it } from '@jest/globals'
import { arrivalsOf, withArrivals } from '../../../lambdas/indexing/stream/beat-arrivals.ts'
import {
  beatCountOf,
  beatsOf,
  collectBeats,
  followHeartbeat,
  type HeartbeatState,
  heartbeatAgeOf,
  indexHealthOf,
  isIncomplete,
  latestHeartbeatOf,
  NO_HEARTBEAT,
  sendHeartbeat,
  withIndexHeartbeats,
} from '../../../lambdas/indexing/stream/heartbeat.ts'
import { type IndexHeartbeats, MAX_BEATS, type ShardHeartbeat } from '../../../lambdas/ports/search/heartbeat.ts'
import type { ServingIndices } from '../../../lambdas/ports/search/serving-indices.ts'
import { allBeats as all, heartbeatParts } from '../../fixtures/heartbeats.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { memoryState } from '../../fixtures/memory-state.ts'

const withBeats = (state: HeartbeatState, beats: readonly ShardHeartbeat[]): HeartbeatState => withArrivals(state, arrivalsOf(beats)).state
const beat = (place: number, sent: number, before?: number): ShardHeartbeat => ({
  ...{ place, of: 64, sent },
  ...(before === undefined ? {} : { before }),
})
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
    expect(latestHeartbeatOf(withBeats(withBeats(whole, all(20).slice(1)), [beat(0, 15), beat(0, 12)]))).toBe(15)
  })

  it('is written to the indices once, by its last beat, and again after a failure', async () => {
    const told: (readonly [number, IndexHeartbeats])[] = []
    const parts = heartbeatParts({
      tell: async (sent, held) => {
        told.push([sent, held])
        if (told.length === 1) throw new Error('refused')
        return { Patient: one(sent) }
      },
    })
    await followHeartbeat(parts, all(10).slice(1), 0)
    expect(told).toEqual([])
    await expect(followHeartbeat(parts, all(10).slice(0, 1), 0)).rejects.toThrow('refused')
    await collectBeats(parts, 0)
    await followHeartbeat(parts, all(10), 0)
    await followHeartbeat(parts, all(20), 0)
    expect(told).toEqual([
      [10, {}],
      [10, {}],
      [20, { Patient: one(10) }],
    ])
  })

  it('is complete with the beats of many batches in any order', async () => {
    const told: number[] = []
    const parts = heartbeatParts({
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
    })
    for (const sent of [10, 20, 30]) {
      const beats = sent === 20 ? all(sent).toReversed() : all(sent)
      for (let from = 0; from < 64; from += 8) {
        expect(told.at(-1) ?? 0).toBeLessThan(sent)
        await followHeartbeat(parts, beats.slice(from, from + 8), 0)
      }
      expect(told.at(-1)).toBe(sent)
    }
    // All rows have been moved to the state.
    for await (const row of parts.rows.list('PULSE_BEATS')) expect(row).toBeUndefined()
  })

  it('is complete if another batch awaits a place before its row is added', async () => {
    class SlowRows extends MemoryRows {
      before: () => Promise<void> = async () => undefined
      override async change<Value>(owner: string, name: string, change: (value: Value | undefined) => Value | undefined) {
        const { before } = this
        this.before = async () => undefined
        await before()
        return super.change(owner, name, change)
      }
    }
    const [told, rows] = [[] as number[], new SlowRows()]
    const parts = heartbeatParts({
      rows,
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
    })
    await followHeartbeat(parts, all(10), 0)
    await followHeartbeat(parts, all(20).slice(1, 63), 0)
    rows.before = () => followHeartbeat(parts, all(20).slice(63), 0)
    await followHeartbeat(parts, all(20).slice(0, 1), 0)
    expect(told).toEqual([10, 20])
  })

  it('is collected by few of the batches that come at the same time, also the first one and one with fewer beats', async () => {
    class CountedRows extends MemoryRows {
      lists = 0
      override list<Value>(owner: string): AsyncGenerator<{ readonly name: string; readonly value: Value }> {
        this.lists++
        return super.list<Value>(owner)
      }
    }
    const [told, rows] = [[] as number[], new CountedRows()]
    const parts = heartbeatParts({
      rows,
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
    })
    for (const [sent, of] of [
      [10, 96],
      [20, 72],
      [30, 96],
    ] as const) {
      rows.lists = 0
      await Promise.all(beatsOf(sent, of).map((each) => followHeartbeat(parts, [each], 0)))
      await collectBeats(parts, 0)
      expect(told.at(-1)).toBe(sent)
      expect(rows.lists).toBeLessThan(10)
    }
  })

  it('may have more or fewer beats than the one before', async () => {
    const told: number[] = []
    const parts = heartbeatParts({
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
    })
    await followHeartbeat(parts, beatsOf(10, 64), 0)
    await followHeartbeat(parts, beatsOf(20, 96).slice(0, 64), 0)
    expect(told).toEqual([10])
    await followHeartbeat(parts, beatsOf(20, 96).slice(64), 0)
    await followHeartbeat(parts, beatsOf(30, 64).slice(1), 0)
    expect(told).toEqual([10, 20])
    await followHeartbeat(parts, beatsOf(30, 64).slice(0, 1), 0)
    // The last beats of the places from 64 on were sent at 20, and they arrived.
    await followHeartbeat(
      parts,
      beatsOf(40, 96).map((each) => ({ ...each, before: each.place < 64 ? 30 : 20 })),
      0,
    )
    expect(told).toEqual([10, 20, 30, 40])
  })

  it('is never complete if the stream has more than 500 partitions, or they could not be counted for an hour', async () => {
    expect([1, 2, 3, 4, 300, 500, 501, 900].map(beatCountOf)).toEqual([64, 64, 72, 96, 7_200, 12_000, 12_001, 12_001])
    const [sent, told] = [[] as ShardHeartbeat[], [] as number[]]
    let open = 501
    const parts = heartbeatParts({
      partitions: async () => {
        if (open === 0) throw new Error('unknown')
        return open
      },
      report: () => undefined,
      send: async (beats) => void sent.push(...beats),
      tell: async (at) => {
        told.push(at)
        return { Patient: one(at) }
      },
    })
    const beatAt = async (now: number) => {
      const state = await sendHeartbeat(parts, now)
      const beats = sent.splice(0)
      await followHeartbeat(parts, beats, now)
      return [beats.length, isIncomplete(state, now), told.at(-1)]
    }
    expect(await beatAt(10)).toEqual([MAX_BEATS, true, undefined])
    // While the partitions cannot be counted, the number of beats is that of the last heartbeat.
    open = 0
    expect(await beatAt(20)).toEqual([MAX_BEATS, true, undefined])
    open = 4
    expect(await beatAt(30)).toEqual([96, false, 30])
    open = 0
    const [HOUR, last] = [60 * 60_000, 40 + 60 * 60_000 - 1]
    expect([await beatAt(40), await beatAt(last)]).toEqual([
      [96, false, 40],
      [96, false, last],
    ])
    // Partitions may have been opened in this hour.
    expect([await beatAt(40 + HOUR), await beatAt(60 + HOUR)]).toEqual([
      [96, true, last],
      [96, true, last],
    ])
    open = 5
    expect(await beatAt(70 + HOUR)).toEqual([120, false, 70 + HOUR])
    open = 0
    expect(await beatAt(80 + HOUR)).toEqual([120, false, 80 + HOUR])
  })

  it('with a gap reports missed versions until that succeeds, and then continues', async () => {
    const [HOUR, MINUTE] = [3_600_000, 60_000]
    const [told, missing]: [number[], number[]] = [[], []]
    let isDown = true
    const parts = heartbeatParts({
      tell: async (sent: number) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
      missed: async (since: number) => {
        missing.push(since)
        if (isDown) throw new Error('down')
      },
    })
    await followHeartbeat(parts, all(2 * HOUR, 2 * HOUR - 1), 0)
    await followHeartbeat(parts, all(3 * HOUR, 2 * HOUR), 0)
    await followHeartbeat(parts, all(3 * HOUR, 3 * HOUR - 1), 0)
    expect([told, missing]).toEqual([[2 * HOUR, 3 * HOUR], []])
    const late = [...all(4 * HOUR, 3 * HOUR).slice(0, 9), beat(9, 5 * HOUR, 4 * HOUR)]
    await followHeartbeat(parts, [...late, beat(8, 7 * HOUR, 6 * HOUR)], 0)
    await expect(collectBeats(parts, 0)).rejects.toThrow('down')
    isDown = false
    await followHeartbeat(parts, all(8 * HOUR, 4 * HOUR), 100)
    expect([told.at(-1), missing]).toEqual([3 * HOUR, [2 * HOUR, 2 * HOUR]])
    await followHeartbeat(parts, all(8 * HOUR + 1, 8 * HOUR), 99 + MINUTE)
    await followHeartbeat(parts, all(8 * HOUR + 2, 8 * HOUR + 1), 100 + MINUTE)
    expect([told.slice(2), missing.length]).toEqual([[8 * HOUR + 2], 2])
  })

  it('has no gap if a list lacks a row that another process added meanwhile', async () => {
    /** The first list ends before a row that was added earlier than another. */
    class LateRows extends MemoryRows {
      lists = 0
      override async *list<Value>(owner: string): AsyncGenerator<{ readonly name: string; readonly value: Value }> {
        const isFirst = ++this.lists === 1
        for await (const row of super.list<Value>(owner)) if (!isFirst || !JSON.stringify(row.value).includes('"sent":20')) yield row
      }
    }
    const [told, lists] = [[] as number[], new LateRows()]
    const parts = heartbeatParts({
      rows: lists,
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
    })
    await followHeartbeat(parts, all(10), 0)
    lists.lists = 1
    await followHeartbeat(parts, all(20, 10).slice(0, 63), 0)
    await followHeartbeat(parts, all(30, 20).slice(0, 63), 0)
    lists.lists = 0
    // Rejects if versions are reported as missing.
    await followHeartbeat(parts, [beat(63, 20, 10), beat(63, 30, 20)], 0)
    expect(told).toEqual([10, 30])
  })

  it('has no gap if the next one has fewer beats before its rows are collected', async () => {
    let open = 33
    const [sent, told] = [[] as ShardHeartbeat[], [] as number[]]
    const parts = heartbeatParts({
      partitions: async () => open,
      send: async (beats) => void sent.push(...beats),
      tell: async (at) => {
        told.push(at)
        return { Patient: one(at) }
      },
    })
    const send = async (now: number, before?: number) => {
      await sendHeartbeat(parts, now)
      return sent.splice(0).map((each) => ({ ...each, ...(before === undefined ? {} : { before }) }))
    }
    open = 32
    await followHeartbeat(parts, await send(10), 0)
    open = 33
    // No beat of the awaited place has arrived, so the row stays. It belongs to the second owner.
    const [first, second] = await send(20, 10)
    await followHeartbeat(parts, [second!], 0)
    open = 32
    const next = await send(30, 20)
    await followHeartbeat(parts, [next[1]!], 0)
    // Rejects if versions are reported as missing.
    await collectBeats(parts, 0)
    await followHeartbeat(parts, [first!], 0)
    expect(told).toEqual([10])
  })

  it('continues from the state of an earlier release, and after a rollback', async () => {
    const [told, missing]: [number[], number[]] = [[], []]
    const parts = heartbeatParts({
      tell: async (sent) => {
        told.push(sent)
        return { Patient: one(sent) }
      },
      missed: async (since) => void missing.push(since),
    })
    const arrivedAt = (sent: number) => Object.fromEntries(all(sent).map(({ place }) => [place, sent]))
    const place64 = (sent: number, before: number): ShardHeartbeat => ({ place: 64, of: 65, sent, before })
    const ofNew = (sent: number, before: number) => beatsOf(sent, 65).map((each) => ({ ...each, before }))
    await parts.state.change((each) => ({ ...each, since: 1, arrived: arrivedAt(10), held: { Patient: one(10) } }))
    expect(latestHeartbeatOf((await parts.state.read()).value)).toBe(10)
    await followHeartbeat(parts, ofNew(20, 10), 0)
    const { value } = await parts.state.read()
    // The earlier release finds an empty object, so it misses no beat.
    expect([told, value.since, value.arrived, value.held]).toEqual([[20], 1, {}, { Patient: one(20) }])
    // A beat of this release that the earlier one ignores after the rollback.
    await parts.rows.change('PULSE_BEATS', 'left', () => arrivalsOf([place64(25, 20)]))
    await parts.state.change((each) => ({ ...each, arrived: arrivedAt(40), held: { Patient: one(40) } }))
    expect(latestHeartbeatOf((await parts.state.read()).value)).toBe(40)
    await followHeartbeat(
      parts,
      ofNew(50, 40).map((each) => (each.place === 64 ? place64(50, 30) : each)),
      0,
    )
    await collectBeats(parts, 0)
    expect([told, missing]).toEqual([[20, 50], []])
    // And a missing beat is found across an upgrade.
    await parts.state.change((each) => ({ ...each, arrived: { ...arrivedAt(60), 3: 55 } }))
    await collectBeats(parts, 0)
    await followHeartbeat(parts, ofNew(70, 60), 0)
    await collectBeats(parts, 0)
    expect(missing).toEqual([55 - 3_600_000])
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
    const sends: (readonly ShardHeartbeat[])[] = []
    const parts = heartbeatParts({ send: async (beats) => void sends.push(beats) })
    expect(heartbeatAgeOf(await sendHeartbeat(parts, 100), {}, 100)).toBe(0)
    expect(heartbeatAgeOf(await sendHeartbeat(parts, 160), types, 160)).toBe(60)
    expect(sends).toEqual([all(100), all(160)])
    const whole = withBeats((await parts.state.read()).value, all(160))
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
