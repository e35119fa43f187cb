/** Answers a deployment may choose otherwise. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { parseDateRange } from '../../lambdas/fhir/date-range.ts'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { issuesOf, type Tree, withServer } from './server.ts'

const transaction = (...entry: readonly object[]) => ({ resourceType: 'Bundle', type: 'transaction', entry })
const putEntry = (resource: { resourceType: string; id: string }) => ({
  resource,
  request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
})
const deleteEntry = (url: string) => ({ request: { method: 'DELETE', url } })

describe('timeZone', () => {
  const { put, get } = withServer({ FHIR_TIME_ZONE: 'Europe/Berlin' })

  it('applies to dates without an offset, in resources and searches, in winter and summer', async () => {
    const ids = async (query: string) => (await get(`/Observation?${query}`)).body.entry?.map(({ resource }: Tree) => resource.id) ?? []
    await put('/Observation/winter', observation('winter', { subject: 'Patient/1', date: '2023-01-15T23:30:00Z' }))
    await put('/Observation/summer', observation('summer', { subject: 'Patient/1', date: '2023-07-15T22:30:00Z' }))
    await put('/Observation/day', observation('day', { subject: 'Patient/1', date: '2023-10-29' }))
    expect(await ids('date=2023-01-16')).toEqual(['winter'])
    expect(await ids('date=2023-01-15')).toEqual([])
    expect(await ids('date=2023-07-16')).toEqual(['summer'])
    expect(await ids('date=2023-01-16T00:30')).toEqual(['winter'])
    expect(await ids('date=ge2023-10-29T22:59:58Z')).toEqual(['day'])
    expect(await ids('date=sa2023-10-28T21:59:59Z')).toEqual(['day'])
    expect(await ids('date=sa2023-10-28T22:00:01Z')).toEqual([])
  })

  it('determines the length of a day', () => {
    const hours = (text: string, zone?: string) => {
      const range = parseDateRange(text, zone)!
      return (range.high - range.low) / 3_600_000
    }
    expect(hours('2023-03-26', 'Europe/Berlin')).toBe(23)
    expect(hours('2023-10-29', 'Europe/Berlin')).toBe(25)
    expect(hours('2023-10-29')).toBe(24)
    expect(parseDateRange('2023-01-01', 'America/New_York')!.low).toBe(Date.parse('2023-01-01T05:00:00Z'))
    expect(parseDateRange('2023-01-01', 'Asia/Kathmandu')!.low).toBe(Date.parse('2022-12-31T18:15:00Z'))
    expect(parseDateRange('2023-01-01T00:00:00Z', 'Asia/Kathmandu')!.low).toBe(Date.parse('2023-01-01T00:00:00Z'))
  })
})

describe('a server', () => {
  const { put, get, post, patch } = withServer({
    FHIR_VERSIONING: 'off',
    FHIR_NO_OP_UPDATES: 'ignore',
    FHIR_CONDITIONAL_UPDATE_ID_MISMATCH: 'reject',
    FHIR_CLIENT_IDS: 'optional',
    FHIR_MAX_TRANSACTION_ENTRIES: '9',
  })
  const versionOf = async (id: string) => (await get(`/Patient/${id}`)).body.meta.versionId

  it('returns only the current version for versioning=off, and names the setting', async () => {
    const id = randomUUID()
    for (const active of [true, false]) await put(`/Patient/${id}`, patient(id, { active }))
    for (const path of [`/Patient/${id}/_history`, '/Patient/_history', '/_history']) {
      const shown = (await get(path)).body.entry.filter(({ resource }: Tree) => resource?.id === id)
      expect([path, shown.map(({ resource }: Tree) => resource.active)]).toEqual([path, [false]])
    }
    const hidden = await get(`/Patient/${id}/_history/1`)
    expect([hidden.status, hidden.body.issue[0].code, hidden.body.issue[0].details.text]).toEqual([
      404,
      'not-supported',
      expect.stringContaining('versioning'),
    ])
    expect((await get('/metadata')).body.rest[0].resource[0]).toMatchObject({ versioning: 'versioned-update', readHistory: false })
    expect((await put(`/Patient/${id}`, patient(id), { 'if-match': 'W/"1"' })).status).toBe(412)
    expect((await put(`/Patient/${id}`, patient(id), { 'if-match': 'W/"2"' })).status).toBe(200)
  })

  it('limits the entries of a Bundle (maxTransactionEntries=9)', async () => {
    for (const type of ['batch', 'transaction'])
      for (const [count, expected] of [
        [9, 200],
        [10, 413],
      ] as const) {
        const entry = Array.from({ length: count }, () => putEntry(patient(randomUUID())))
        expect([type, count, (await post('/', { resourceType: 'Bundle', type, entry })).status]).toEqual([type, count, expected])
      }
  })

  it('creates no version for an update without changes (noOpUpdates=ignore)', async () => {
    const id = randomUUID()
    const resource = { ...patient(id, { active: true, name: [{ family: 'A', given: ['B', 'C'] }] }), meta: { tag: [{ code: 't' }] } }
    await put(`/Patient/${id}`, resource)
    const reordered = Object.fromEntries(Object.entries({ ...resource, name: [{ given: ['B', 'C'], family: 'A' }] }).reverse())
    const same = [
      await put(`/Patient/${id}`, resource),
      await put(`/Patient/${id}`, reordered),
      await put(`/Patient?_id=${id}`, resource),
      await patch(`/Patient/${id}`, [{ op: 'replace', path: '/active', value: true }]),
      await patch(`/Patient/${id}`, [
        { op: 'remove', path: '/active' },
        { op: 'add', path: '/active', value: true },
      ]),
    ]
    expect(same.map(({ status, headers }) => [status, headers.get('etag')])).toEqual(Array(5).fill([200, 'W/"1"']))
    const inTransaction = await post('/', transaction(putEntry(resource)))
    expect([inTransaction.body.entry[0].response.etag, await versionOf(id)]).toEqual(['W/"1"', '1'])
    for (const [i, changed] of [
      { ...resource, name: [{ family: 'A', given: ['C', 'B'] }] },
      { ...resource, meta: { tag: [{ code: 'u' }] } },
      patient(id),
    ].entries())
      expect((await put(`/Patient/${id}`, changed)).headers.get('etag')).toBe(`W/"${i + 2}"`)
  })

  it('resolves versioned references within a transaction to unchanged versions (noOpUpdates=ignore)', async () => {
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()]
    const entries = (active: boolean) => [
      { ...putEntry(patient(a, { active })), fullUrl: 'urn:uuid:00000000-0000-4000-8000-00000000000a' },
      { ...putEntry(patient(b, { link: [{ other: { reference: 'urn:uuid:00000000-0000-4000-8000-00000000000a/_history/1' }, type: 'seealso' }] })), fullUrl: 'urn:uuid:00000000-0000-4000-8000-00000000000b' }, // biome-ignore format: an entry
      putEntry(
        patient(c, { link: [{ other: { reference: 'urn:uuid:00000000-0000-4000-8000-00000000000b/_history/1' }, type: 'seealso' }] }),
      ),
    ]
    const send = async (active: boolean) => {
      const { entry } = (await post('/', transaction(...entries(active)))).body
      const stored = await Promise.all([b, c].map(async (id) => (await get(`/Patient/${id}`)).body.link[0].other.reference))
      return [...entry.map(({ response }: Tree) => response.etag), ...stored]
    }
    const named = (ofA: number, ofB: number) => [`Patient/${a}/_history/${ofA}`, `Patient/${b}/_history/${ofB}`]
    expect(await send(true)).toEqual(['W/"1"', 'W/"1"', 'W/"1"', ...named(1, 1)])
    expect(await send(true)).toEqual(['W/"1"', 'W/"1"', 'W/"1"', ...named(1, 1)])
    expect(await send(false)).toEqual(['W/"2"', 'W/"2"', 'W/"2"', ...named(2, 2)])
    expect(await send(false)).toEqual(['W/"2"', 'W/"2"', 'W/"2"', ...named(2, 2)])
  })

  /** What each of the Patients that a transaction wrote names, and the version which that is at then. */
  async function sentTogether(links: readonly (readonly [id: string, to: string | undefined])[]) {
    const fullUrl = (id: string) => `urn:uuid:${id}`
    const entries = links.map(([id, to]) => ({
      ...putEntry(patient(id, to === undefined ? {} : { link: [{ other: { reference: `${fullUrl(to)}/_history/1` }, type: 'seealso' }] })),
      fullUrl: fullUrl(id),
    }))
    expect((await post('/', transaction(...entries))).status).toBe(200)
    const stored = await Promise.all(links.map(async ([id]) => (await get(`/Patient/${id}`)).body))
    const current = new Map(stored.map(({ id, meta }) => [id, `Patient/${id}/_history/${meta.versionId}`]))
    const linked = links.flatMap(([, to], i) => (to === undefined ? [] : [[stored[i].link[0].other.reference, current.get(to)]]))
    return { named: linked.map(([reference]) => reference), current: linked.map(([, name]) => name) }
  }

  it('resolves versioned references in long chains (noOpUpdates=ignore)', async () => {
    const ids = Array.from({ length: 9 }, () => randomUUID())
    for (let sent = 0; sent < 2; sent++) {
      const { named, current } = await sentTogether(ids.map((id, i) => [id, ids[i - 1]]))
      expect(named).toEqual(current)
    }
  })

  it('resolves versioned references where one change causes another (noOpUpdates=ignore)', async () => {
    const [own, other] = [randomUUID(), randomUUID()]
    const link = (version: number) => ({ link: [{ other: { reference: `Patient/${own}/_history/${version}` }, type: 'seealso' }] })
    for (const [id, version] of [[own, 2], [other, 1]] as const) await put(`/Patient/${id}`, patient(id, link(version))) // biome-ignore format: a table
    const { named, current } = await sentTogether([[own, own], [other, own]]) // biome-ignore format: a table
    expect(named).toEqual(current)
  })

  it('distinguishes 1.10 from 1.1 (noOpUpdates=ignore)', async () => {
    const id = randomUUID()
    const weighs = (value: string) =>
      `{"resourceType":"Observation","id":"${id}","status":"final","code":{"text":"x"},"valueQuantity":{"value":${value}}}`
    const answers = [
      await put(`/Observation/${id}`, weighs('1.1')),
      await put(`/Observation/${id}`, weighs('1.10')),
      await put(`/Observation/${id}`, weighs('1.10')),
    ]
    expect(answers.map(({ headers }) => headers.get('etag'))).toEqual(['W/"1"', 'W/"2"', 'W/"2"'])
  })

  it('rejects a conditional update with another id than the match (conditionalUpdateIdMismatch=reject)', async () => {
    const [id, value] = [randomUUID(), randomUUID()]
    const identified = (own?: string) => ({ resourceType: 'Patient', ...(own === undefined ? {} : { id: own }), identifier: [{ value }] })
    await put(`/Patient/${id}`, identified(id))
    const refused = await put(`/Patient?identifier=${value}`, { ...identified('another'), active: true })
    expect([refused.status, refused.body.issue[0].expression, await versionOf(id)]).toEqual([400, ['Patient.id'], '1'])
    const answers = [await put(`/Patient?identifier=${value}`, identified(id)), await put(`/Patient?identifier=${value}`, identified())]
    expect(answers.map(({ status, body }) => [status, body.id])).toEqual([
      [200, id],
      [200, id],
    ])
  })

  it('assigns a UUID if a client sends no id (clientIds=optional), in Bundles too', async () => {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    const one = await post('/Patient', { resourceType: 'Patient', active: true })
    expect([one.status, one.body.id]).toEqual([201, expect.stringMatching(uuid)])
    const entry = { resource: { resourceType: 'Patient', active: true }, request: { method: 'POST', url: 'Patient' } }
    const { body } = await post('/', transaction(entry, entry))
    const made = body.entry.map(({ response }: Tree) => response.location.split('/').at(-3))
    expect(made).toEqual([expect.stringMatching(uuid), expect.stringMatching(uuid)])
    expect((await get(`/Patient/${made[0]}`)).body.active).toBe(true)
    expect((await post('/Patient', patient(`${made[0]}-own`))).body.id).toBe(`${made[0]}-own`)
  })

  it.each(['transaction', 'batch'])('creates new resources if a %s is posted again (clientIds=optional)', async (type) => {
    const [p, o, own] = [randomUUID(), randomUUID(), randomUUID()]
    const add = (fullUrl: string, resource: Tree) => ({
      fullUrl: `urn:uuid:${fullUrl}`,
      resource,
      request: { method: 'POST', url: resource.resourceType },
    })
    const { id: _, ...observed } = observation('none', { subject: `urn:uuid:${p}` })
    const bundle = { resourceType: 'Bundle', type, entry: [add(p, { resourceType: 'Patient', active: true }), add(o, observed)] }
    const made: string[] = []
    for (let sent = 0; sent < 2; sent++) {
      const { status, body } = await post('/', bundle)
      expect([status, ...body.entry.map(({ response }: Tree) => response.status)]).toEqual([200, '201 Created', '201 Created'])
      const [person, other] = body.entry.map(({ response }: Tree) => response.location.split('/').at(-3)) as [string, string]
      made.push(person, other)
      // A batch resolves no references between its entries.
      const { subject } = (await get(`/Observation/${other}`)).body
      expect(subject.reference).toBe(type === 'batch' ? `urn:uuid:${p}` : `Patient/${person}`)
    }
    expect(new Set([...made, p, o]).size).toBe(6)
    const kept = await post('/', { resourceType: 'Bundle', type, entry: [add(randomUUID(), patient(own))] })
    expect(kept.body.entry[0].response.location).toContain(`/Patient/${own}/`)
  })
})

describe('referentialIntegrity', () => {
  const { put, get, post, delete: remove, patch } = withServer({ FHIR_REFERENTIAL_INTEGRITY: 'on' })

  it('rejects a dangling reference with its location, and writes nothing', async () => {
    const id = randomUUID()
    const refused = await put(
      `/Observation/${id}`,
      observation(id, { subject: 'Patient/nobody', performer: [referenceTo('Practitioner/none')] }),
    )
    expect(refused.status).toBe(422)
    expect(refused.body.issue.map(({ code, expression }: Tree) => [code, expression])).toEqual([
      ['business-rule', ['Observation.subject.reference']],
      ['business-rule', ['Observation.performer[0].reference']],
    ])
    expect((await get(`/Observation/${id}`)).status).toBe(404)
    expect((await put(`/Observation/${id}`, observation(id, { subject: 'http://elsewhere.org/Patient/nobody' }))).status).toBe(201)
  })

  it('accepts references to existing resources and to those of the same transaction', async () => {
    const [p, o, q] = [randomUUID(), randomUUID(), randomUUID()]
    await put(`/Patient/${p}`, patient(p))
    expect((await put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` }))).status).toBe(201)
    const both = await post('/', transaction(putEntry(observation(`${o}-2`, { subject: `Patient/${q}` })), putEntry(patient(q))))
    expect(both.status).toBe(200)
    const torn = await post('/', transaction(putEntry(patient(`${q}-2`)), putEntry(observation(`${o}-3`, { subject: 'Patient/nobody' }))))
    expect([torn.status, torn.body.issue[0].expression]).toEqual([422, ['Bundle.entry[1].resource.subject.reference']])
    expect((await get(`/Patient/${q}-2`)).status).toBe(404)
    const patched = await patch(`/Observation/${o}`, [{ op: 'replace', path: '/subject/reference', value: 'Patient/nobody' }])
    expect(patched.status).toBe(422)
  })

  it('rejects the deletion of a referenced resource, whichever element refers to it', async () => {
    const [p, o] = [randomUUID(), randomUUID()]
    await put(`/Patient/${p}`, patient(p))
    await put(`/Observation/${o}`, {
      ...observation(o, { subject: `Patient/${p}` }),
      note: [{ text: 'x', authorReference: referenceTo(`Patient/${p}`) }],
    })
    const refused = await remove(`/Patient/${p}`)
    expect([refused.status, refused.body.issue[0].code]).toEqual([409, 'conflict'])
    await patch(`/Observation/${o}`, [{ op: 'remove', path: '/subject' }])
    expect((await remove(`/Patient/${p}`)).status).toBe(409)
    const refusedBoth = await post('/', transaction(deleteEntry(`Patient/${p}`), putEntry(observation(o, { subject: `Patient/${p}` }))))
    expect(refusedBoth.status).toBe(422)
    expect((await post('/', transaction(deleteEntry(`Patient/${p}`), deleteEntry(`Observation/${o}`)))).status).toBe(200)
    expect((await get(`/Patient/${p}`)).status).toBe(404)
  })

  it('rejects the deletion of a referenced resource although one reference goes with it', async () => {
    const p = randomUUID()
    const [first, second] = [`a-${p}`.slice(0, 40), `b-${p}`.slice(0, 40)]
    await put(`/Patient/${p}`, patient(p))
    for (const o of [first, second]) await put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` }))
    const refused = await post('/', transaction(deleteEntry(`Patient/${p}`), deleteEntry(`Observation/${first}`)))
    expect([refused.status, refused.body.issue[0].expression]).toEqual([409, ['Bundle.entry[0]']])
    expect((await get(`/Observation/${first}`)).status).toBe(200)
  })

  it('is checked by $validate for a create, an update and a deletion', async () => {
    const [p, o] = [randomUUID(), randomUUID()]
    await put(`/Patient/${p}`, patient(p))
    await put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` }))
    const faults = async (path: string, body: Tree) => issuesOf(await post(path, body)).filter((text) => !text.startsWith('warning'))
    const lost = observation(o, { subject: 'Patient/nobody' })
    for (const path of ['Observation/$validate?mode=update', `Observation/${o}/$validate?mode=update`])
      expect(await faults(`/${path}`, lost)).toEqual(['error business-rule Observation.subject.reference'])
    expect(await faults('/Observation/$validate?mode=create', { ...lost, id: randomUUID() })).toHaveLength(1)
    expect(await faults(`/Patient/${p}/$validate?mode=delete`, '')).toEqual(['error conflict'])
    expect(await faults(`/Observation/${o}/$validate?mode=delete`, '')).toEqual(['information informational'])
    expect([(await get(`/Patient/${p}`)).status, (await get(`/Observation/${o}`)).body.meta.versionId]).toEqual([200, '1'])
  })

  it('rejects one of a concurrent reference and deletion', async () => {
    for (let round = 0; round < 10; round++) {
      const [p, o] = [randomUUID(), randomUUID()]
      await put(`/Patient/${p}`, patient(p))
      const [written, deleted] = await Promise.all([
        put(`/Observation/${o}`, observation(o, { subject: `Patient/${p}` })),
        remove(`/Patient/${p}`),
      ])
      expect([[201, 409], [422, 204]]).toContainEqual([written.status, deleted.status]) // biome-ignore format: pairs
    }
  })
})
