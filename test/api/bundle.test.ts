/** FHIR batch and transaction. https://hl7.org/fhir/R4/http.html#transaction @cloud */
import { describe, expect, it } from '@jest/globals'
import { observation, patient } from '../fixtures/resources.ts'
import { isExternalServer, issuesOf, newId, type TestResponse, type Tree, withServer } from './server.ts'

const { get, put, post } = withServer()

const bundle = (type: string, ...entry: Tree[]): Tree => ({ resourceType: 'Bundle', type, entry })
const putEntry = (resource: Tree, more = {}): Tree => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  ...more,
})
const statuses = (answer: { body: Tree }): string[] => answer.body.entry.map(({ response }: Tree) => response.status)

describe('transaction', () => {
  it('performs all kinds of entries and responds in the order of the request', async () => {
    const [a, b, c, d] = [newId(), newId(), newId(), newId()]
    for (const id of [a, b, c]) await put(`/Patient/${id}`, patient(id))
    const answer = await post(
      '/',
      bundle(
        'transaction',
        { request: { method: 'GET', url: `Patient/${b}` } },
        putEntry(patient(b, { active: true })),
        { resource: patient(d), request: { method: 'POST', url: 'Patient' } },
        { request: { method: 'DELETE', url: `Patient/${a}` } },
        {
          resource: {
            resourceType: 'Parameters',
            parameter: [
              {
                name: 'operation',
                part: [
                  { name: 'type', valueCode: 'add' },
                  { name: 'path', valueString: 'Patient' },
                  { name: 'name', valueString: 'active' },
                  { name: 'value', valueBoolean: true },
                ],
              },
            ],
          },
          request: { method: 'PATCH', url: `Patient/${c}` },
        },
      ),
    )
    expect([answer.status, answer.body.type]).toEqual([200, 'transaction-response'])
    expect(statuses(answer)).toEqual(['200 OK', '200 OK', '201 Created', '204 No Content', '200 OK'])
    expect(answer.body.entry[0].resource.active).toBe(true)
    expect(answer.body.entry[2].response).toEqual({
      status: '201 Created',
      location: expect.stringMatching(new RegExp(`Patient/${d}/_history/1$`)),
      etag: 'W/"1"',
      lastModified: expect.stringMatching(/Z$/),
    })
    expect((await get(`/Patient/${c}`)).body.active).toBe(true)
    expect((await get(`/Patient/${a}`)).status).toBe(404)
  })
  it('is all or nothing, and names the entry', async () => {
    const [a, b] = [newId(), newId()]
    await put(`/Patient/${a}`, patient(a))
    const answer = await post(
      '/',
      bundle('transaction', putEntry(patient(b)), { resource: patient(a), request: { method: 'POST', url: 'Patient' } }),
    )
    expect([answer.status, issuesOf(answer)]).toEqual([409, ['error conflict Bundle.entry[1]']])
    expect((await get(`/Patient/${b}`)).status).toBe(404)
    const invalid = await post('/', bundle('transaction', putEntry(patient(b)), putEntry(patient(newId(), { gender: 'x', nope: 1 }))))
    expect([invalid.status, [...issuesOf(invalid)].sort()]).toEqual([
      400,
      ['error code-invalid Bundle.entry[1].resource.gender', 'error structure Bundle.entry[1].resource.nope'],
    ])
    expect((await get(`/Patient/${b}`)).status).toBe(404)
  })
  it('names the path of an issue through an entry that stores a Bundle', async () => {
    const stored = {
      resourceType: 'Bundle',
      id: newId(),
      type: 'collection',
      entry: [{ resource: patient('p') }, { resource: patient('p', { nope: 1 }) }],
    }
    for (const type of ['transaction', 'batch']) {
      const { body } = await post('/', bundle(type, putEntry(stored)))
      const [issue] = (type === 'batch' ? body.entry[0].response.outcome : body).issue
      expect([type, issue.expression]).toEqual([type, ['Bundle.entry[0].resource.entry[1].resource.nope']])
    }
  })
  it('resolves fullUrls in all references, and takes ids from them', async () => {
    const id = crypto.randomUUID()
    const o = newId()
    const answer = await post(
      '/',
      bundle(
        'transaction',
        { resource: observation(o, { subject: `urn:uuid:${id}` }), request: { method: 'POST', url: 'Observation' } },
        {
          fullUrl: `urn:uuid:${id}`,
          resource: { resourceType: 'Patient', active: true, link: [{ other: { reference: `urn:uuid:${id}` }, type: 'seealso' }] },
          request: { method: 'POST', url: 'Patient' },
        },
      ),
    )
    expect(statuses(answer)).toEqual(['201 Created', '201 Created'])
    expect((await get(`/Observation/${o}`)).body.subject.reference).toBe(`Patient/${id}`)
    expect((await get(`/Patient/${id}`)).body.link[0].other.reference).toBe(`Patient/${id}`)
  })
  it('resolves fullUrls in narratives, and versioned ones to the new version', async () => {
    const [p, o, kept] = [newId(), newId(), newId()]
    await put(`/Patient/${p}`, patient(p))
    const fullUrl = `urn:uuid:${crypto.randomUUID()}`
    const div = (to: string) =>
      `<div xmlns="http://www.w3.org/1999/xhtml"><a title="x" href="${to}">${fullUrl}</a> <img alt='y' src='${to}'/> <a href="http://a.example/${fullUrl}">z</a></div>`
    const text = { status: 'generated', div: div(fullUrl) }
    const answer = await post(
      '/',
      bundle(
        'transaction',
        { ...putEntry(patient(p, { active: true })), fullUrl },
        putEntry(observation(o, { subject: `${fullUrl}/_history/1`, text }), { fullUrl: `http://a.example/fhir/Observation/1` }),
        putEntry(observation(kept, { hasMember: [{ reference: `Observation/1/_history/9` }] }), {
          fullUrl: 'http://a.example/fhir/Observation/2',
        }),
      ),
    )
    expect(statuses(answer)).toEqual(['200 OK', '201 Created', '201 Created'])
    const stored = (await get(`/Observation/${o}`)).body
    expect(stored.subject.reference).toBe(`Patient/${p}/_history/2`)
    expect(stored.text.div).toBe(div(`Patient/${p}`).replace(/src='([^']*)'/, 'src="$1"'))
    expect((await get(`/Observation/${kept}`)).body.hasMember[0].reference).toBe(`Observation/${o}/_history/1`)
  })
  it('leaves a reference to another version than that of the entry', async () => {
    const [p, o] = [newId(), newId()]
    const fullUrl = `urn:uuid:${crypto.randomUUID()}`
    const said = putEntry(patient(p, { meta: { versionId: '7' } }), { fullUrl })
    const referring = putEntry(observation(o, { focus: ['7', '6'].map((version) => ({ reference: `${fullUrl}/_history/${version}` })) }))
    expect((await post('/', bundle('transaction', said, referring))).status).toBe(200)
    const { focus } = (await get(`/Observation/${o}`)).body
    expect(focus.map(({ reference }: Tree) => reference)).toEqual([`Patient/${p}/_history/1`, `${fullUrl}/_history/6`])
  })
  it('resolves conditional references and conditional creates', async () => {
    const [p, o, value] = [newId(), newId(), newId()]
    await put(`/Patient/${p}`, patient(p, { identifier: [{ system: 'urn:test', value }] }))
    const fullUrl = `urn:uuid:${crypto.randomUUID()}`
    const answer = await post(
      '/',
      bundle(
        'transaction',
        { resource: observation(o, { subject: `Patient?identifier=urn:test|${value}` }), request: { method: 'POST', url: 'Observation' } },
        { fullUrl, resource: patient(newId()), request: { method: 'POST', url: 'Patient', ifNoneExist: `identifier=urn:test|${value}` } },
        { resource: observation(newId(), { subject: fullUrl }), request: { method: 'POST', url: 'Observation' } },
      ),
    )
    expect(statuses(answer)).toEqual(['201 Created', '200 OK', '201 Created'])
    expect((await get(`/Observation/${o}`)).body.subject.reference).toBe(`Patient/${p}`)
    const dangling = await post(
      '/',
      bundle('transaction', {
        resource: observation(newId(), { subject: 'Patient?identifier=urn:test|nobody' }),
        request: { method: 'POST', url: 'Observation' },
      }),
    )
    expect([dangling.status, issuesOf(dangling)]).toEqual([412, ['error not-found Bundle.entry[0].resource.subject.reference']])
  })
  it('rejects a duplicate fullUrl, and one that refers to a wrong type', async () => {
    const fullUrl = `urn:uuid:${crypto.randomUUID()}`
    const of = (organization: string) => putEntry(patient(newId(), { managingOrganization: { reference: organization } }))
    const twice = await post('/', bundle('transaction', putEntry(patient(newId()), { fullUrl }), putEntry(patient(newId()), { fullUrl })))
    expect([twice.status, issuesOf(twice)]).toEqual([400, ['error duplicate Bundle.entry[1].fullUrl']])
    const wrong = await post('/', bundle('transaction', of(fullUrl), putEntry(patient(newId()), { fullUrl })))
    expect([wrong.status, issuesOf(wrong)]).toEqual([400, ['error value Bundle.entry[0].resource.managingOrganization']])
  })
  it('resolves relative references against the fullUrl of the same server', async () => {
    const [p, o, other] = [newId(), newId(), newId()]
    const organization = {
      fullUrl: 'http://a.example/fhir/Organization/77',
      resource: { resourceType: 'Organization', id: o, name: 'x' },
      request: { method: 'POST', url: 'Organization' },
    }
    const of = (id: string, fullUrl: string) =>
      putEntry(patient(id, { managingOrganization: { reference: 'Organization/77' } }), { fullUrl })
    const from = bundle('transaction', organization, of(p, 'http://a.example/fhir/Patient/1'), of(other, 'http://b.example/fhir/Patient/1'))
    expect((await post('/', from)).status).toBe(200)
    expect((await get(`/Patient/${p}`)).body.managingOrganization.reference).toBe(`Organization/${o}`)
    expect((await get(`/Patient/${other}`)).body.managingOrganization.reference).toBe('Organization/77')
  })
  it('checks ifMatch', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    const wrong = await post(
      '/',
      bundle('transaction', { resource: patient(id), request: { method: 'PUT', url: `Patient/${id}`, ifMatch: 'W/"7"' } }),
    )
    expect([wrong.status, issuesOf(wrong)]).toEqual([412, ['error conflict Bundle.entry[0]']])
    expect(
      statuses(
        await post(
          '/',
          bundle('transaction', { resource: patient(id), request: { method: 'PUT', url: `Patient/${id}`, ifMatch: 'W/"1"' } }),
        ),
      ),
    ).toEqual(['200 OK'])
  })
  it('rejects two entries for one resource', async () => {
    const id = newId()
    const answer = await post('/', bundle('transaction', putEntry(patient(id)), { request: { method: 'DELETE', url: `Patient/${id}` } }))
    expect([answer.status, issuesOf(answer)[0]]).toEqual([400, expect.stringMatching(/^error duplicate Bundle.entry\[\d]$/)])
  })
  it('rejects two conditional creates with the same criteria', async () => {
    const conditional = () => ({
      resource: patient(newId()),
      request: { method: 'POST', url: 'Patient', ifNoneExist: 'identifier=urn:test|same' },
    })
    const answer = await post('/', bundle('transaction', conditional(), conditional()))
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['error duplicate Bundle.entry[1]']])
    const ordered = (...criteria: readonly string[]) => ({
      resource: patient(newId()),
      request: { method: 'POST', url: 'Patient', ifNoneExist: criteria.join('&') },
    })
    const reordered = await post(
      '/',
      bundle('transaction', ordered('identifier=urn:test|o', 'active=true'), ordered('active=true', 'identifier=urn:test|o')),
    )
    expect([reordered.status, issuesOf(reordered)]).toEqual([400, ['error duplicate Bundle.entry[1]']])
  })
  // Elsewhere more than DynamoDB takes at once is what matters, and 29 seconds are few where an emulator takes 25 ms a call.
  const many = isExternalServer ? 300 : 1_000
  it(`commits ${many} entries at once, and rejects more than 5,000`, async () => {
    const ids = Array.from({ length: many }, newId)
    const answer = await post('/', bundle('transaction', ...ids.map((id) => putEntry(patient(id)))))
    expect(new Set(statuses(answer))).toEqual(new Set(['201 Created']))
    const stamps = new Set<string>()
    for (const id of [ids[0], ids[many / 2], ids.at(-1)]) stamps.add((await get(`/Patient/${id}`)).body.meta.versionId)
    expect(stamps).toEqual(new Set(['1']))
    expect(
      (await post('/', bundle('transaction', ...Array.from({ length: 5001 }, () => ({ request: { method: 'GET', url: 'Patient/x' } })))))
        .status,
    ).toBe(413)
  })
  it('isolates concurrent transactions on the same resources', async () => {
    const ids = Array.from({ length: 20 }, newId)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        post('/', bundle('transaction', ...ids.map((id) => putEntry(patient(id, { multipleBirthInteger: i }))))),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    const order = await Promise.all(
      ids.map(async (id) =>
        (await get(`/Patient/${id}/_history`)).body.entry.map(({ resource }: Tree) => resource.multipleBirthInteger).join(),
      ),
    )
    expect(new Set(order).size).toBe(1)
  })
})

describe('a read in a transaction', () => {
  it('fails the whole transaction, before anything is written', async () => {
    const [a, b] = [newId(), newId()]
    const answer = await post('/', bundle('transaction', putEntry(patient(a)), { request: { method: 'GET', url: `Patient/${b}` } }))
    expect([answer.status, answer.body.issue[0].expression]).toEqual([404, ['Bundle.entry[1]']])
    expect((await get(`/Patient/${a}`)).status).toBe(404)
  })
  it('sees the writes of the transaction', async () => {
    const a = newId()
    const read = { request: { method: 'GET', url: `Patient/${a}` } }
    expect(statuses(await post('/', bundle('transaction', read, putEntry(patient(a)))))).toEqual(['200 OK', '201 Created'])
    const gone = await post('/', bundle('transaction', read, { request: { method: 'DELETE', url: `Patient/${a}` } }))
    expect(statuses(gone)).toEqual(['404 Not Found', '204 No Content'])
    const [b, value] = [newId(), newId()]
    await put(`/Patient/${b}`, patient(b, { identifier: [{ system: 'urn:test', value }] }))
    const bySearch = {
      resource: { resourceType: 'Patient', identifier: [{ system: 'urn:test', value }] },
      request: { method: 'PUT', url: `Patient?identifier=urn:test|${value}` },
    }
    const version = { request: { method: 'GET', url: `Patient/${b}/_history/2` } }
    expect(statuses(await post('/', bundle('transaction', version, bySearch)))).toEqual(['200 OK', '200 OK'])
  })
})

describe('batch', () => {
  it('processes every entry independently', async () => {
    const id = newId()
    const answer = await post(
      '/',
      bundle(
        'batch',
        putEntry(patient(id)),
        { request: { method: 'GET', url: `Patient/${newId()}` } },
        putEntry(patient(newId(), { nope: 1 })),
        { request: { method: 'GET', url: `Patient?_id=${id}` } },
        { request: { method: 'GET', url: 'nowhere/at/all/x/y' } },
      ),
    )
    expect([answer.status, answer.body.type]).toEqual([200, 'batch-response'])
    expect(statuses(answer)).toEqual(['201 Created', '404 Not Found', '400 Bad Request', '200 OK', '404 Not Found'])
    expect(answer.body.entry[2].response.outcome.issue[0].expression).toEqual(['Bundle.entry[2].resource.nope'])
    // Entries of a batch do not depend on each other: whether a search sees what another entry writes is the index's affair.
    if (!isExternalServer) expect(answer.body.entry[3].resource.total).toBe(1)
  })
})

describe('a search by POST', () => {
  const search = (url: string, more: object = {}): Tree => ({ request: { method: 'POST', url }, ...more })

  it('is allowed in batches and in transactions, where it sees the writes', async () => {
    const [family, id] = [newId(), newId()]
    const resource = patient(newId(), { name: [{ family }] })
    await put(`/Patient/${resource.id}`, resource)
    const found = ({ body }: TestResponse) =>
      body.entry.flatMap(({ resource }: Tree) => (resource?.entry ?? []).map((each: Tree) => each.resource.id))
    expect(found(await post('/', bundle('batch', search(`Patient/_search?family=${family}`))))).toEqual([resource.id])
    expect(found(await post('/', bundle('batch', search(`_search?_id=${resource.id}&_type=Patient`))))).toEqual([resource.id])
    const after = await post('/', bundle('transaction', search(`Patient/_search?_id=${id}`), putEntry(patient(id))))
    expect(statuses(after)).toEqual(['200 OK', '201 Created'])
    if (!isExternalServer) expect(found(after)).toEqual([id])
  })

  it('takes its parameters from request.url, and rejects a body', async () => {
    const resource = { resourceType: 'Parameters', parameter: [{ name: 'family', valueString: 'x' }] }
    const answer = await post('/', bundle('batch', search('Patient/_search', { resource })))
    expect(statuses(answer)).toEqual(['400 Bad Request'])
    expect(answer.body.entry[0].response.outcome.issue[0].details.text).toContain('request.url')
  })
})

it('lastModified of an entry equals lastUpdated, to the millisecond', async () => {
  const [id, other] = [newId(), newId()]
  await put(`/Patient/${id}`, patient(id))
  const { body } = await post('/', bundle('batch', putEntry(patient(other)), { request: { method: 'GET', url: `Patient/${id}` } }))
  for (const [i, each] of [other, id].entries())
    expect(body.entry[i].response.lastModified).toBe((await get(`/Patient/${each}`)).body.meta.lastUpdated)
})

describe('an invalid Bundle', () => {
  it.each([
    [{ resourceType: 'Patient', id: 'x', active: true }, 'resourceType'],
    [{ resourceType: 'Bundle', type: 'searchset' }, 'Bundle.type'],
    [{ resourceType: 'Bundle', type: 'transaction', entry: {} }, 'Bundle.entry'],
    [{ resourceType: 'Bundle', type: 'transaction', entry: [1] }, 'Bundle.entry[0]'],
    [{ resourceType: 'Bundle', type: 'transaction', entry: [{}] }, 'Bundle.entry[0].request'],
    [{ resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'BREW', url: 'x' } }] }, 'Bundle.entry[0].request.method'],
    [{ resourceType: 'Bundle', type: 'batch', entry: [{ request: { method: 'GET' } }] }, 'Bundle.entry[0].request.url'],
    [
      { resourceType: 'Bundle', type: 'batch', entry: [{ resource: 3, request: { method: 'PUT', url: 'Patient/1' } }] },
      'Bundle.entry[0].resource',
    ],
  ])('is rejected with 400 and the location: %j', async (body, place) => {
    const answer = await post('/', body)
    expect([answer.status, answer.body.issue[0].expression]).toEqual([400, [place]])
  })

  it('is rejected at the root if of another type, with a hint to POST [base]/Bundle', async () => {
    const collection = { resourceType: 'Bundle', id: newId(), type: 'collection' }
    const { body } = await post('/', collection)
    expect(body.issue[0].details.text).toContain('POST [base]/Bundle')
    expect((await post('/Bundle', collection)).status).toBe(201)
  })
})

it('a transaction without id at /Bundle is 400 with a hint to POST it to the base URL', async () => {
  const { status, body } = await post('/Bundle', { resourceType: 'Bundle', type: 'transaction' })
  expect([status, body.issue[0].details.text]).toEqual([
    400,
    expect.stringMatching(/To process the entries of a transaction, POST it to the base URL$/),
  ])
})

it('an export entry is rejected in a batch and in a transaction', async () => {
  const asking = [
    ['GET', '$export'],
    ['POST', 'Patient/$export'],
    ['GET', 'Group/1/$export'],
    ['GET', 'export/1'],
    ['DELETE', 'export/1'],
  ] as const
  const entries = asking.map(([method, url]) => ({
    request: { method, url },
    ...(method === 'POST' ? { resource: { resourceType: 'Parameters' } } : {}),
  }))
  const batch = await post('/', bundle('batch', ...entries), { prefer: 'respond-async' })
  expect(statuses(batch)).toEqual(asking.map(() => expect.stringMatching(/^400/)))
  for (const { response } of batch.body.entry) expect(response.outcome.issue[0].details.text).toContain('cannot be an entry of a Bundle')
  for (const entry of entries) expect((await post('/', bundle('transaction', entry))).status).toBe(400)
})
