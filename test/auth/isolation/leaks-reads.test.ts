/**
 * Reads, versions and histories of everything there is, by everybody: each answer is what the oracle says, has nothing of what is hidden, and a
 * resource that may not be seen is answered as one that never was.
 */
import { expect, it } from '@jest/globals'
import { caseStepOf, firstSeed, isFullRun } from '../../fixtures/long-runs.ts'
import { BASE_URL, operatorOf } from '../site.ts'
import type { Caller } from './oracle.ts'
import { withPopulatedSite } from './populated.ts'
import { TENANTS } from './population.ts'
import { findReadErrors, readsOf } from './reads.ts'
import { CALLERS, nameOfCaller, sampleCells } from './whos.ts'

const world = withPopulatedSite()

it(
  'reads return all that the client may see, and disclose nothing else',
  async () => {
    const reads = readsOf(world().population)
    const wrong: string[] = []
    let asked = 0
    const ask = async (who: Caller, i: number) => {
      const some = sampleCells(reads, caseStepOf(160, 16), i + firstSeed())
      asked += some.length
      for (const read of some) wrong.push(...(await findReadErrors(world(), who, read)).map((each) => `${nameOfCaller(who)}: ${each}`))
    }
    // Many at once: what is not found is said a little later.
    const left = [...CALLERS.entries()]
    const turns = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await ask(next[1], next[0])
    }
    await Promise.all(Array.from({ length: 32 }, turns))
    expect(wrong.slice(0, 20)).toEqual([])
    expect(asked).toBeGreaterThan(isFullRun ? 10_000 : 1_000)
  },
  5 * 60_000,
)

it('$meta of a type requires scope s, $meta of a resource requires scope r', async () => {
  const statuses = async (scopes: string) => {
    const who = { tenant: 'north', client: 'app', scopes }
    const targets = ['/Observation/$meta', '/Observation/own-lab.id/$meta']
    return await Promise.all(targets.map(async (target) => (await world().ask(who, 'GET', target)).status))
  }
  expect([await statuses('system/Observation.r'), await statuses('system/Observation.s')]).toEqual([
    [403, 200],
    [200, 403],
  ])
})

it('a deletion is reported only to the patient of the deleted resource', async () => {
  const patient = { tenant: 'north', client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
  const codeOf = async (target: string) => (await world().ask(patient, 'GET', target)).body.issue[0].code
  expect(await codeOf('/Observation/own-deleted.id')).toBe('deleted')
  expect(await codeOf('/Observation/other-deleted.id')).toBe('not-found')
  expect(await codeOf('/Patient/gone.id')).toBe('not-found')
})

it('a history holds only the versions about the patient', async () => {
  for (const tenant of TENANTS) {
    const patient = { tenant, client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
    const etags = async (target: string) =>
      (await world().ask(patient, 'GET', target)).body.entry.map(({ response }: { response: { etag: string } }) => response.etag)
    expect(await etags('/Observation/to-and-fro.id/_history')).toEqual(['W/"4"', 'W/"3"', 'W/"1"'])
    const pages = []
    let target: string | undefined = '/Observation/to-and-fro.id/_history?_count=1'
    while (target !== undefined) {
      const { body } = await world().ask(patient, 'GET', target)
      pages.push(body.entry.map(({ response }: { response: { etag: string } }) => response.etag).join())
      target = body.link.find(({ relation }: { relation: string }) => relation === 'next')?.url.slice(BASE_URL.length)
    }
    expect(pages).toEqual(['W/"4"', 'W/"3"', 'W/"1"'])
  }
})

it('reads and searches are audited with client, target and status, without content', async () => {
  const who = { tenant: 'north', client: 'app', scopes: 'patient/*.rs', patient: 'a.id' }
  world().site.audited.length = 0
  await world().ask(who, 'GET', '/Observation/other-lab.id')
  await world().ask(operatorOf('north'), 'GET', '/Observation?_tag=odd')
  expect(world().site.audited).toMatchObject([
    { tenant: 'north', client: 'app', patient: 'a.id', scopes: 'patient/*.rs', key: 'Observation/other-lab.id', status: 404 },
    { tenant: 'north', client: 'operator', interaction: 'search-type', parameters: ['_tag'], status: 200 },
  ])
  expect(JSON.stringify(world().site.audited)).not.toContain('MARK')
})
