/** Load of each partition key at 10,000 writes per second (fixtures/dynamodb/key-load.ts). */
import { expect, it } from '@jest/globals'
import { DEFAULT_SHARDS } from '../../../lib/settings/index-shards.ts'
import { aboveBars, CLIENTS, heaviestSeconds } from '../../fixtures/dynamodb/key-load.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'

it('At 10,000 writes per second no key has more than 700 write or 2,000 read units', async () => {
  const units = await heaviestSeconds({ ...DEFAULT_SHARDS, Observation: 32 }, caseCountOf(10_000, 60_000))
  // The bars mean nothing if the meter misses a part.
  const found = (pattern: RegExp): number => [...units.keys()].filter((key) => pattern.test(key)).length
  expect([found(/^write index north#Observation#c#/), found(/^write index north#Observation#h#/)]).toEqual([32, 32])
  expect([found(/^write table AUDIT#/), found(/^write table #PULSE#/), found(/^read table DEFINITIONS/)]).toEqual([64, 64, 1])
  expect([found(/^read table REVOKED#/), found(/ table #TENANTS/), found(/ table north#CFG/)]).toEqual([CLIENTS, 1, 2])
  expect(aboveBars(units)).toEqual([])
})

it('With four index partitions for Observation their keys have more', async () => {
  const hot = aboveBars(await heaviestSeconds(DEFAULT_SHARDS, 10_000)).map((each) => each.replace(/: \d+$/, ''))
  expect(hot).toEqual(expect.arrayContaining([0, 1, 2, 3].map((n) => `write index north#Observation#c#${n}`)))
})
