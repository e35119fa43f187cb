/** One audit record per request, whatever became of it: who, what, how it ended, and nothing of the content. */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { clientOf, itOfEmbedded, startServer } from './server.ts'

type Written = {
  readonly interaction: string
  readonly key?: string
  readonly keys?: readonly string[]
  readonly written?: number
  readonly type?: string
  readonly patients?: readonly string[]
  readonly status: number
  readonly requestId: string
}

it('every request writes one audit record, rejected requests included', async () => {
  const folder = newFolder()
  const { embedded, base } = await startServer({ FHIR_MAX_REQUESTS: '1' }, folder)
  const { put, get, post, send } = clientOf(() => base)
  const id = (name: string) => ({ 'x-request-id': name })
  await put('/Patient/a', { resourceType: 'Patient', id: 'a', name: [{ family: 'Secret' }] }, id('put'))
  await get('/Patient/a', id('read'))
  await get('/Patient/b', id('missing'))
  await get('/Patient?family=Secret', id('search'))
  const observed = { resourceType: 'Observation', id: 'o', status: 'final', code: { text: 'Secret' }, subject: { reference: 'Patient/a' } }
  await post('/Observation', observed, id('create'))
  await put('/Observation?_id=o&code:text=Secret', observed, id('conditional'))
  await get('/Observation/o', id('shown'))
  await get('/Patient/a/Observation?code:text=Secret', id('compartment'))
  await get('/Observation?patient=a,b&subject=Patient/c&code:text=Secret', id('patients'))
  await get(`/Observation?${'x=1&'.repeat(300)}subject=g&patient=Patient/h/_history/1&subject._id=i`, id('patients-hidden'))
  await post('/Observation/_search', 'subject:Patient=a', { ...id('posted'), 'content-type': 'application/x-www-form-urlencoded' })
  await post('/Patient', '{', id('broken'))
  const entries = ['d', 'e'].map((n) => ({ request: { method: 'PUT', url: `Patient/${n}` }, resource: { resourceType: 'Patient', id: n } }))
  await post('/', { resourceType: 'Bundle', type: 'transaction', entry: entries }, id('transaction'))
  const unwritten = { request: { method: 'DELETE', url: 'Patient/none' } }
  await post('/', { resourceType: 'Bundle', type: 'batch', entry: [entries[0], unwritten] }, id('batch'))
  const read = (url: string) => ({ request: { method: 'GET', url } })
  const reads = ['Observation/o', 'Patient/b', 'Patient/c/Observation?code:text=Secret', 'Observation?patient=e,f', 'Patient?family=Secret']
  await post('/', { resourceType: 'Bundle', type: 'batch', entry: reads.map(read) }, id('reads'))
  await post('/', { resourceType: 'Bundle', type: 'transaction', entry: reads.slice(2).map(read) }, id('reads-together'))
  const many = Array.from({ length: 1_100 }, (_, i) => read(`Patient/m${i}`))
  await post('/', { resourceType: 'Bundle', type: 'batch', entry: many }, id('many-reads'))
  await get('/Patient/Secret Name HIV', id('no-id'))
  await get('/SecretName/1', id('no-type'))
  await get('/Nothing/1/2/3/4', id('no-route'))
  await send('OPTIONS', '/Patient', undefined, id('options'))
  await fetch(base.replace('/fhir', '/other'), { headers: id('other-base') })
  const slow = request(`${base}/Patient`, { method: 'POST', headers: { ...id('slow'), 'content-length': 2 } })
  const answered = new Promise((resolve) => slow.on('response', (response) => resolve(response.resume().statusCode)))
  const seen = once(embedded.server, 'request')
  slow.write('{')
  await seen
  expect((await get('/Patient', id('beside-slow'))).status).toBe(200)
  slow.end('}')
  expect(await answered).toBe(400)
  const searches = Array.from({ length: 1_000 }, () => ({ request: { method: 'GET', url: 'Patient' } }))
  const begun = once(embedded.server, 'request')
  const long = post('/', { resourceType: 'Bundle', type: 'batch', entry: searches }, id('long'))
  const [incoming] = (await begun) as [IncomingMessage]
  if (!incoming.readableEnded) await once(incoming, 'end')
  const { status, headers } = await get('/Patient', id('busy'))
  expect([status, headers.get('retry-after'), (await long).status]).toEqual([503, '1', 200])
  await embedded.close()
  const text = readdirSync(join(folder, 'audit'))
    .map((name) => readFileSync(join(folder, 'audit', name), 'utf8'))
    .join('')
  const records = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Written)
  const told = Object.fromEntries(records.map(({ requestId, interaction, key, status }) => [requestId, [interaction, key, status]]))
  const bundles = Object.fromEntries(records.map(({ requestId, keys, written }) => [requestId, [keys, written]]))
  expect(bundles).toMatchObject({ transaction: [['Patient/d', 'Patient/e'], 2], batch: [['Patient/d'], 1], put: [undefined, undefined] })
  expect(records).toHaveLength(26)
  const about = Object.fromEntries(records.map(({ requestId, type, key, patients }) => [requestId, [type, key, patients]]))
  expect(about).toMatchObject({
    search: ['Patient', undefined, undefined],
    broken: ['Patient', undefined, undefined],
    create: [undefined, 'Observation/o', ['Patient/a']],
    conditional: [undefined, 'Observation/o', ['Patient/a']],
    shown: [undefined, 'Observation/o', ['Patient/a']],
    compartment: ['Observation', undefined, ['Patient/a']],
    patients: ['Observation', undefined, ['Patient/a', 'Patient/b', 'Patient/c']],
    'patients-hidden': ['Observation', undefined, ['Patient/g', 'Patient/h', 'Patient/i']],
    posted: ['Observation', undefined, ['Patient/a']],
    transaction: [undefined, undefined, ['Patient/d', 'Patient/e']],
    'no-id': [undefined, undefined, undefined],
    'no-type': [undefined, undefined, undefined],
  })
  const patientsOf = (name: string) => about[name]![2]
  expect(patientsOf('reads')).toEqual(expect.arrayContaining(['Patient/a', 'Patient/b', 'Patient/c', 'Patient/e', 'Patient/f']))
  expect(patientsOf('reads-together')).toEqual(['Patient/c', 'Patient/e', 'Patient/f'])
  expect(JSON.stringify(patientsOf('many-reads'))).toMatch(/^\["Patient\/m0",.{900,990}\]$/)
  expect(told).toMatchObject({
    put: ['update', 'Patient/a', 201],
    read: ['read', 'Patient/a', 200],
    missing: ['read', 'Patient/b', 404],
    search: ['search-type', undefined, 200],
    broken: ['create', undefined, 400],
    'no-id': ['read', undefined, 400],
    'no-type': ['read', undefined, 404],
    'no-route': ['fallback', undefined, 404],
    options: ['fallback', undefined, 204],
    'other-base': ['fallback', undefined, 404],
    'beside-slow': ['search-type', undefined, 200],
    slow: ['create', undefined, 400],
    long: ['bundle', undefined, 200],
    busy: ['fallback', undefined, 503],
  })
  expect(text).not.toContain('Secret')
})

itOfEmbedded('its disk is not this one')('a strict record is stored before the response, or the request is rejected with 503', async () => {
  const folder = newFolder()
  const told: unknown[] = []
  const { embedded, base } = await startServer({ FHIR_AUDIT_DURABILITY: 'strict' }, folder, (error) => told.push(error))
  const { put } = clientOf(() => base)
  // One that has written nothing: it waits for no index, and asks once.
  const { get } = clientOf(() => base)
  const patient = (id: string) => put(`/Patient/${id}`, { resourceType: 'Patient', id })
  const written = () =>
    readdirSync(join(folder, 'audit')).flatMap(
      (name) => readFileSync(join(folder, 'audit', name), 'utf8').match(/(?<="key":")Patient\/\w+/g) ?? [],
    )
  expect([(await patient('a')).status, written()]).toEqual([201, ['Patient/a']])
  const probe = await open('/dev/null', 'w')
  const handles = Object.getPrototypeOf(probe) as FileHandle
  const { write } = handles
  await probe.close()
  handles.write = async () => {
    throw Object.assign(new Error('EIO'), { code: 'EIO' })
  }
  try {
    // There was room for one: only its record says that there is none any more.
    expect([(await patient('b')).status, (await patient('c')).status, (await get('/Patient/a')).status]).toEqual([503, 503, 503])
    expect((await get('/metadata')).body.issue[0]).toMatchObject({ code: 'throttled', details: { text: expect.stringContaining('Audit') } })
  } finally {
    handles.write = write
  }
  expect([(await get('/Patient/c')).status, (await patient('d')).status, told.length]).toEqual([404, 201, 1])
  expect(written()).toEqual(['Patient/a', 'Patient/b', 'Patient/c', 'Patient/d'])
  await embedded.close()
})
