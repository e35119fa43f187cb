/** Settings of what is written, found and how much of it may be asked for. */
import { once } from 'node:events'
import { type ClientRequest, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from '@jest/globals'
import { runFhirWithEnvironment } from '../../bin/process.ts'
import { freePort } from '../../engines/engine.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { GUIDE_NAME, guideCanonicalOf, guideFilesOf, packArchive } from '../../fixtures/packages.ts'
import { observation, patient } from '../../fixtures/resources.ts'
import { copyExample } from '../../fixtures/us-core/findings.ts'
import { issuesOf, type Tree } from '../server.ts'
import { delayFileWrites, type SettingsServer, type SettingTrial, withSettings } from './setting-server.ts'

/** A trial of one variable, whatever else is set. */
const withVariable =
  (variable: string, more: Readonly<Record<string, string>> = {}) =>
  (proof: (server: SettingsServer) => Promise<void>) =>
  (value: string): Promise<void> =>
    withSettings({ ...more, [variable]: value }, proof)

const clientIds = withVariable('FHIR_CLIENT_IDS')
const mismatch = withVariable('FHIR_CONDITIONAL_UPDATE_ID_MISMATCH')
const noOp = withVariable('FHIR_NO_OP_UPDATES')
const profiles = withVariable('FHIR_VALIDATE_PROFILES')
const versioning = withVariable('FHIR_VERSIONING')
const integrity = withVariable('FHIR_REFERENTIAL_INTEGRITY')
const zone = withVariable('FHIR_TIME_ZONE')

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const identified = (id: string): Tree => patient(id, { identifier: [{ system: 's', value: 'v' }] })

async function updatedUnderAnotherId({ put }: SettingsServer) {
  await put('/Patient/a', identified('a'))
  return put('/Patient?identifier=s|v', { ...identified('b'), active: true })
}

async function writtenTwice({ put }: SettingsServer) {
  await put('/Patient/a', patient('a'))
  return (await put('/Patient/a', patient('a'))).headers.get('etag')
}

/** A laboratory's Observation that lacks what its profile wants. */
const unfit = (): Tree => ({ ...copyExample('Observation/serum-sodium'), id: 'o', category: [{ text: 'x' }] })
const writtenUnfit = ({ put }: SettingsServer) => put('/Observation/o', unfit(), { prefer: 'return=OperationOutcome' })
const hasCategoryWarning = (answer: Parameters<typeof issuesOf>[0]): boolean =>
  issuesOf(answer).some((text) => text.includes('Observation.category'))

/** Half past eleven in the evening in London, the next day in Berlin. */
const onDay = async ({ put, get }: SettingsServer, day: string): Promise<number> => {
  await put('/Observation/late', observation('late', { subject: 'Patient/1', date: '2023-01-15T23:30:00Z' }))
  return (await get(`/Observation?date=${day}`)).body.total
}

const dangling = ({ put }: SettingsServer) => put('/Observation/o', observation('o', { subject: 'Patient/nobody' }))

async function deletedUnderReference({ put, delete: remove }: SettingsServer) {
  await put('/Patient/p', patient('p'))
  await put('/Observation/q', observation('q', { subject: 'Patient/p' }))
  return remove('/Patient/p')
}

// biome-ignore format: a table
export const clientIdsTrials: readonly SettingTrial[] = [
  ['required', 'a POST without an id is 400', clientIds(async ({ post }) => {
    expect((await post('/Patient', { resourceType: 'Patient' })).status).toBe(400)
    expect((await post('/Patient', patient('own'))).body.id).toBe('own')
  })],
  ['optional', 'a POST without an id gets a UUID', clientIds(async ({ post }) => {
    const { status, body } = await post('/Patient', { resourceType: 'Patient' })
    expect([status, body.id]).toEqual([201, expect.stringMatching(UUID)])
  })],
]

// biome-ignore format: a table
export const mismatchTrials: readonly SettingTrial[] = [
  ['accept', 'the match is updated', mismatch(async (server) => {
    const { status, body } = await updatedUnderAnotherId(server)
    expect([status, body.id, body.active, (await server.get('/Patient/b')).status]).toEqual([200, 'a', true, 404])
  })],
  ['reject', 'a mismatch is 400, and nothing is written', mismatch(async (server) => {
    expect((await updatedUnderAnotherId(server)).status).toBe(400)
    expect((await server.get('/Patient/a')).body.meta.versionId).toBe('1')
  })],
]

export const noOpTrials: readonly SettingTrial[] = [
  ['version', 'an update without changes creates a version', noOp(async (server) => expect(await writtenTwice(server)).toBe('W/"2"'))],
  ['ignore', 'an update without changes creates no version', noOp(async (server) => expect(await writtenTwice(server)).toBe('W/"1"'))],
]

const consistency = withVariable('FHIR_CONSISTENCY')
async function totalAfterWrite({ put, get }: SettingsServer, headers: Record<string, string>): Promise<number> {
  await put('/Patient/a', patient('a'))
  return (await get('/Patient?_id=a', headers)).body.total
}

export const consistencyTrials: readonly SettingTrial[] = [
  ['eventual', 'a search waits for the write', consistency(async (server) => expect(await totalAfterWrite(server, {})).toBe(1))],
  ['strong', 'a search that does not wait finds the write', consistency(async (server) =>
    expect(await totalAfterWrite(server, { 'x-consistency': 'eventual' })).toBe(1))],
] // biome-ignore format: a table

/** What is written before, asked while writes are stopped. */
const whileStopped = async (value: string, proof: (server: SettingsServer) => Promise<void>): Promise<void> => {
  const folder = newFolder()
  await withSettings({}, async ({ put }) => expect((await put('/Patient/a', identified('a'))).status).toBe(201), { folder })
  await withSettings({ FHIR_WRITES: value, FHIR_EXPORT_NEEDS_ASSERTION: 'off' }, proof, { folder })
}

const entry = (method: string, url: string, resource?: Tree): Tree => ({
  request: { method, url },
  ...(resource === undefined ? {} : { resource }),
})
const asBundle = (type: string, ...entries: readonly Tree[]): Tree => ({ resourceType: 'Bundle', type, entry: entries })
const REMOVED = [{ op: 'add', path: '/active', value: true }]

/** One of each kind that would write, also where it would find that nothing is to be done. */
const everyWrite = ({ put, post, patch, delete: remove }: SettingsServer) => [
  post('/Patient', identified('b')),
  post('/Patient', identified('b'), { 'if-none-exist': 'identifier=s|v' }),
  put('/Patient/a', identified('a')),
  put('/Patient?identifier=s|v', identified('a')),
  patch('/Patient/a', REMOVED),
  patch('/Patient?identifier=s|v', REMOVED),
  remove('/Patient/a'),
  remove('/Patient/nobody'),
  remove('/Patient?identifier=s|v'),
  post('/', asBundle('transaction', entry('GET', 'Patient/a'), entry('PUT', 'Patient/b', identified('b')))),
]

// biome-ignore format: a table
export const writesTrials: readonly SettingTrial[] = [
  ['on', 'writes are stored', (value) => whileStopped(value, async ({ delete: remove }) => {
    expect((await remove('/Patient/a')).status).toBe(204)
  })],
  ['stopped', 'every write is 503 with Retry-After and stores nothing; other requests succeed', (value) => whileStopped(value, async (server) => {
    for (const answer of await Promise.all(everyWrite(server))) {
      expect([answer.status, answer.headers.get('retry-after'), answer.text]).toEqual([503, '300', expect.stringContaining('stopped all writes')])
    }
    const { body } = await server.post('/', asBundle('batch', entry('DELETE', 'Patient/a'), entry('GET', 'Patient/a'), entry('GET', 'Patient?identifier=s|v')))
    expect(body.entry.map(({ response }: Tree) => response.status.slice(0, 3))).toEqual(['503', '200', '200'])
    expect([(await server.get('/Patient/a')).body.meta.versionId, (await server.get('/Patient')).body.total]).toEqual(['1', 1])
    expect((await server.get('/$export', { prefer: 'respond-async' })).status).toBe(202)
    expect((await server.post('/Patient/$validate', identified('c'))).status).toBe(200)
  })],
]

// biome-ignore format: a table
export const profilesTrials: readonly SettingTrial[] = [
  ['off', 'a nonconforming resource is stored without a warning', profiles(async (server) => {
    const answer = await writtenUnfit(server)
    expect([answer.status, hasCategoryWarning(answer)]).toEqual([201, false])
  })],
  ['warn', 'a nonconforming resource is stored with a warning', profiles(async (server) => {
    const answer = await writtenUnfit(server)
    expect([answer.status, hasCategoryWarning(answer)]).toEqual([201, true])
  })],
  ['enforce', 'a nonconforming resource is 422', profiles(async (server) => {
    const answer = await writtenUnfit(server)
    expect([answer.status, hasCategoryWarning(answer), (await server.get('/Observation/o')).status]).toEqual([422, true, 404])
  })],
]

// biome-ignore format: a table
export const versioningTrials: readonly SettingTrial[] = [
  ['on', 'older versions are returned', versioning(async (server) => {
    await writtenTwice(server)
    expect((await server.get('/Patient/a/_history/1')).status).toBe(200)
    expect((await server.get('/Patient/a/_history')).body.entry).toHaveLength(2)
  })],
  ['off', 'older versions are hidden', versioning(async (server) => {
    await writtenTwice(server)
    expect((await server.get('/Patient/a/_history/1')).status).toBe(404)
    expect((await server.get('/Patient/a/_history')).body.entry).toHaveLength(1)
  })],
]

// biome-ignore format: a table
export const integrityTrials: readonly SettingTrial[] = [
  ['on', 'a dangling reference is 422, the deletion of a referenced resource 409', integrity(async (server) => {
    expect([(await dangling(server)).status, (await deletedUnderReference(server)).status]).toEqual([422, 409])
  })],
  ['off', 'a dangling reference is stored, and a referenced resource can be deleted', integrity(async (server) => {
    expect([(await dangling(server)).status, (await deletedUnderReference(server)).status]).toEqual([201, 204])
  })],
]

export const zoneTrials: readonly SettingTrial[] = [
  ['UTC', 'days are those of UTC', zone(async (server) => expect(await onDay(server, '2023-01-15')).toBe(1))],
  ['Europe/Berlin', 'days are those of Berlin', zone(async (server) => expect(await onDay(server, '2023-01-16')).toBe(1))],
]

const putEntries = (count: number, type: string): Tree => ({
  ...{ resourceType: 'Bundle', type },
  entry: Array.from({ length: count }, (_, i) => ({
    resource: patient(`p${i}`, { family: `p${i}` }),
    request: { method: 'PUT', url: `Patient/p${i}` },
  })),
})

// biome-ignore format: a table
export const entriesTrials: readonly SettingTrial[] = [
  ['3', 'as many entries are accepted, one more is 413', withVariable('FHIR_MAX_TRANSACTION_ENTRIES')(async ({ post }) => {
    for (const type of ['batch', 'transaction'])
      expect([type, (await post('/', putEntries(3, type))).status, (await post('/', putEntries(4, type))).status]).toEqual([type, 200, 413])
  })],
]

/** A Patient of so many bytes. */
const weighing = (bytes: number): string => {
  const text = (filling: string) => JSON.stringify({ resourceType: 'Patient', id: 'p', name: [{ family: filling }] })
  return text('x'.repeat(bytes - text('').length))
}

/** A body of 2,000 bytes, of which the last does not come. */
function allButTheEnd(base: string): { readonly request: ClientRequest; readonly answer: Promise<IncomingMessage> } {
  const text = weighing(2_000)
  const headers = { 'content-type': 'application/fhir+json', 'content-length': text.length }
  const clientRequest = request(`${base}/Patient/p`, { method: 'PUT', headers, agent: false })
  clientRequest.write(text.slice(0, -1))
  const answer = new Promise<IncomingMessage>((resolve) => clientRequest.once('response', (response) => resolve(response.resume())))
  clientRequest.on('error', () => undefined)
  return { request: clientRequest, answer }
}

// biome-ignore format: a table
export const bodyTrials: readonly SettingTrial[] = [
  ['1000', 'as many bytes are accepted, one more is 413', withVariable('FHIR_MAX_BODY_BYTES')(async ({ put }) => {
    expect([(await put('/Patient/p', weighing(1_000))).status, (await put('/Patient/p', weighing(1_001))).status]).toEqual([201, 413])
  })],
  ['2000', 'sixteen times as many bytes are held at once, a further body is 503', withVariable('FHIR_MAX_BODY_BYTES', { FHIR_ACCESS: 'open' })(
    async ({ base }) => {
      const sent = Array.from({ length: 17 }, () => allButTheEnd(base()))
      const { statusCode } = await Promise.race(sent.map(async ({ answer }) => answer))
      for (const { request } of sent) request.destroy()
      expect(statusCode).toBe(503)
    },
  )],
]

// biome-ignore format: a table
export const requestsTrials: readonly SettingTrial[] = [
  ['1', 'a second concurrent request is 503', withVariable('FHIR_MAX_REQUESTS', { FHIR_AUDIT_DURABILITY: 'strict' })(
    async ({ embedded, get }) => {
      const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      // The first waits for its record: for the disk.
      const held = async () => {
        reached.resolve()
        await gate.promise
      }
      await delayFileWrites(held, async () => {
        const first = get('/Patient/nobody')
        await reached.promise
        const second = get('/Patient/nobody')
        await once(embedded.server, 'request')
        gate.resolve()
        expect([(await first).status, (await second).status]).toEqual([404, 503])
      })
      expect((await get('/Patient/nobody')).status).toBe(404)
    },
  )],
]

const sentinel = { resourceType: 'Patient', id: 'p', name: [{ family: 'Sentinel' }] }

// biome-ignore format: a table
export const requestLogTrials: readonly SettingTrial[] = [
  ['off', 'no request is logged', withVariable('FHIR_REQUEST_LOG')(async ({ get, logged }) => {
    expect((await get('/metadata')).status).toBe(200)
    expect(logged).toEqual([])
  })],
  ['on', 'each request is logged with its times, without ids and queries', withVariable('FHIR_REQUEST_LOG')(async ({ put, get, logged }) => {
    await put('/Patient/p', sentinel)
    await get('/Patient?name=Sentinel')
    await get('/Nobody/secret')
    expect(logged).toEqual([
      expect.objectContaining({ interaction: 'update', type: 'Patient', status: 201, calls: { store: expect.any(Number) } }),
      expect.objectContaining({ interaction: 'search-type', type: 'Patient', status: 200, calls: { index: expect.any(Number) } }),
      expect.objectContaining({ interaction: 'read', status: 404, calls: {} }),
    ])
    for (const { duration, own, bytes } of logged) expect([own <= duration, bytes! > 0]).toEqual([true, true])
    expect(JSON.stringify(logged)).not.toMatch(/Sentinel|secret|"p"|Nobody/)
  })],
]

const metricsPort = await freePort()
const readMetrics = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${metricsPort}${path}`)

// biome-ignore format: a table
export const metricsTrials: readonly SettingTrial[] = [
  ['0', 'nothing listens', withVariable('FHIR_METRICS_PORT')(async () => {
    await expect(readMetrics('/metrics')).rejects.toThrow()
  })],
  [String(metricsPort), 'Prometheus reads the requests there', withVariable('FHIR_METRICS_PORT')(async ({ put, get }) => {
    await put('/Patient/p', sentinel)
    for (const path of ['/Patient/p', '/Patient/p', '/Patient/none']) await get(path)
    const response = await readMetrics('/metrics')
    const text = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
    for (const line of ['fhir_requests_total{interaction="read",status="200"} 2', 'fhir_requests_total{interaction="read",status="404"} 1',
      'fhir_request_duration_seconds_count{interaction="read"} 3', 'fhir_request_duration_seconds_bucket{interaction="read",le="+Inf"} 3'])
      expect(text.split('\n')).toContain(line)
    expect(text).toMatch(/^fhir_wait_seconds_total\{dependency="store"\} [\d.e-]+$/m)
    expect(text).toMatch(/^fhir_index_lag_seconds \d+$/m)
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m)
    expect((await readMetrics('/')).status).toBe(404)
  })],
]

/** A search that looks at each of 300 names a hundred times for each criterion. */
const searching = async ({ post }: SettingsServer, criteria: number) => {
  await post('/', putEntries(300, 'batch'))
  const anyOf = (n: number): string => [...Array.from({ length: 99 }, (_, i) => `no${n}x${i}`), 'p'].join()
  const query = Array.from({ length: criteria }, (_, n) => `name:contains=${anyOf(n)}`).join('&')
  return post('/Patient/_search', query, { 'content-type': 'application/x-www-form-urlencoded' })
}

// biome-ignore format: a table
export const budgetTrials: readonly SettingTrial[] = [
  ['1', 'a search of half a million looks is 503', withVariable('FHIR_SEARCH_BUDGET')(async (server) => {
    expect((await searching(server, 20)).status).toBe(503)
  })],
  ['3600000', 'a search of half a million looks is answered', withVariable('FHIR_SEARCH_BUDGET')(async (server) => {
    expect((await searching(server, 20)).body.total).toBe(300)
  })],
]

/** A registry as npm has, with one package. */
async function withRegistry(proof: (address: string) => Promise<void>): Promise<void> {
  const registry = createServer(async ({ url = '' }, response) => {
    const [, name, version] = url.split('/')
    if (name !== GUIDE_NAME) return void response.writeHead(404).end()
    if (version !== undefined) return void response.end(await packArchive(guideFilesOf(version)))
    response.end(JSON.stringify({ versions: { '1.0.0': { dist: { tarball: `${at}/${GUIDE_NAME}/1.0.0` } } } }))
  })
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(registry.address() as AddressInfo).port}`
  try {
    await proof(at)
  } finally {
    registry.closeAllConnections()
    registry.close()
  }
}

// biome-ignore format: a table
export const registryTrials: readonly SettingTrial[] = [
  ['http://127.0.0.1', 'a running server loads packages from there', async () =>
    withRegistry((address) => {
      const folder = newFolder()
      return withSettings({}, async ({ post }) => {
        const env = { ...process.env, FHIR_PACKAGE_REGISTRY: address }
        expect(await runFhirWithEnvironment(env, 'package', 'add', `${GUIDE_NAME}@1.0.0`, '--data', folder)).toMatchObject({ code: 0, err: '' })
        const basic = { resourceType: 'Basic', meta: { profile: [guideCanonicalOf('with-subject')] }, code: { text: 'x' } }
        expect(issuesOf(await post('/Basic/$validate', basic))).toContain('error required Basic')
      }, { folder })
    })],
]
