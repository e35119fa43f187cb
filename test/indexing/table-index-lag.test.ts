/** The lag with which the table index shows the beats of a heartbeat. */
import { describe, expect, it } from '@jest/globals'
import { beatsOf } from '../../lambdas/indexing/stream/heartbeat.ts'
import { measureTableIndexLag } from '../../lambdas/indexing/table-index-lag.ts'
import { MIN_BEATS, type ShardHeartbeat } from '../../lambdas/ports/search/heartbeat.ts'

/** Measures with the beat of each place shown after `lagOf` the place, in milliseconds. */
async function measured(lagOf: (place: number) => number) {
  const [notes, looks] = [[] as number[], [] as number[]]
  let now = 1_000_000
  const sent = now
  const parts = {
    hidden: async (beats: readonly ShardHeartbeat[]) => {
      looks.push(beats.length)
      return beats.filter(({ place }) => now < sent + lagOf(place))
    },
    note: async (instant: number, lag: number) => {
      expect(instant).toBe(sent)
      notes.push(lag)
    },
    now: () => now,
    wait: async (time: number) => {
      now += time
    },
  }
  return { lag: await measureTableIndexLag(parts, beatsOf(sent, MIN_BEATS), sent), notes, looks }
}

describe('The lag of the index of the table', () => {
  it('equals the lag of the last beat and is noted only from a second on', async () => {
    expect(await measured(() => 0)).toEqual({ lag: 0, notes: [], looks: [64] })
    const { lag, notes, looks } = await measured((place) => (place === 7 ? 700 : 0))
    expect([lag >= 700 && lag < 1_500, notes.filter((each) => each < 1_000), looks[1]]).toEqual([true, [], 1])
  })

  it('is noted while it grows and when it ends', async () => {
    const { lag, notes } = await measured(() => 20_000)
    expect([lag >= 20_000 && lag <= 21_000, notes.at(-1), notes[0]! < 2_000]).toEqual([true, lag, true])
    for (const [n, each] of notes.entries()) expect(each).toBeLessThanOrEqual(2.5 * (notes[n - 1] ?? 1_000))
  })

  it('ends above 60 s when the beats stay hidden', async () => {
    const { lag, notes } = await measured(() => Number.POSITIVE_INFINITY)
    expect([lag > 60_000 && lag < 63_000, notes.at(-1)]).toEqual([true, lag])
  })
})
