/** Search parameters somebody defines: built while searches and writes go on, searched by once they are complete, kept over restarts. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Embedded } from '../../lambdas/runtime/embedded.ts'
import { type Client, clientOf, startServer, type Tree } from './server.ts'

let embedded: Embedded
let client: Client
const folder = mkdtempSync(join(tmpdir(), 'fhir-parameters-'))

async function open(): Promise<void> {
  const started = await startServer({}, folder)
  embedded = started.embedded
  client = clientOf(() => started.base)
}

const parameter = (id: string, more: object): Tree => ({
  resourceType: 'SearchParameter',
  id,
  url: `http://example.org/${id}`,
  name: id,
  status: 'active',
  description: 'x',
  code: id,
  base: ['Patient'],
  type: 'string',
  ...more,
})
const put = (resource: Tree) => client.put(`/${resource.resourceType}/${resource.id}`, resource)
const define = async (resource: Tree): Promise<void> => {
  const { status, text } = await put(resource)
  expect([status < 300, status < 300 ? '' : text]).toEqual([true, ''])
  await settled()
}
/** Everything that was defined is built. */
async function settled(): Promise<void> {
  for (let i = 0; i < 400; i++) {
    const { body } = await client.get('/$reindex-status')
    expect(body.parameter[0]).toEqual({ name: 'lag', valueInteger: expect.any(Number) })
    const parts = body.parameter.flatMap(({ part = [] }: Tree) => part)
    if (!parts.some(({ name, valueCode }: Tree) => name === 'type' || valueCode === 'building')) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('not built')
}
const found = async (query: string): Promise<string | number> => {
  const { status, body } = await client.get(`/${query}`, { prefer: 'handling=strict' })
  if (status !== 200) return status
  return (body.entry ?? [])
    .filter(({ search }: Tree) => search.mode !== 'outcome')
    .map(({ resource }: Tree) => resource.id)
    .join(' ')
}
const patient = (id: string, nick: string, more: object = {}): Tree => ({
  resourceType: 'Patient',
  id,
  name: [
    { use: 'nickname', given: [nick] },
    { use: 'official', given: ['Formal'] },
  ],
  ...more,
})

beforeAll(async () => {
  await open()
  await put({ resourceType: 'Organization', id: 'club', name: 'Chess Club' })
  for (let i = 0; i < 300; i++) await put(patient(`p${i}`, `Nick${i % 3}`))
  const extension = [
    { url: 'http://example.org/club', valueReference: { reference: 'Organization/club' } },
    { url: 'http://example.org/since', valueDate: '2020-05-14' },
    { url: 'http://example.org/colour', valueCodeableConcept: { coding: [{ system: 'urn:c', code: 'red' }] } },
  ]
  await put(patient('member', 'Zed', { extension }))
})
afterAll(() => embedded.close())

const NICKNAME = parameter('nickname', { expression: "Patient.name.where(use = 'nickname').given" })

describe('a new parameter', () => {
  it('is unknown until all documents have it, and then finds those that were there before', async () => {
    expect(await found('Patient?nickname=zed')).toBe(400)
    await define(NICKNAME)
    expect(await found('Patient?nickname=zed')).toBe('member')
    expect((await client.get('/Patient?nickname=nick1&_summary=count')).body.total).toBe(100)
    expect(await found('Patient?nickname=formal')).toBe('')
    expect(await found('Patient?nickname:exact=Zed')).toBe('member')
    const { body } = await client.get('/metadata')
    const { searchParam } = body.rest[0].resource.find(({ type }: Tree) => type === 'Patient')
    expect(searchParam.at(-1)).toEqual({ name: 'nickname', definition: 'http://example.org/nickname', type: 'string' })
  })

  it('tells its state where it is read', async () => {
    const { body } = await client.get('/SearchParameter/nickname')
    expect(body.extension).toEqual([{ url: expect.stringMatching(/search-parameter-state$/), valueCode: 'active' }])
  })

  it('finds what is written while it is built, and what is written after', async () => {
    const writes: Promise<unknown>[] = []
    await put(parameter('second', { expression: 'Patient.name.given' }))
    for (let i = 0; i < 50; i++) writes.push(put(patient(`late${i}`, 'Late')))
    for (let i = 0; i < 50; i++) writes.push(put(patient(`p${i}`, 'Changed')))
    await Promise.all(writes)
    await settled()
    const count = async (query: string) => (await client.get(`/Patient?${query}&_summary=count`)).body.total
    expect(await count('second=late')).toBe(50)
    expect(await count('second=changed')).toBe(50)
    expect(await count('second=formal')).toBe(351)
    expect(await count('nickname=nick')).toBe(250)
  })

  it.each([
    ['reference', 'club', "Patient.extension.where(url = 'http://example.org/club').value", 'club=club', 'club=nothing'],
    ['date', 'since', "Patient.extension.where(url = 'http://example.org/since').value.ofType(date)", 'since=2020-05', 'since=gt2020-05-14'],
    ['token', 'colour', "Patient.extension.where(url = 'http://example.org/colour').value as CodeableConcept", 'colour=urn:c|red', 'colour=urn:d|red'],
  ])('of type %s', async (type, code, expression, hit, miss) => {
    await define(parameter(code, { type, expression, ...(type === 'reference' ? { target: ['Organization'] } : {}) }))
    expect([await found(`Patient?${hit}`), await found(`Patient?${miss}`)]).toEqual(['member', ''])
    expect(await found(`Patient?${code}:missing=false`)).toBe('member')
  }) // biome-ignore format: a table

  it('is sorted by, grouped by, chained and included like any other', async () => {
    expect(await found('Patient?_sort=-nickname&_count=1')).toBe('member')
    expect(await found('Patient?club.name=chess')).toBe('member')
    expect(await found('Organization?_has:Patient:club:nickname=zed')).toBe('club')
    expect(await found('Patient?colour=red&_include=Patient:club')).toBe('member club')
    expect(await found('Patient?colour=red&_group=colour:code')).toBe('member')
  })
})

describe('a definition that cannot be searched by is refused', () => {
  it.each([
    [422, { expression: 'Patient.name.where(' }, 'SearchParameter.expression'],
    [422, { expression: 'Patient.nothing' }, 'SearchParameter.expression'],
    [422, {}, 'SearchParameter.expression'],
    [422, { expression: 'Patient', type: 'composite' }, 'SearchParameter.type'],
    [400, { expression: 'Patient.name', base: ['Nothing'] }, 'SearchParameter.base[0]'],
    [422, { expression: 'Patient.name', code: '1a' }, 'SearchParameter.code'],
  ])('%i for %j', async (expected, more, place) => {
    const { status, body } = await put(parameter('wrong', more))
    expect([status, body.issue[0].expression]).toEqual([expected, [place]])
    expect((await client.get('/SearchParameter/wrong')).status).toBe(404)
  })

  it('but a draft of it is stored', async () => {
    expect((await put(parameter('draft', { status: 'draft' }))).status).toBe(201)
    expect(await found('Patient?draft=x')).toBe(400)
  })
})

it('a parameter of R4 stays what it is', async () => {
  const { status, body } = await put(parameter('family', { expression: "Patient.name.where(use = 'nickname').given" }))
  expect([status, body.resourceType, body.issue[0].severity]).toEqual([201, 'OperationOutcome', 'warning'])
  await settled()
  expect(await found('Patient?family=zed')).toBe('')
})

it('another expression takes the place of the old one when it is built', async () => {
  await define({ ...NICKNAME, expression: "Patient.name.where(use = 'official').given" })
  expect(await found('Patient?nickname=zed')).toBe('')
  expect((await client.get('/Patient?nickname=formal&_summary=count')).body.total).toBe(351)
})

it('a retired or deleted one is unknown', async () => {
  await define({ ...parameter('second', { expression: 'Patient.name.given' }), status: 'retired' })
  expect(await found('Patient?second=late')).toBe(400)
  await client.delete('/SearchParameter/colour')
  await found('Patient?_id=member')
  await settled()
  expect(await found('Patient?colour=red')).toBe(400)
})

it('is there after a restart, and after $reindex', async () => {
  await embedded.close()
  await open()
  await settled()
  expect(await found('Patient?club=club')).toBe('member')
  const started = await client.post('/$reindex?type=Patient', undefined)
  expect([started.status, started.headers.get('content-location')]).toEqual([202, expect.stringMatching(/\$reindex-status$/)])
  await settled()
  expect(await found('Patient?club=club')).toBe('member')
  expect((await client.post('/$reindex?type=Nothing', undefined)).status).toBe(400)
})
