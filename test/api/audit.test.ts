/** One audit record per request, whatever became of it: who, what, how it ended, and nothing of the content. */
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { clientOf, itOnEmbedded, startServer } from './server.ts'

type Written = {
  readonly interaction: string
  readonly key?: string
  readonly keys?: readonly string[]
  readonly written?: number
  readonly type?: string
  readonly patients?: readonly string[]
  readonly parameters?: readonly string[]
  readonly queries?: readonly string[]
  readonly reads?: readonly string[]
  readonly part?: number
  readonly parts?: number
  readonly status: number
  readonly requestId: string
}

/** Returns what the server with this data folder has written to its audit: the text of all files, and the records in it. */
function auditOf(folder: string) {
  const audit = join(folder, 'audit')
  const text = readdirSync(audit)
    .map((name) => readFileSync(join(audit, name), 'utf8'))
    .join('')
  const lines = text.trim().split('\n')
  return { text, records: lines.map((line) => JSON.parse(line) as Written) }
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
  const { text, records } = auditOf(folder)
  const told = Object.fromEntries(records.map(({ requestId, interaction, key, status }) => [requestId, [interaction, key, status]]))
  const bundles = Object.fromEntries(records.map(({ requestId, keys, written }) => [requestId, [keys, written]]))
  expect(bundles).toMatchObject({ transaction: [['Patient/d', 'Patient/e'], 2], batch: [['Patient/d'], 1], put: [undefined, undefined] })
  expect(records).toHaveLength(26)
  const about = Object.fromEntries(records.map(({ requestId, type, key, patients }) => [requestId, [type, key, patients]]))
  expect(about).toMatchObject({
    search: ['Patient', undefined, ['Patient/a']],
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
  expect(patientsOf('reads-together')).toEqual(['Patient/c', 'Patient/e', 'Patient/f', 'Patient/a'])
  expect(patientsOf('many-reads')).toEqual(many.map(({ request }) => request.url))
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

itOnEmbedded('its disk is not this one')('a strict record is stored before the response, or the request is rejected with 503', async () => {
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

itOnEmbedded('its records are not here')('records name all patients that a response shows, and no parameter values', async () => {
  const folder = newFolder()
  const { embedded, base } = await startServer({}, folder)
  const client = clientOf(() => base)
  const { put, get, post } = client
  const id = (name: string) => ({ 'x-request-id': name })
  const observed = (n: string, patient: string) => ({
    ...{ resourceType: 'Observation', id: n, status: 'final', code: { coding: [{ code: 'Secret' }] } },
    subject: { reference: `Patient/${patient}` },
  })
  const names = Array.from({ length: 1_500 }, (_, i) => (i < 10 ? `p${i}` : `patient-with-a-long-id-${i}`))
  const entryOf = (resource: { readonly resourceType: string; readonly id: string }) => ({
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
    resource,
  })
  const patients = names.map((n) => entryOf({ resourceType: 'Patient', id: n, name: [{ family: n === 'p0' ? 'Secret' : n }] } as never))
  await post('/', { resourceType: 'Bundle', type: 'transaction', entry: patients }, id('written'))
  for (const n of ['p1', 'p2', 'p3']) await put(`/Observation/o-${n}`, observed(`o-${n}`, n))
  const document = {
    ...{ resourceType: 'DocumentReference', id: 'd', status: 'current', subject: { reference: 'Patient/p4' } },
    content: [{ attachment: { title: 'Secret' } }],
  }
  await put('/DocumentReference/d', document)
  await put('/Observation/o-p1', observed('o-p1', 'p5'))

  await get('/Patient?family=Secret', id('search'))
  await get('/Observation?code=Secret&_sort=_id', id('found'))
  await get('/Observation?_id=o-p2&_include=Observation:subject&_elements=id', id('include'))
  await get('/Patient?_id=p3&_revinclude=Observation:subject', id('revinclude'))
  await get('/Observation?_group=status:code&_groupCount=3', id('group'))
  await get('/Observation/o-p1/_history', id('history'))
  await get('/Observation/_history?_count=1', id('history-type'))
  await get('/Observation/o-p2/$meta', id('meta'))
  await get('/Observation/o-p2/$validate', id('validate'))
  await get('/Patient/p2/$everything', id('everything'))
  await get('/DocumentReference/$docref?patient=p4', id('docref'))
  const parameter = (value: object) => ({ resourceType: 'Parameters', parameter: [{ name: 'patient', ...value }] })
  await post('/DocumentReference/$docref', parameter({ valueId: 'unknown' }), id('docref-posted'))
  await get('/Observation?code=Secret&_summary=count', id('count'))
  await post('/Observation', observed('o', 'p9'), { ...id('exists'), 'if-none-exist': '_id=o-p3' })
  await post('/Observation', observed('o2', 'p9'), { ...id('none-exists'), 'if-none-exist': 'identifier=Secret&patient=unknown' })
  const read = (url: string) => ({ request: { method: 'GET', url } })
  const searches = ['Patient?family=Secret', 'Observation/o-p2', 'Organization/none'].map(read)
  await post('/', { resourceType: 'Bundle', type: 'batch', entry: searches }, id('batch'))
  await post('/', { resourceType: 'Bundle', type: 'transaction', entry: [searches[0]] }, id('transaction'))
  const many = names.map((n) => read(`Patient/${n}`))
  await post('/', { resourceType: 'Bundle', type: 'batch', entry: many }, id('many'))
  await get('/Patient?_count=1000&Secret', id('page'))
  const reference = (text: string) => ({ reference: text })
  await put('/Device/v', { resourceType: 'Device', id: 'v', patient: reference('Patient/p6') }, id('device-written'))
  await get('/Device/v', id('device'))
  await get('/Device?_id=v', id('device-found'))
  await client.delete('/Device/v', id('device-deleted'))
  await put('/Device/v', { resourceType: 'Device', id: 'v', patient: reference('Patient/p6') })
  const deletion = { request: { method: 'DELETE', url: 'Device/v' } }
  await post('/', { resourceType: 'Bundle', type: 'transaction', entry: [deletion] }, id('device-deleted-by-transaction'))
  for (const [n, context] of Object.entries({ b1: 'Patient/p7', b2: 'DocumentReference/d' }))
    await put(`/Binary/${n}`, {
      resourceType: 'Binary',
      id: n,
      contentType: 'text/plain',
      data: 'U2VjcmV0',
      securityContext: reference(context),
    })
  await get('/Binary/b1', id('binary'))
  await get('/Binary/b2', { ...id('binary-of-document'), accept: 'text/plain' })
  await embedded.close()

  const { text, records } = auditOf(folder)
  const of = (name: string) => records.filter(({ requestId }) => requestId === name)
  const patientsOf = (name: string) =>
    of(name)
      .flatMap((record) => record.patients ?? [])
      .toSorted()
  const all = names.map((n) => `Patient/${n}`).toSorted()
  expect(patientsOf('search')).toEqual(['Patient/p0'])
  expect(patientsOf('found')).toEqual(['Patient/p2', 'Patient/p3', 'Patient/p5'])
  expect(patientsOf('include')).toEqual(['Patient/p2'])
  expect(patientsOf('revinclude')).toEqual(['Patient/p3'])
  expect(patientsOf('group')).toEqual(['Patient/p2', 'Patient/p3', 'Patient/p5'])
  expect(patientsOf('history')).toEqual(['Patient/p1', 'Patient/p5'])
  expect(patientsOf('history-type')).toEqual(['Patient/p5'])
  expect([patientsOf('meta'), patientsOf('validate'), patientsOf('everything')]).toEqual(Array(3).fill(['Patient/p2']))
  expect(patientsOf('docref')).toEqual(['Patient/p4'])
  expect(patientsOf('docref-posted')).toEqual(['Patient/unknown'])
  expect(patientsOf('none-exists')).toEqual(['Patient/p9', 'Patient/unknown'])
  expect(patientsOf('count')).toEqual([])
  expect(patientsOf('exists')).toEqual(['Patient/p3'])
  expect(patientsOf('batch')).toEqual(['Patient/p0', 'Patient/p2'])
  expect(patientsOf('transaction')).toEqual(['Patient/p0'])
  expect(patientsOf('written')).toEqual(all)
  expect(patientsOf('many')).toEqual(all)
  expect(patientsOf('page')).toHaveLength(1_000)
  for (const name of ['device-written', 'device', 'device-found', 'device-deleted', 'device-deleted-by-transaction'])
    expect([name, patientsOf(name)]).toEqual([name, ['Patient/p6']])
  expect([patientsOf('binary'), patientsOf('binary-of-document')]).toEqual([['Patient/p7'], ['Patient/p4']])
  const [first] = of('batch')
  expect(first).toMatchObject({ parameters: ['family'], reads: ['Observation/o-p2', 'Organization/none'] })
  expect(first!.queries).toEqual(of('search')[0]!.queries)
  expect(of('include')[0]!.parameters).toEqual(['_id', '_include', '_elements'])
  expect(of('exists')[0]).toMatchObject({ parameters: ['_id'], queries: [expect.any(String)] })
  expect(of('page')[0]!.parameters).toEqual(['_count', '?'])
  expect(of('many').map(({ part, parts }) => [part, parts])).toEqual([1, 2, 3].map((part) => [part, 3]))
  expect(text).not.toContain('Secret')
})
