/** Races of conditional writes and transactions whose criteria differ but share an identifier. */
import { expect, it } from '@jest/globals'
import { forEachInParallel } from '../../lambdas/ports/execution/parallel.ts'
import { randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { newId, withServer } from './server.ts'

const { get, put, post } = withServer()

const ROUNDS = caseCountOf(50, 5_000)
const RACERS = 3

it('creates one resource for concurrent requests with one identifier', async () => {
  const random = randomOf(firstSeed() + 1)
  const seen = new Set<string>()
  await forEachInParallel([...Array(ROUNDS).keys()], 4, async (round) => {
    const value = newId()
    const queries = [
      `identifier=urn:test|${value}`,
      `identifier=${value}`,
      `identifier=urn:other|9,urn:test|${value}`,
      `family=x&identifier=urn:test|${value}`,
      `identifier=urn:test|${value}&identifier=second-${value}`,
    ]
    const racer = async () => {
      const query = random.pick(queries)
      const id = newId()
      const identifier = [{ system: 'urn:test', value }, { value: `second-${value}` }]
      const resource = { resourceType: 'Patient', id, name: [{ family: 'x' }], identifier }
      const kind = random.below(3)
      if (kind === 0) return post('/Patient', resource, { 'if-none-exist': query })
      if (kind === 1) return put(`/Patient?${query.replaceAll('|', '%7C')}`, { ...resource, id: undefined })
      const other = { resource: { resourceType: 'Basic', id, code: { text: 'x' } }, request: { method: 'POST', url: 'Basic' } }
      const entry = [{ resource, request: { method: 'POST', url: 'Patient', ifNoneExist: query } }, other]
      return post('/', { resourceType: 'Bundle', type: 'transaction', entry })
    }
    for (const { status, body } of await Promise.all(Array.from({ length: RACERS }, racer)))
      seen.add(body.resourceType === 'Bundle' ? body.entry[0].response.status : String(status))
    expect([round, (await get(`/Patient?identifier=urn:test|${value}`)).body.total]).toEqual([round, 1])
  })
  expect([...seen].toSorted()).toEqual(['200', '200 OK', '201', '201 Created'])
})

it('a transaction creates two resources with one identifier value of different systems', async () => {
  const value = newId()
  const entryOf = (system: string) => ({
    resource: { resourceType: 'Patient', id: newId(), identifier: [{ system, value }] },
    request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=${system}|${value}` },
  })
  const bundle = { resourceType: 'Bundle', type: 'transaction', entry: ['urn:one', 'urn:two'].map(entryOf) }
  const statuses = async () =>
    (await post('/', bundle)).body.entry.map(({ response }: { readonly response: { readonly status: string } }) => response.status)
  expect([await statuses(), await statuses()]).toEqual([
    ['201 Created', '201 Created'],
    ['200 OK', '200 OK'],
  ])
})

it('a transaction creates many resources with the identifier values of another system', async () => {
  const values = [...Array(120).keys()].map((n) => `${n}-${newId()}`)
  const statusesOf = async (system: string) => {
    const entry = values.map((value) => ({
      resource: { resourceType: 'Patient', id: newId(), identifier: [{ system, value }] },
      request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=${system}|${value}` },
    }))
    const { status, body } = await post('/', { resourceType: 'Bundle', type: 'transaction', entry })
    return [
      status,
      body.entry?.filter(({ response }: { readonly response: { readonly status: string } }) => response.status === '201 Created').length,
    ]
  }
  expect([await statusesOf('urn:one'), await statusesOf('urn:two')]).toEqual([
    [200, 120],
    [200, 120],
  ])
})
