/** A custom search parameter on the deployed stacks: the stream reports it, the state machine rebuilds the documents, searches use it. */
import { expect, it } from '@jest/globals'
import { newId, type Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { awsCalls } from './aws-calls.ts'
import { NICKNAME_PARAMETER } from './nickname.ts'
import { runOnCloud } from './requested-deployment.ts'

runOnCloud('the deployed rebuild', {}, (cloud, { get, put, post }) => {
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 600; i++) {
      const { body } = await get('/$reindex-status')
      const parts: readonly Tree[] = body.parameter.flatMap(({ part = [] }: Tree) => part)
      const isDefined = parts.some(({ name }) => name === 'code' || name === 'url')
      if (isDefined && !parts.some(({ name, valueCode }) => name === 'type' || valueCode === 'building')) return
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    throw new Error('not built')
  }

  const shardsOf = async (type: string): Promise<readonly string[]> => {
    const answer = await fetch(`${cloud().searchEndpoint}/fhir-${type}-*/_settings/index.number_of_shards`)
    return Object.values<Tree>(await answer.json()).map(({ settings }) => settings.index.number_of_shards)
  }

  const answered = async <Got>(ask: () => Promise<Got>, isBusy: (got: Got) => boolean): Promise<Got> => {
    let got = await ask()
    for (let i = 0; i < 1_500 && isBusy(got); i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      got = await ask()
    }
    return got
  }

  it('makes a custom parameter searchable, and rebuilds an index on request', async () => {
    const ids = Array.from({ length: 20 }, newId)
    for (const [i, id] of ids.entries()) await put(`/Patient/${id}`, patient(id, { name: [{ use: 'nickname', given: [`Nick${i % 2}`] }] }))
    const defined = await put('/SearchParameter/nickname', NICKNAME_PARAMETER)
    expect(defined.status).toBe(201)
    await settled()
    const found = async () => (await get('/Patient?nickname=nick1&_summary=count', { prefer: 'handling=strict' })).body.total
    for (let i = 0; i < 300 && (await found()) !== 10; i++) await new Promise((resolve) => setTimeout(resolve, 100))
    expect(await found()).toBe(10)
    expect((await post('/$reindex?type=Patient', undefined)).status).toBe(202)
    await settled()
    expect(await found()).toBe(10)
    // The setting names two shards. The stream created the first index, and the rebuild the next one.
    expect(await shardsOf('patient')).toEqual(['2'])
  })

  it('rebuilds a lost index by itself; until then searches and conditional writes by them are 503', async () => {
    // The first document of the type is older than the state that any function has cached.
    const written = async () => {
      const id = newId()
      return (await put(`/Patient/${id}`, patient(id, { identifier: [{ system: 'urn:lost', value: '1' }] }))).status
    }
    expect([await written(), await written(), await written()]).toEqual([201, 201, 201])
    const unlessBy = async (criteria: string) => (await post('/Patient', { resourceType: 'Patient' }, { 'if-none-exist': criteria })).status
    const unless = () => unlessBy('identifier=urn:lost|1,urn:lost|')
    const byRows = () => unlessBy('identifier=urn:lost|1')
    const search = () => get('/Patient?identifier=urn:lost%7C1&_summary=count')
    for (let i = 0; i < 300 && (await search()).body.total !== 3; i++) await new Promise((resolve) => setTimeout(resolve, 100))
    const { searchEndpoint } = cloud()
    const indices: Tree = await (await fetch(`${searchEndpoint}/_alias/fhir-patient-*`)).json()
    for (const index of Object.keys(indices)) await fetch(`${searchEndpoint}/${index}`, { method: 'DELETE' })
    const { status, headers } = await search()
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    expect([await unless(), await byRows()]).toEqual([503, 412])
    // The indexer detects it with the next record, if the check of every minute does not.
    expect(await written()).toBe(201)
    const found = await answered(search, ({ status }) => status === 503)
    expect([found.status, found.body.total]).toEqual([200, 4])
    // Another function may read the new state some seconds later.
    expect(await answered(unless, (status) => status === 503)).toBe(412)
  })

  it('sends a heartbeat to each index, and rebuilds an index that lost its heartbeat', async () => {
    const { awsEndpoint, searchEndpoint } = cloud()
    const aws = awsCalls(awsEndpoint)
    const { Functions }: Tree = JSON.parse(await aws.send('lambda', 'GET', '/2015-03-31/functions/'))
    const { FunctionName } = Functions.find(({ Handler }: Tree) => Handler === 'indexer.handler')
    // As the rule of every minute does.
    const tend = () => aws.send('lambda', 'POST', `/2015-03-31/functions/${FunctionName}/invocations`, '{"sweep":"index"}')
    const id = newId()
    const body = patient(id, { identifier: [{ system: 'urn:pulse', value: id }] })
    expect((await put(`/Patient/${id}`, body)).status).toBe(201)
    const unless = async () => (await post('/Patient', body, { 'if-none-exist': `identifier=urn:pulse|${id}` })).status
    const search = () => get(`/Patient?identifier=urn:pulse%7C${id}&_summary=count`)
    expect((await answered(search, ({ body }) => body.total !== 1)).body.total).toBe(1)
    const indices = async () => Object.keys((await (await fetch(`${searchEndpoint}/_alias/fhir-patient-*`)).json()) as Tree)
    const [live] = await indices()
    const pulse = async (): Promise<number> => {
      const found: Tree = await (await fetch(`${searchEndpoint}/${live}/_doc/pulse?_source=false`)).json()
      return found._version ?? 0
    }
    const before = Date.now()
    await tend()
    expect(await answered(pulse, (sent) => sent < before)).toBeGreaterThanOrEqual(before)
    expect([await unless(), (await search()).body.total]).toEqual([200, 1])
    await fetch(`${searchEndpoint}/${live}/_doc/pulse`, { method: 'DELETE' })
    await tend()
    expect(await answered(indices, (some) => some.includes(live!) || some.length !== 1)).not.toContain(live)
    expect((await answered(search, ({ status }) => status === 503)).body.total).toBe(1)
    expect(await answered(unless, (status) => status === 503)).toBe(200)
  })
})
