/** Settings that the model proposes: a stage accepts them, and no key gets too much. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_MIX, type Load } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { DEFAULT_SHARDS } from '../../lib/settings/index-shards.ts'
import { DEFAULT_SETTINGS, type Settings, settingsOf } from '../../lib/settings/settings.ts'
import { aboveBars, heaviestSeconds, PER_SECOND } from '../fixtures/dynamodb/key-load.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'

const LOAD: Load = { resources: 1e6, writes: 5, reads: 20, searches: 5, mix: DEFAULT_MIX }
const proposed = (load: Partial<Load>) => modelOf({ ...LOAD, ...load }).settings

const LOADS: readonly Partial<Load>[] = [
  {},
  { writes: 0, reads: 0, searches: 0 },
  { resources: 1e8, writes: 1_000, reads: 1_000, searches: 100 },
  { resources: 1e9, writes: 10_000, reads: 5_000, searches: 500 },
  { resources: 1e11, writes: 1e6, reads: 1e6, searches: 1e5 },
  { resources: 1e10 },
  { writes: 5_000, mix: { ...DEFAULT_MIX, types: { Basic: 1 } } },
]

describe('The proposed settings', () => {
  it.each(LOADS)('are accepted by a stage: %j', (load) => {
    const settings = proposed(load)
    expect(settingsOf(JSON.parse(JSON.stringify(settings)))).toMatchObject(settings)
  })

  it('are none for a demo', () => expect(proposed({})).toEqual({}))

  it('hold only values that differ from the defaults', () => {
    const settings = proposed({ resources: 1e9, writes: 10_000, reads: 5_000, searches: 500 })
    expect(Object.keys(settings)).toEqual(['search', 'capacity', 'limits', 'concurrency', 'rebuildWidth'])
    for (const [name, value] of Object.entries(settings)) expect(DEFAULT_SETTINGS[name as keyof Settings]).not.toEqual(value)
    expect(settings.capacity?.shards).toEqual({ Observation: 20 })
    expect(settings.search).toEqual({ kind: 'domain', size: 'large', shards: { Observation: 15 } })
    expect(settings.limits).toEqual({ rate: 19_375, burst: 5_000 })
    // A quarter more than the units, which are 14,106 and 16,716 and 15,528 writes per second, and 18,333 reads.
    expect(settings.capacity?.warm).toEqual({
      ...{ reads: 23_000, writes: 17_700 },
      ...{ index: { reads: 12_000, writes: 20_900 }, state: { reads: 12_000, writes: 19_500 } },
    })
  })

  it('index a fast stream in several batches of each shard', () =>
    expect(proposed({ writes: 4_200, resources: 1_000 }).parallelizationFactor).toBe(2))
})

it('The proposed index partitions keep every key below the bars', async () => {
  const load = { ...LOAD, resources: 1e9, writes: PER_SECOND, reads: 0 }
  const shards = { ...DEFAULT_SHARDS, ...proposed(load).capacity?.shards }
  expect(aboveBars(await heaviestSeconds(shards, caseCountOf(10_000, 60_000)))).toEqual([])
})
