/** X-Index-Token and X-Consistency: what a write tells, and what a search with it waits for. */
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { sealOfEpoch } from '../../../lambdas/adapters/in-process/epoch-seal.ts'
import { AesSeal } from '../../../lambdas/adapters/in-process/seal.ts'
import type { Exchange, HttpResponse } from '../../../lambdas/http/exchange.ts'
import { awaitIndexToken, returnIndexToken, type TokenParts } from '../../../lambdas/http/steps/index-token.ts'
import type { FhirResponse } from '../../../lambdas/interactions/interaction.ts'
import type { Blob } from '../../../lambdas/ports/blobs/blob-store.ts'
import type { VersionKey } from '../../../lambdas/ports/store/resource-store.ts'
import { fault } from '../../fixtures/machine-fault.ts'

function world(isVisible: boolean | 'down' = true, consistency: TokenParts['consistency'] = 'eventual') {
  const kept = new Map<string, Blob>()
  const asked: (readonly string[])[] = []
  const reports: unknown[] = []
  const parts: TokenParts = {
    seal: new AesSeal(randomBytes(32)),
    clock: { now: () => 1, newId: () => 'id' },
    consistency,
    blobs: {
      get: async (key) => kept.get(key),
      put: async (key, blob) => (isVisible === 'down' ? Promise.reject(new Error('down')) : void kept.set(key, blob)),
    },
    index: {
      caughtUp: async (tokens) => {
        asked.push(tokens)
        if (isVisible === 'down') throw new Error('down')
        return isVisible
      },
    },
    tokensOf: (written) => written.map(({ type, id, versionId }) => `${type}~${id}~${versionId}`),
  }
  const exchange = (tenant: string, headers: Record<string, string>) =>
    ({ http: { headers }, caller: { tenant }, site: { sharedTenant: 'commons' } }) as unknown as Exchange
  return {
    kept,
    parts,
    asked,
    reports,
    async tell(
      written: readonly VersionKey[],
      headers: Record<string, string> = {},
      token?: object,
      tenant = 'a',
    ): Promise<Record<string, string>> {
      const request = { event: { ...exchange(tenant, headers), token }, response: { status: 201, written } as FhirResponse | HttpResponse }
      await returnIndexToken(parts, (error) => reports.push(error)).after!(request as never)
      return request.response.headers as Record<string, string>
    },
    wait: async (token: string, tenant = 'a'): Promise<unknown> =>
      awaitIndexToken(parts).before!({ event: { ...exchange(tenant, { 'x-index-token': token }), interaction: 'search-type' } } as never),
  }
}

const versions = (count: number): readonly VersionKey[] =>
  Array.from({ length: count }, (_, i) => ({ tenant: 'a', type: 'Patient', id: `${randomBytes(16).toString('hex')}-${i}`, versionId: 1 }))

describe('X-Index-Token', () => {
  it('is stored only for many writes, and has at most 200 characters', async () => {
    for (const [count, keeps] of [
      [1, 0],
      [5_000, 1],
    ] as const) {
      const { kept, asked, tell, wait } = world()
      const written = versions(count)
      const { 'x-index-token': token = '' } = await tell(written)
      expect(token.length).toBeLessThanOrEqual(200)
      expect(kept.size).toBe(keeps)
      await wait(token)
      expect(asked).toEqual([written.map(({ id }) => `Patient~${id}~1`)])
    }
  })

  it('is stored under a key that names no resource, also not by an unkeyed digest', async () => {
    const written = versions(50)
    const [one, other] = [world(), world()]
    for (const { tell } of [one, one, other]) await tell(written)
    const keys = [...one.kept.keys(), ...other.kept.keys()]
    expect(keys).toEqual(Array(2).fill(expect.stringMatching(/^tokens\/[\w-]{22}$/)))
    expect(new Set(keys).size).toBe(2)
  })

  it('may be combined with others: all are awaited', async () => {
    const { asked, tell, wait } = world()
    const several = [versions(1), versions(50), versions(2)]
    const told = await Promise.all(several.map((written) => tell(written)))
    await wait(told.map((headers) => headers['x-index-token']).join(', '))
    expect(asked).toEqual([several.flat().map(({ id }) => `Patient~${id}~1`)])
  })

  it('is valid in every tenant if it is one of the shared tenant', async () => {
    const { asked, tell, wait } = world()
    const [own, shared] = [versions(1), versions(50)]
    const { 'x-index-token': one = '' } = await tell(own)
    const { 'x-index-token': other = '' } = await tell(shared, {}, undefined, 'commons')
    await wait(`${one}, ${other}`)
    expect(asked).toEqual([own, shared].map((written) => written.map(({ id }) => `Patient~${id}~1`)))
    await expect(wait(one, 'commons')).rejects.toMatchObject({ status: 400 })
  })

  it('may be combined with at most 99 others', async () => {
    const { asked, tell, wait } = world()
    const { 'x-index-token': token = '' } = await tell(versions(1))
    const times = (count: number): string => Array.from({ length: count }, () => token).join(',')
    await wait(times(100))
    expect(asked).toHaveLength(1)
    await expect(wait(times(101))).rejects.toMatchObject({ status: 400 })
    expect(asked).toHaveLength(1)
  })

  it('is rejected for another tenant or server', async () => {
    const { tell, wait } = world()
    const { 'x-index-token': token = '' } = await tell(versions(1))
    await expect(wait(token, 'b')).rejects.toMatchObject({ status: 400 })
    await expect(world().wait(token)).rejects.toMatchObject({ status: 400 })
    await expect(wait('x')).rejects.toMatchObject({ status: 400 })
  })

  it('is 410 once its list is deleted', async () => {
    const { kept, tell, wait } = world()
    const { 'x-index-token': token = '' } = await tell(versions(50))
    kept.clear()
    await expect(wait(token)).rejects.toMatchObject({ status: 410 })
  })

  it('is 410 to its tenant after a point-in-time restore, with or without a list', async () => {
    const { parts, tell, wait } = world()
    for (const count of [1, 50]) {
      const { 'x-index-token': token = '' } = await tell(versions(count))
      const later = { ...parts, seal: sealOfEpoch(parts.seal, 1) }
      const given = (tenant: string) =>
        ({ event: { http: { headers: { 'x-index-token': token } }, caller: { tenant }, site: {}, interaction: 'search-type' } }) as never
      await expect(awaitIndexToken(later).before!(given('a'))).rejects.toMatchObject({ status: 410 })
      await expect(awaitIndexToken(later).before!(given('b'))).rejects.toMatchObject({ status: 400 })
      await wait(token)
    }
  })

  it('is 503 while the index lags behind', async () => {
    const { tell, wait } = world(false)
    const { 'x-index-token': token = '' } = await tell(versions(1))
    await expect(wait(token)).rejects.toEqual(fault('index-behind'))
  })
})

describe('X-Index-Token of a Bundle', () => {
  const asks = async (...urls: readonly string[]) => {
    const { asked, parts, tell } = world()
    const { 'x-index-token': token = '' } = await tell(versions(1))
    const entry = urls.map((text) => {
      const [method, url] = text.split(' ')
      return { request: { method, url } }
    })
    const known = { interaction: 'bundle', caller: { tenant: 'a' }, site: { reading: () => ({ baseUrl: 'http://x/fhir' }) } }
    const fhir = { resource: { resourceType: 'Bundle', type: 'batch', entry } }
    await awaitIndexToken(parts).before!({ event: { ...known, fhir, http: { headers: { 'x-index-token': token } } } } as never)
    return asked.length
  }

  it('is awaited if an entry searches', async () => {
    for (const url of [
      'GET Patient?name=x',
      'GET /Patient',
      'HEAD Patient?name=x',
      'GET http://x/fhir/Patient?name=x',
      'GET Patient/1/Observation',
    ])
      expect([url, await asks('PUT Patient/1', url)]).toEqual([url, 1])
  })

  it('is ignored for entries that do not search', async () => {
    expect(
      await asks('PUT Patient/1', 'PUT Patient?name=x', 'DELETE Patient?name=x', 'GET Patient/1', 'GET Nothing/1/2/3/4', 'GET %'),
    ).toBe(0)
  })
})

describe('X-Consistency: strong', () => {
  it('waits for the written versions, and not otherwise', async () => {
    const { asked, tell } = world()
    expect(await tell(versions(1))).not.toHaveProperty('x-index-lag')
    expect(asked).toEqual([])
    expect(await tell(versions(2), { 'x-consistency': 'strong' })).not.toHaveProperty('x-index-lag')
    expect(asked).toHaveLength(1)
  })

  it('holds for every write of a client or a stage, unless the header differs', async () => {
    const waits = async (stage: TokenParts['consistency'], token: object | undefined, header?: string) => {
      const { asked, tell } = world(true, stage)
      await tell(versions(1), header === undefined ? {} : { 'x-consistency': header }, token)
      await tell([], header === undefined ? {} : { 'x-consistency': header }, token)
      return asked.length
    }
    const client = { consistency: 'strong' }
    expect([await waits('eventual', undefined), await waits('eventual', {}), await waits('eventual', {}, 'strong')]).toEqual([0, 0, 1])
    expect([await waits('strong', undefined), await waits('strong', {}), await waits('eventual', client)]).toEqual([1, 1, 1])
    expect([await waits('strong', {}, 'eventual'), await waits('eventual', client, 'eventual')]).toEqual([0, 0])
    expect(await waits('strong', { consistency: 'eventual' })).toBe(0)
  })

  it('succeeds with X-Index-Lag if the index is late', async () => {
    expect(await world(false).tell(versions(3), { 'x-consistency': 'strong' })).toMatchObject({ 'x-index-lag': '3 versions' })
  })

  it('succeeds with X-Index-Lag if the index or the token store is down', async () => {
    const { reports, tell } = world('down')
    expect(Object.keys(await tell(versions(50), { 'x-consistency': 'strong' }))).toEqual(['x-index-lag'])
    expect(reports).toHaveLength(2)
  })
})
