/** Costs of the model: tiers of prices, and the figures of lib/docs/cost.md, which are computed apart. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { DEFAULT_MIX, type Load } from '../../lib/model/load.ts'
import { modelOf } from '../../lib/model/model.ts'
import { PAGE_OF, PRICE_PAGES, PRICES, TIERS, tieredPrice } from '../../lib/model/prices.ts'
import { costsOfMonth } from '../infra/costs.ts'

describe('A price with tiers', () => {
  it.each([
    [0, 0],
    [333, 333 * 3.5],
    [1_000, 333 * 3.5 + 667 * 2.8],
    [30_000, 333 * 3.5 + 667 * 2.8 + 19_000 * 2.38 + 10_000 * 1.51],
  ])('charges each unit by its tier: %d million requests', (millions, dollars) =>
    expect(tieredPrice(TIERS.api, millions)).toBeCloseTo(dollars),
  )

  it.each(Object.entries(TIERS))('falls from tier to tier, and ends nowhere: %s', (_, tiers) => {
    const falls = tiers.slice(1).map(({ upTo, price }, i) => upTo > tiers[i]!.upTo && price < tiers[i]!.price)
    expect([falls.every((each) => each), tiers.at(-1)!.upTo]).toEqual([true, Number.POSITIVE_INFINITY])
  })
})

it.each([...new Set([...Object.keys(PRICES), ...Object.keys(TIERS)])])('The price %s has a page of AWS and a date', (name) => {
  const { page, read } = PRICE_PAGES.find((each) => each.of === PAGE_OF[name as keyof typeof PAGE_OF])!
  expect([page, read]).toEqual([expect.stringMatching(/^https:\/\/aws\.amazon\.com\//), expect.stringMatching(/^2026-\d\d-\d\d$/)])
})

describe('A million Observations', () => {
  const modelWith = (identifiers: number) =>
    modelOf({
      resources: 1e6,
      writes: 5,
      reads: 0,
      searches: 0,
      mix: { ...DEFAULT_MIX, types: { Observation: 1 }, identifiers: { Observation: identifiers } },
    })
  const { rebuild, exported } = modelWith(0)

  it('cost about as much to export as the page says of resources of 1 kB, which have larger files', () => {
    const [, dollars = ''] = /An export of a million resources of 1 kB costs \$(\d\.\d\d)/.exec(readFileSync('lib/docs/cost.md', 'utf8'))!
    expect(Math.abs(exported.dollars / Number(dollars) - 1)).toBeLessThan(0.1)
  })

  it('cost $0.18 to rebuild', () => {
    // Read units, functions, and state transitions of 12 steps and the rest.
    const [reads, seconds, transitions] = [1.05 * 0.125, 1e6 / 500, (2 * 12 + 4 + 7 + 5) * 25e-6]
    expect(rebuild.dollars).toBeCloseTo(reads + seconds * (1_769 / 1_024) * 0.0000133334 + transitions, 4)
  })

  it('cost a write unit more for each identifier', () =>
    expect(modelWith(2).rebuild.dollars - rebuild.dollars).toBeCloseTo(2 * PRICES.writeUnit))
})

describe('Search nodes', () => {
  const searchOf = (load: Partial<Load>) =>
    modelOf({ resources: 1e6, writes: 5, reads: 1e3, searches: 5, mix: DEFAULT_MIX, ...load }).search

  it.each([
    ['demo', 14.8e6],
    ['production', 14.9e6],
    ['production', 222e6],
    ['large', 223e6],
    ['large', 1.33e9],
    ['custom', 1.34e9],
  ])('are of the size %s for %d documents of a small stage', (name, resources) => expect(searchOf({ resources }).name).toBe(name))

  it.each([
    ['demo', 10],
    ['production', 10.1],
  ])('are of the size %s for %d writes and as many searches per second', (name, rate) =>
    expect(searchOf({ writes: rate, searches: rate }).name).toBe(name),
  )

  it.each([
    [1.34e9, 6, 'r7g.large.search'],
    [2.23e9, 9, 'r7g.large.search'],
    [11.1e9, 30, 'r7g.large.search'],
    [11.2e9, 33, 'r7g.xlarge.search'],
    [149e9, 399, 'r7g.xlarge.search'],
  ])('above the size large are as many as hold %d documents, in each zone', (resources, count, instanceType) => {
    const { size, available, needed } = searchOf({ resources })
    expect(size).toEqual({ instanceType: 'r7g.2xlarge.search', count, disk: 1_000, zones: 3, masters: { instanceType, count: 3 } })
    expect(available >= needed).toBe(resources < 149e9)
  })

  it.each([
    [68e6, 1],
    [69e6, 2],
    [1e9, 15],
  ])('hold %d resources in shards of at most 30 GB: Observation in %d', (resources, shards) => {
    const { shards: all, shard } = searchOf({ resources })
    expect([all.Observation, all.Claim, shard.gigabytes <= 30]).toEqual([shards, 1, true])
  })
})

describe('A month', () => {
  /** Seven reads of ten, two searches and one write, as in lib/docs/cost.md; Observations, which take one write unit. */
  const loadOf = (perSecond: number): Load => ({
    ...{ resources: 1e6, writes: 0.1 * perSecond, reads: 0.7 * perSecond, searches: 0.2 * perSecond },
    mix: { ...DEFAULT_MIX, types: { Observation: 1 } },
  })
  const costsOf = (load: Load): Readonly<Record<string, number>> =>
    Object.fromEntries(modelOf(load).costs.map(({ part, dollars }) => [part, dollars]))

  it('costs the same as on the page for 100 million requests', () => {
    const {
      'Stored data, with recovery': _,
      'Search nodes and disks': search,
      'Keys and secret': __,
      ...requests
    } = costsOf(loadOf(1e8 / (30 * 24 * 3_600)))
    const all = Object.values(requests).reduce((sum, each) => sum + each)
    const page = costsOfMonth({ requests: 100, stored: 100, size: 'demo' })
    // The firewall with its rules is a fixed cost there.
    expect((all - 7) / page.requests).toBeCloseTo(1, 1)
    expect(search).toBe(page.search)
  })

  it('costs less for each request the more there are, and the same for each unit', () => {
    const [less, more] = [costsOf(loadOf(100)), costsOf(loadOf(10_000))]
    for (const part of ['API Gateway', 'Logs of functions']) expect([part, more[part]! < 90 * less[part]!]).toEqual([part, true])
    expect(more['Units of DynamoDB']! / less['Units of DynamoDB']!).toBeCloseTo(100, -1)
  })

  it('counts nodes, disks and masters', () => {
    const { search, costs } = modelOf({ ...loadOf(1_000), resources: 1e9 })
    expect(search.name).toBe('large')
    const node = 4 * 131 + 600 * 0.122
    expect(costs.find(({ part }) => part === 'Search nodes and disks')?.dollars).toBeCloseTo(6 * node + 3 * 131)
  })
})
