/**
 * Requests above the limits of API Gateway and Lambda: every rejection is an OperationOutcome. gateway.ts has these limits, because no emulator
 * has them. https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { clientOf, newId, type TestResponse, type Tree } from '../api/server.ts'
import { patient } from '../fixtures/resources.ts'
import { awsCalls } from './aws-calls.ts'
import { type RunningGateway, startGateway } from './gateway.ts'
import { type HostedDeployment, hostDeployment } from './hosted-deployment.ts'
import { runOnCloud } from './requested-deployment.ts'

const MB = 1_000_000

/** Returns a patient of about `bytes` bytes in strings of 100,000. A string may have a million. */
const heavyPatient = (id: string, bytes: number, character = 'x'): Tree => {
  const given = Array.from({ length: bytes / 100_000 }, () => character.repeat(100_000 / JSON.stringify(character).slice(1, -1).length))
  return patient(id, { name: [{ given }] })
}

/** Status and code of a rejection. */
const refusal = ({ status, body }: TestResponse): readonly unknown[] => [status, body?.resourceType, body?.issue?.[0]?.code]

runOnCloud('behind API Gateway', { here: true }, (cloud, { get, put, post, send }) => {
  it('an unknown path is answered 404, an unknown method 405', async () => {
    expect(refusal(await get('/Patient/1/2/3/4/5'))).toEqual([404, 'OperationOutcome', 'not-found'])
    expect(refusal(await send('PROPFIND', '/Patient'))).toEqual([405, 'OperationOutcome', 'not-supported'])
  })

  it('a body of almost 5 MB is stored, and read again', async () => {
    const entry = Array.from({ length: 49 }, () => {
      const id = newId()
      return { resource: heavyPatient(id, 100_000), request: { method: 'PUT', url: `Patient/${id}` } }
    })
    const bundle = { resourceType: 'Bundle', type: 'transaction', entry }
    expect(JSON.stringify(bundle).length).toBeGreaterThan(4.8 * MB)
    const answer = await post('/', bundle)
    expect([answer.status, answer.body.entry?.length]).toEqual([200, 49])
    const id = newId()
    const single = await put(`/Patient/${id}`, heavyPatient(id, 4.9 * MB))
    expect(single.status).toBe(201)
    expect((await get(`/Patient/${id}`)).body.name[0].given).toHaveLength(49)
  })

  it('a larger body is rejected with 413', async () => {
    const id = newId()
    for (const size of [5.1, 7, 11]) {
      expect(refusal(await put(`/Patient/${id}`, heavyPatient(id, size * MB)))).toEqual([413, 'OperationOutcome', 'too-long'])
    }
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })

  it('a compressed body that is larger after decompression is rejected with 413, and any other with 415', async () => {
    const id = newId()
    const sent = async (size: number) => {
      const body = gzipSync(JSON.stringify(heavyPatient(id, size * MB)))
      expect(body.length).toBeLessThan(MB)
      return refusal(await send('PUT', `/Patient/${id}`, body, { 'content-type': 'application/fhir+json', 'content-encoding': 'gzip' }))
    }
    for (const size of [5.1, 7, 11]) expect(await sent(size)).toEqual([413, 'OperationOutcome', 'too-long'])
    expect(await sent(0.1)).toEqual([415, 'OperationOutcome', 'not-supported'])
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })

  it('a body that is too large inside its event is rejected', async () => {
    const id = newId()
    const quoted = await put(`/Patient/${id}`, heavyPatient(id, 4.8 * MB, '"'))
    expect(quoted.status).toBeGreaterThanOrEqual(400)
    expect(quoted.body.resourceType).toBe('OperationOutcome')
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })

  it('a search page stays below the limit, regardless of _count', async () => {
    const mark = newId()
    for (let i = 0; i < 4; i++) {
      const id = newId()
      await put(`/Patient/${id}`, { ...heavyPatient(id, 2 * MB), identifier: [{ value: mark }] })
    }
    const ids = new Set<string>()
    for (let url: string | undefined = `/Patient?identifier=${mark}&_count=10`; url !== undefined; ) {
      const { status, body } = await get(url)
      expect(status).toBe(200)
      for (const { resource } of body.entry ?? []) ids.add(resource.id)
      url = body.link.find(({ relation }: Tree) => relation === 'next')?.url
    }
    expect(ids.size).toBe(4)
  })

  it('a response that is too large is replaced by a too-costly error', async () => {
    const id = newId()
    // Indented, each of them is ten characters longer.
    const given = Array.from({ length: 600_000 }, () => 'x')
    expect((await put(`/Patient/${id}`, patient(id, { name: [{ given }] }))).status).toBe(201)
    expect(refusal(await get(`/Patient/${id}?_pretty=true`))).toEqual([403, 'OperationOutcome', 'too-costly'])
    expect((await get(`/Patient/${id}`)).status).toBe(200)
  })

  it('a request that bypasses CloudFront is rejected with 403', async () => {
    const { direct } = cloud()
    expect(refusal(await clientOf(() => direct!).get('/metadata'))).toEqual([403, 'OperationOutcome', 'forbidden'])
  })

  it('headers of 11 KB are rejected with 431', async () => {
    const answer = await get('/metadata', { 'x-long': 'x'.repeat(11_000) })
    expect(refusal(answer)).toEqual([431, 'OperationOutcome', 'too-long'])
  })
})

runOnCloud('a function that takes too long', { here: true }, (cloud) => {
  let home: HostedDeployment
  let gateway: RunningGateway
  beforeAll(async () => {
    const { awsEndpoint, searchEndpoint, assembly, deployment } = cloud()
    home = await hostDeployment(awsCalls(awsEndpoint), assembly, deployment, { aws: awsEndpoint, search: searchEndpoint })
    gateway = await startGateway({ api: home.api, firewall: () => undefined, invoke: home.invoke, stage: 'fhir', timeout: 1 })
  })
  afterAll(async () => {
    await gateway?.close()
    await home?.host.close()
  })

  it('is answered 504 with an OperationOutcome', async () => {
    const { get } = clientOf(() => gateway.url)
    expect(refusal(await get('/metadata'))).toEqual([504, 'OperationOutcome', 'timeout'])
  })
})
