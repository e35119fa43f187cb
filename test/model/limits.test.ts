/** Limits of the model: each has a load that just fits and one that does not. */
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_MIX, type Load } from '../../lib/model/load.ts'
import { isTooLarge, modelOf } from '../../lib/model/model.ts'

const LOAD: Load = { resources: 1e6, writes: 100, reads: 0, searches: 0, mix: DEFAULT_MIX }

/** A limit, the part of the load that grows, its largest value that fits, and one that does not. `base`: the rest of the load. */
type Edge = readonly [what: string, grows: Exclude<keyof Load, 'mix'>, fits: number, exceeds: number, base?: Partial<Load>]

const EDGES: readonly Edge[] = [
  ['write units of an index key of Observation, 100 partitions', 'writes', 51_600, 51_800],
  ['write units of a key of audit records, 64 partitions', 'writes', 44_700, 44_900],
  ['partitions of the stream that heartbeats reach', 'resources', 4.03e9, 4.04e9],
  ['partitions of the stream that heartbeats reach', 'writes', 142_000, 142_500],
  ['write units of the resource table, warm', 'writes', 22_700, 22_800],
  ['read units of the resource table, warm', 'reads', 31_900, 32_000],
  ['write units of its index, warm', 'writes', 19_100, 19_300],
  ['write units of the state table, warm', 'reads', 31_800, 32_000],
  ['GB of a shard of the OpenSearch index of Observation, one of 100', 'resources', 6.86e9, 6.88e9],
  ['GB of disks of the search domain', 'resources', 148e9, 149e9],
  ['events of the execution of an export', 'resources', 3.62e9, 3.63e9],
  ['hours of the execution of an export', 'resources', 11e9, 11.2e9],
  ['bytes of a row of an export writer', 'resources', 3.12e9, 3.15e9],
  ['requests per second at API Gateway', 'reads', 9_900, 9_901],
  ['concurrent executions of Lambda', 'writes', 35_500, 36_000],
  ['signatures per second of KMS', 'reads', 98_900, 98_901],
  ['nodes of an OpenSearch domain', 'resources', 28.9e9, 29e9],
  ['read units of the resource table during an export', 'reads', 31_500, 31_600, { writes: 10 }],
]

const limitNamed = (load: Load, what: string) => modelOf(load).limits.find((each) => each.what === what)!

describe('The limit', () => {
  it.each(EDGES)('%s fits or not: %s %d and %d', (what, grows, fits, exceeds, base = {}) => {
    const [below, above] = [fits, exceeds].map((value) => limitNamed({ ...LOAD, ...base, [grows]: value }, what))
    expect([below!.fits, above!.fits]).toEqual([true, false])
    expect(below!.used).toBeLessThanOrEqual(below!.limit)
    expect(below!.used / below!.limit).toBeGreaterThan(0.8)
  })

  it('is in the list above, whichever it is', () => {
    // At this rate and size Observation has all partitions and shards that the settings allow.
    const all = modelOf({ ...LOAD, writes: 51_600, resources: 9e9 }).limits.map(({ what }) => what)
    expect([...new Set(EDGES.map(([what]) => what))].toSorted()).toEqual(all.toSorted())
  })
})

it('The signatures of KMS include a link to each file of an export', () => {
  const signatures = [1e6, 1e9].map((resources) => limitNamed({ ...LOAD, resources }, 'signatures per second of KMS').used)
  // A file for each type, and 17 of Observations.
  expect(signatures).toEqual([1 + 10, 1 + 9 + 17])
})

it('A load does not fit above a limit that AWS does not raise', () => {
  const [fits, quotas, exceeds] = [LOAD, { ...LOAD, reads: 9_950 }, { ...LOAD, resources: 4e9 }].map(modelOf)
  expect([fits, quotas, exceeds].map((model) => isTooLarge(model!))).toEqual([false, false, true])
  expect(quotas!.limits.filter((each) => !each.fits).map(({ what, isRaised }) => [what, isRaised])).toEqual([
    ['requests per second at API Gateway', true],
    ['read units of the resource table during an export', true],
  ])
})
