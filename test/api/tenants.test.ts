/**
 * Two tenants of one server. What one is answered is the same whether there is another or not: the same requests are sent in two worlds that
 * differ only in what the other tenant has and does.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { patient } from '../fixtures/resources.ts'
import { clientOf, startServer, type TestClient, type TestResponse, type Tree } from './server.ts'

type World = { readonly embedded: EmbeddedServer; readonly of: (tenant: string) => Promise<TestClient>; readonly base: string }

async function worldOf(folder?: string): Promise<World> {
  const { embedded, base } = await startServer(
    { FHIR_ACCESS: 'token', FHIR_TENANCY: 'on', FHIR_CLIENT_IDS: 'optional' },
    folder,
    () => undefined,
  )
  const of = async (tenant: string): Promise<TestClient> => {
    const token = await embedded.issue({ isAdministrator: true, tenant })
    return clientOf(
      () => base,
      () => token,
    )
  }
  return { embedded, base, of }
}

const parameter = (id: string, expression: string, more: object = {}): Tree => ({
  resourceType: 'SearchParameter', id, url: `http://example.org/${id}`, name: id, status: 'active', description: 'x',
  code: id, base: ['Patient'], type: 'string', expression, ...more,
}) // biome-ignore format: one resource

const observation = (id: string, subject: string, code: string): Tree => ({
  resourceType: 'Observation', id, status: 'final', code: { coding: [{ system: 's', code }] }, subject: { reference: subject },
  effectiveDateTime: '2020-01-01',
}) // biome-ignore format: one resource

const identified = (id: string, value: string, family: string): Tree =>
  patient(id, { identifier: [{ system: 'urn:s', value }], name: [{ family, given: [family.toLowerCase()] }] })

const profile = (id: string, required: string): Tree => ({
  resourceType: 'StructureDefinition', id, url: `http://example.org/${id}`, name: 'Own', status: 'active', kind: 'resource', abstract: false,
  type: 'Patient', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient', derivation: 'constraint',
  differential: { element: [{ id: `Patient.${required}`, path: `Patient.${required}`, min: 1 }] },
}) // biome-ignore format: one resource

const transaction = (...entry: readonly Tree[]): Tree => ({ resourceType: 'Bundle', type: 'transaction', entry })

async function settled(client: TestClient): Promise<void> {
  const unfinished = async (): Promise<readonly Tree[]> => {
    const { body } = await client.get('/$reindex-status')
    const parts = body.parameter.flatMap(({ part = [] }: Tree) => part)
    return parts.filter(({ name, valueCode }: Tree) => name === 'type' || valueCode === 'building')
  }
  await eventually(unfinished, { until: ({ length }) => length === 0, every: 10 })
}

const linkOf = ({ body }: TestResponse, wanted: string): string | undefined =>
  body.link.find(({ relation }: Tree) => relation === wanted)?.url.replace(/^http:\/\/127\.0\.0\.1\/fhir/, '')

/** The same ids, the same identifiers, the same codes of parameters, with another meaning; things that fail; and much of it. */
async function fillOther(client: TestClient): Promise<void> {
  await client.put('/SearchParameter/nick', parameter('nick', 'Patient.name.family'))
  await client.put(
    '/SearchParameter/bad',
    parameter('bad', "Patient.name.given.toInteger().toString() | Patient.name.family.matches('^(a+)+$').toString()"),
  )
  for (let i = 0; i < 30; i++) {
    await client.put(`/Patient/p${i}`, identified(`p${i}`, `v${i}`, `${'a'.repeat(40)}!`))
    await client.put(`/Observation/o${i}`, observation(`o${i}`, `Patient/p${i}`, 'other'))
  }
  await client.put('/StructureDefinition/own', profile('own', 'birthDate'))
  await client.put('/StructureDefinition/only-other', profile('only-other', 'birthDate'))
  await client.put('/Patient/gone', identified('gone', 'gone', 'Gone'))
  await client.put('/Patient/only-other', identified('only-other', 'only-other', 'Other'))
  await client.put('/Patient/p0', identified('p0', 'v0', 'Again'))
  await client.post(
    '/',
    transaction({ resource: identified('t1', 't1', 'T'), request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=t1' } }),
  )
}

/** What the tenant that is looked at has. */
async function fill(client: TestClient): Promise<void> {
  await client.put('/SearchParameter/nick', parameter('nick', 'Patient.name.given'))
  await client.put('/StructureDefinition/own', profile('own', 'photo'))
  for (let i = 0; i < 5; i++) {
    await client.put(`/Patient/p${i}`, identified(`p${i}`, `v${i}`, `F${i % 2}`))
    await client.put(`/Observation/o${i}`, observation(`o${i}`, `Patient/p${i % 2}`, `c${i % 3}`))
  }
  await client.put('/Patient/p1', identified('p1', 'v1', 'F9'))
  await client.put('/Patient/gone', identified('gone', 'gone', 'Gone'))
  await client.delete('/Patient/gone')
  await settled(client)
}

/** `GET` where there is no method. */
const READS: readonly (readonly [path: string, headers?: Record<string, string>])[] = [
  ['/metadata'],
  ['/Patient/p0'],
  ['/Patient/p1/_history/1'],
  ['/Patient/p0/_history/2'],
  ['/Patient/only-other'],
  ['/Patient/only-other/_history'],
  ['/Patient/gone'],
  ['/Patient/p1/_history'],
  ['/Patient/_history?_count=3'],
  ['/_history'],
  ['/_history?_since=2020'],
  ['/SearchParameter/nick'],
  ['/SearchParameter/bad'],
  ['/Patient'],
  ['/Patient?_summary=count'],
  ['/Patient?_total=accurate&_count=2'],
  ['/Patient?identifier=urn:s|v0,urn:s|v17'],
  ['/Patient?nick=f0', { prefer: 'handling=strict' }],
  ['/Patient?bad=x', { prefer: 'handling=strict' }],
  ['/Patient?bad=x'],
  ['/Patient?nick:exact=f9', { prefer: 'handling=strict' }],
  ['/Patient?_sort=-family'],
  ['/Patient?_group=family:code'],
  ['/Patient?_has:Observation:patient:code=other'],
  ['/Patient?_has:Observation:patient:code=c0'],
  ['/Observation?subject:Patient.nick=f0', { prefer: 'handling=strict' }],
  ['/Observation?subject.identifier=urn:s|v0&_include=Observation:subject'],
  ['/Patient?_id=p0,p1,p17&_revinclude=Observation:subject'],
  ['/Observation?_skip=2&_count=2', { prefer: 'pagination=offset-skip' }],
  ['/Patient/p0/Observation'],
  ['/Patient/p0/*'],
  ['/?_type=Patient,Observation&_total=accurate'],
  ['/Patient?family=F0', { prefer: 'explain=true' }],
  ['/$reindex-status'],
  ['/Patient/p0/$validate?profile=http://example.org/own'],
  ['/Patient/p0/$validate?profile=http://example.org/only-other'],
]

type Sent = readonly [method: string, path: string, body?: unknown, headers?: Record<string, string>]
const WRITES: readonly Sent[] = [
  ['PUT', '/Patient/only-other', identified('only-other', 'mine', 'Mine')],
  ['POST', '/Patient', identified('p17', 'v17', 'New')],
  ['POST', '/Patient', identified('p0', 'v0', 'New')],
  ['POST', '/Patient', identified('fresh', 'v20', 'Fresh'), { 'if-none-exist': 'identifier=urn:s|v20' }],
  ['POST', '/Patient', identified('fresh2', 'v20', 'Fresh'), { 'if-none-exist': 'identifier=urn:s|v20' }],
  ['POST', '/Patient', identified('t1', 't1', 'T'), { 'if-none-exist': 'identifier=t1' }],
  ['PUT', '/Patient?identifier=urn:s|v25', identified('p25', 'v25', 'Conditional')],
  ['PUT', '/Patient?identifier=urn:s|v2', identified('p2', 'v2', 'Conditional')],
  ['DELETE', '/Patient?identifier=urn:s|v26'],
  ['DELETE', '/Patient?identifier=urn:s|v3'],
  ['DELETE', '/Patient/p27'],
  ['PATCH', '/Patient/p28', [{ op: 'test', path: '/id', value: 'p28' }], { 'content-type': 'application/json-patch+json' }],
  ['PUT', '/Patient/p0', identified('p0', 'v0', 'Matched'), { 'if-match': 'W/"1"' }],
  ['PUT', '/Patient/p0', identified('p0', 'v0', 'Matched'), { 'if-none-match': '*' }],
  ['POST', '/', transaction(
    { resource: observation('tx', 'Patient?identifier=urn:s|v1', 'tx'), request: { method: 'PUT', url: 'Observation/tx' } },
    { resource: identified('p29', 'v29', 'Tx'), request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=urn:s|v29' } },
  )],
  ['POST', '/', transaction({ resource: observation('tx2', 'Patient?identifier=urn:s|v19', 'tx'), request: { method: 'PUT', url: 'Observation/tx2' } })],
  ['PUT', '/SearchParameter/nick', parameter('nick', 'Patient.name.family')],
  ['POST', '/$reindex?type=Patient'],
  ['DELETE', '/SearchParameter/bad'],
  ['POST', '/Patient/$validate?profile=http://example.org/only-other', identified('p0', 'v0', 'New')],
  ['PUT', '/StructureDefinition/own', profile('own', 'contact')],
  ['POST', '/Patient/$validate?profile=http://example.org/own', identified('p0', 'v0', 'New')],
] // biome-ignore format: one request a line

const PASSING = new Set(['date', 'x-request-id', 'x-index-token', 'last-modified', 'connection', 'keep-alive', 'transfer-encoding'])

/** Without instants, seals and names of requests. */
const told = ({ status, headers, text }: TestResponse) => ({
  status,
  headers: Object.fromEntries([...headers].filter(([name]) => !PASSING.has(name))),
  body: text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT').replace(/_cursor=[\w-]+/g, '_cursor=SEAL'),
})

const lengthless = ({ headers: { 'content-length': _, etag, ...headers }, ...rest }: ReturnType<typeof told>) => ({
  ...rest,
  headers: { ...headers, etag },
})

describe('A tenant', () => {
  let alone: World
  let shared: World
  let one: TestClient
  let same: TestClient
  let other: TestClient
  beforeAll(async () => {
    alone = await worldOf()
    shared = await worldOf()
    one = await alone.of('mine')
    same = await shared.of('mine')
    other = await shared.of('other')
    await fillOther(other)
    await Promise.all([fill(same), fillOther(other)])
    await fill(one)
    await settled(other)
  }, 120_000)
  afterAll(async () => {
    await alone.embedded.close()
    await shared.embedded.close()
  })

  const compared = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const expected = lengthless(told(await one.send(method, path, body, headers)))
    const answer = lengthless(told(await same.send(method, path, body, headers)))
    expect([method, path, answer]).toEqual([method, path, expected])
    expect(answer.status).toBeLessThan(500)
    return answer
  }

  it('reads its own data only, as if it were alone', async () => {
    const statuses = new Set<number>()
    for (const [path, headers] of READS) statuses.add((await compared('GET', path, undefined, headers)).status)
    expect([...statuses].toSorted()).toEqual([200, 400, 404, 422])
  })

  it('pages through its own data only', async () => {
    for (const path of ['/Patient?_count=2&_sort=family', '/_history?_count=4', '/Patient/_history?_count=3']) {
      const walked = await Promise.all(
        [one, same].map(async (client) => {
          const pages: unknown[] = []
          for (let next: string | undefined = path; next !== undefined; ) {
            const page: TestResponse = await client.get(next)
            pages.push(lengthless(told(page)))
            next = linkOf(page, 'next')
          }
          return pages
        }),
      )
      expect(walked[0]!.length).toBeGreaterThan(2)
      expect(walked[1]).toEqual(walked[0])
    }
  })

  it('writes as if it were alone: ids, criteria, guards and versions are separate', async () => {
    const statuses: number[] = []
    for (const request of WRITES) {
      statuses.push((await compared(...request)).status)
      await other.put('/Patient/p0', identified('p0', 'v0', 'Noise'))
    }
    expect(new Set(statuses)).toEqual(new Set([200, 201, 202, 204, 404, 409, 412, 422]))
    for (const client of [one, same]) await settled(client)
    for (const [path, headers] of READS) await compared('GET', path, undefined, headers)
  })

  it('keeps its data during the writes of another', async () => {
    expect((await other.get('/Patient/only-other')).body.name[0].family).toBe('Other')
    expect((await other.get('/Patient?nick=again,noise', { prefer: 'handling=strict' })).body.total).toBe(1)
    expect((await other.get('/SearchParameter/bad')).status).toBe(200)
    expect((await other.get('/Patient?_summary=count')).body.total).toBe(33)
  })

  it('has separate failures in $reindex-status', async () => {
    const failures = async (client: TestClient) =>
      (await client.get('/$reindex-status')).body.parameter.filter(({ name }: Tree) => name === 'unreadable')
    expect((await failures(other)).length).toBeGreaterThan(0)
    expect(await failures(same)).toEqual([])
  })

  it('cannot use cursors, stored searches and index tokens of another', async () => {
    const long = `/Patient?_count=2&_id=${Array.from({ length: 1_000 }, (_, i) => `p${i}`).join(',')}`
    const theirs = await other.get('/Patient?_count=2')
    const kept = await other.get(long)
    const histories = await other.get('/Patient/_history?_count=2')
    for (const answer of [theirs, kept, histories]) {
      expect([answer.status, answer.status === 200 ? '' : answer.text]).toEqual([200, ''])
      const next = linkOf(answer, 'next')!
      expect((await other.get(next)).status).toBe(200)
      const garbage = next.replace(/_cursor=[\w-]+/, '_cursor=garbage')
      expect(lengthless(told(await same.get(next)))).toEqual(lengthless(told(await same.get(garbage))))
      expect((await same.get(next)).status).toBe(400)
    }
    const token = (await other.put('/Patient/p0', identified('p0', 'v0', 'Noise'))).headers.get('x-index-token')!
    const asked = async (given: string) => lengthless(told(await same.get('/Patient', { 'x-index-token': given })))
    expect(await asked(token)).toEqual(await asked('garbage'))
    expect((await asked(token)).status).toBe(400)
  })

  it('is chosen by X-Tenant-Id for a token of several tenants', async () => {
    const any = await shared.of('*')
    expect((await any.get('/Patient/only-other', { 'x-tenant-id': 'other' })).body.name[0].family).toBe('Other')
    for (const tenant of ['mine', 'other'])
      expect((await any.get('/StructureDefinition/only-other', { 'x-tenant-id': tenant })).status).toBe(tenant === 'mine' ? 404 : 200)
    expect((await any.get('/Patient?_id=only-other')).status).toBe(400)
    const [plain, own] = await Promise.all([fetch(`${shared.base}/metadata`), same.get('/metadata')])
    const parametersOf = ({ rest }: Tree): readonly string[] =>
      rest[0].resource.find(({ type }: Tree) => type === 'Patient').searchParam.map(({ name }: Tree) => name)
    expect(parametersOf((await plain.json()) as Tree)).not.toContain('nick')
    expect(parametersOf(own.body)).toContain('nick')
  })

  it('sees only its own profiles, and clients without a token see none', async () => {
    const profilesIn = async (client?: TestClient): Promise<readonly string[]> => {
      const { rest } = (client ? (await client.get('/metadata')).body : await (await fetch(`${shared.base}/metadata`)).json()) as Tree
      return rest[0].resource
        .flatMap(({ supportedProfile = [] }: Tree) => supportedProfile)
        .filter((url: string) => url.startsWith('http://example.org/'))
    }
    expect(await profilesIn(same)).toEqual(['http://example.org/own'])
    expect(await profilesIn(other)).toEqual(['http://example.org/only-other', 'http://example.org/own'])
    expect(await profilesIn(await shared.of('third'))).toEqual([])
    expect(await profilesIn()).toEqual([])
  })
})

it('A recreated index has the parameters of all tenants', async () => {
  const folder = newFolder()
  const asked = async (reopened: World) => {
    const found: unknown[] = []
    for (const tenant of ['mine', 'other']) {
      const client = await reopened.of(tenant)
      found.push((await client.get('/Patient?nick=x&_summary=count', { prefer: 'handling=strict' })).body.total)
    }
    return found
  }
  const first = await worldOf(folder)
  for (const [tenant, expression] of [
    ['mine', 'Patient.name.given'],
    ['other', 'Patient.name.family'],
  ] as const) {
    const client = await first.of(tenant)
    await client.put('/SearchParameter/nick', parameter('nick', expression))
    for (let i = 0; i < 3; i++)
      await client.put(`/Patient/p${i}`, patient(`p${i}`, { name: [{ given: ['x'], family: i === 0 ? 'x' : 'y' }] }))
    await settled(client)
  }
  expect(await asked(first)).toEqual([3, 1])
  await first.embedded.close()
  for (const name of readdirSync(folder)) if (name.startsWith('index.db')) rmSync(join(folder, name))
  const second = await worldOf(folder)
  expect(await asked(second)).toEqual([3, 1])
  const { body } = await (await second.of('mine')).get('/$reindex-status')
  expect(body.parameter.map(({ name }: Tree) => name)).toEqual(['lag', 'parameter'])
  await second.embedded.close()
})

it('Profiles of a tenant do not affect tenants without profiles', async () => {
  const world = await worldOf()
  const [mine, other, third] = [await world.of('mine'), await world.of('other'), await world.of('third')]
  const named = patient('p', { meta: { profile: ['http://example.org/own'] } })
  const isLoaded = async (client: TestClient) =>
    !told(await client.post('/Patient/$validate', named)).body.includes('http://example.org/own is not loaded')
  await mine.post('/Patient/$validate', patient('p'))
  await mine.put('/StructureDefinition/own', profile('own', 'photo'))
  const first = [await isLoaded(other), await isLoaded(mine), await isLoaded(third)]
  await other.put('/StructureDefinition/own', profile('own', 'birthDate'))
  const then = [await isLoaded(other), await isLoaded(third)]
  await world.embedded.close()
  expect([first, then]).toEqual([
    [false, true, false],
    [true, false],
  ])
})
