/** Loads resources with references by search, as Synthea 3.2 writes them, into a server of its own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { findSourceFiles } from '../../../bin/load/file-reader.ts'
import { type LoadResult, load } from '../../../bin/load/load.ts'
import { clientOf, startServer, type TestClient, type Tree } from '../../api/server.ts'
import { hospitalInformation, PER_PATIENT, practitionerInformation, syntheaBundles, syntheaLines } from '../../fixtures/synthea-3.ts'

type Files = Readonly<Record<string, string>>

let home: Awaited<ReturnType<typeof startServer>>
let client: TestClient
let folder: string

beforeEach(async () => {
  home = await startServer()
  client = clientOf(() => home.base)
  folder = mkdtempSync(join(tmpdir(), 'fhir-load-'))
})
afterEach(async () => {
  await home.embedded.close()
  rmSync(folder, { recursive: true })
})

let sets = 0
async function loaded(files: Files): Promise<LoadResult & { readonly again: number }> {
  const below = join(folder, String(sets++))
  mkdirSync(below)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(below, name), text)
  let again = 0
  const onProgress = (progress: { readonly again: number }) => {
    again += progress.again
  }
  const result = await load(findSourceFiles([below]), { base: home.base, concurrency: 4, onProgress })
  const failures = result.failures.map((failure) => ({ ...failure, place: failure.place.slice(below.length + 1) }))
  return { ...result, failures: failures.sort((a, b) => (a.place + a.key + a.reason < b.place + b.key + b.reason ? -1 : 1)), again }
}

const resources = async (type: string, query = ''): Promise<readonly Tree[]> =>
  ((await client.get(`/${type}?_count=1000${query}`)).body.entry ?? []).map(({ resource }: Tree) => resource)
const total = async (type: string, query = ''): Promise<number> => (await client.get(`/${type}?_count=0${query}`)).body.total

/** Returns the number of references in the store that are still searches. */
async function unresolved(): Promise<number> {
  const all = (await Promise.all(['Encounter', 'Procedure', 'Provenance'].map((type) => resources(type)))).flat()
  expect(all.length).toBeGreaterThan(0)
  return JSON.stringify(all).split('?identifier=').length - 1
}

const without = (files: Files, name: string): Files => Object.fromEntries(Object.entries(files).filter(([file]) => !file.startsWith(name)))

describe('A load of Synthea 3.2 files', () => {
  it.each([
    ['Bundles', syntheaBundles(30, { hospitals: 4 })],
    ['NDJSON', syntheaLines(30, { hospitals: 4 })],
  ])('resolves all references of %s in any file order', async (_, files) => {
    const first = await loaded(files)
    expect([first.resources, first.present, first.failures]).toEqual([30 * PER_PATIENT + 4 * 4, 0, []])
    expect(await unresolved()).toBe(0)
    for (const type of ['Organization', 'Location', 'Practitioner', 'PractitionerRole'])
      expect([type, await total(type)]).toEqual([type, 4])
    expect(await total('Encounter', '&service-provider.name=HOSPITAL 2&participant:Practitioner.family=Doe2')).toBe(8)
    expect(await total('Procedure', '&location.name=HOSPITAL 1')).toBe(7)
  })
  it('can be repeated with the same result', async () => {
    const files = syntheaBundles(3, { hospitals: 2 })
    const [first, second] = [await loaded(files), await loaded(files)]
    expect([second.resources, second.present, second.failures]).toEqual([first.resources, 0, []])
    expect([await total('Encounter'), await total('Practitioner'), await unresolved()]).toEqual([3, 2, 0])
  })
  it('creates no resource twice under another id, within one load or across loads', async () => {
    const [mine, others] = [syntheaBundles(3, { hospitals: 2 }), practitionerInformation({ hospitals: 3, run: 1 })]
    const first = await loaded({ ...mine, 'practitionerInformation2.json': others })
    expect([first.present, first.failures]).toEqual([2, []])
    expect(await total('Practitioner')).toBe(3)
    const second = await loaded({ 'practitionerInformation.json': practitionerInformation({ hospitals: 3, run: 2 }) })
    expect([second.resources, second.present, second.failures]).toEqual([3, 3, []])
    expect([await total('Practitioner'), await unresolved()]).toEqual([3, 0])
  })
  it('updates its own resource even if ifNoneExist matches several', async () => {
    const files = { 'hospital.json': hospitalInformation({ hospitals: 1 }) }
    const first = await loaded(files)
    const [{ id: _, meta: __, ...again }] = await resources('Organization')
    await client.put('/Organization/another', { ...again, id: 'another' })
    const second = await loaded(files)
    expect([second.resources, second.present, second.failures]).toEqual([first.resources, 0, []])
  })
  it('names the files that refer to a missing resource, and loads all others', async () => {
    const files = without(syntheaBundles(2, { hospitals: 1 }), 'practitioner')
    const { resources: loadedOnes, failures } = await loaded(files)
    const npi = 'Practitioner?identifier=http://hl7.org/fhir/sid/us-npi|9999000001'
    expect(failures.map(({ place, key, reason }) => [place.replace(/_.*#/, '#'), key.split('/')[0], reason])).toEqual([
      ['Ada1#1', 'Encounter', `${npi} matches nothing`],
      ['Ada1#4', 'Provenance', `${npi} matches nothing`],
      ['Ada2#1', 'Encounter', `${npi} matches nothing`],
      ['Ada2#4', 'Provenance', `${npi} matches nothing`],
    ])
    expect([loadedOnes, await total('Encounter'), await total('Procedure'), await unresolvedProcedures()]).toEqual([2 * 3 + 2, 0, 2, 0])
    const later = await loaded({ ...files, 'z.json': practitionerInformation({ hospitals: 1 }) })
    expect([later.failures, await unresolved()]).toEqual([[], 0])
  })
  it('reports ambiguous and invalid searches, and loads all others', async () => {
    for (const id of ['one', 'two'])
      await client.put(`/Organization/${id}`, { ...JSON.parse(hospitalInformation({ hospitals: 1 })).entry[0].resource, id })
    const wrong = { resourceType: 'Procedure', id: 'wrong', status: 'completed', subject: { reference: 'Patient?nonsense=1' } }
    const files = { ...syntheaBundles(1, { hospitals: 1 }), 'z.ndjson': JSON.stringify(wrong) }
    const { resources: loadedOnes, failures } = await loaded(files)
    const several = /^Organization\?identifier=.* matches several resources$/
    expect(failures.map(({ place, key, reason }) => [place.slice(0, 4), key.split('/')[0], reason])).toEqual([
      ['Ada1', 'Encounter', expect.stringMatching(several)],
      ['Ada1', 'Provenance', expect.stringMatching(several)],
      ['hosp', 'Organization', expect.stringMatching(several)],
      ['z.nd', 'Procedure', 'Patient?nonsense=1: 400 Bad Request Unknown search parameter nonsense of Patient'],
    ])
    expect([loadedOnes, await total('Procedure'), await total('Location'), await total('PractitionerRole')]).toEqual([6, 1, 1, 1])
  })
  it('reports several matches of ifNoneExist for resources that waited for others', async () => {
    const role = (id: string, value: string, more: object = {}) => ({
      resourceType: 'PractitionerRole',
      id,
      identifier: [{ system: 'urn:x', value }],
      ...more,
    })
    const waits = (id: string, value: string) => {
      const resource = role(id, value, { practitioner: { reference: 'Practitioner?identifier=urn:x|0' } })
      const request = { method: 'POST', url: 'PractitionerRole', ifNoneExist: `identifier=urn:x|${value}` }
      return { resourceType: 'Bundle', type: 'transaction', entry: [{ fullUrl: `urn:uuid:${id}`, resource, request }] }
    }
    const lines = [
      waits('waits', '1'),
      ...['1', '2'].flatMap((value) => ['one', 'two'].map((id) => role(id + value, value))),
      { resourceType: 'Practitioner', id: 'p', identifier: [{ system: 'urn:x', value: '0' }] },
    ]
    const files = { 'a.ndjson': lines.map((each) => JSON.stringify(each)).join('\n'), 'b.json': JSON.stringify(waits('too', '2')) }
    const { resources: loadedOnes, present, failures } = await loaded(files)
    expect([loadedOnes, present]).toEqual([5, 0])
    const reason = (value: string) => `PractitionerRole?identifier=urn:x|${value} matches several resources`
    expect(failures).toEqual([
      { place: 'a.ndjson:1', key: 'PractitionerRole/waits', reason: reason('1') },
      { place: 'b.json', key: 'PractitionerRole/too', reason: reason('2') },
    ])
  })
  it('follows chains of references by search, and reads only those files again', async () => {
    const encounter = (id: string, partOf: object) => ({
      resourceType: 'Encounter',
      id,
      identifier: [{ system: 'urn:x', value: id }],
      status: 'finished',
      class: { code: 'AMB' },
      ...partOf,
    })
    const chain = ['a', 'b', 'c', 'd'].map((id, i, all) =>
      encounter(id, i === 3 ? {} : { partOf: { reference: `Encounter?identifier=urn:x|${all[i + 1]}` } }),
    )
    const text = chain.map((each) => `${JSON.stringify(each)}\n`).join('')
    const { failures, again } = await loaded({ 'a.ndjson': text, 'b.json': JSON.stringify(encounter('z', {})) })
    expect([failures, again]).toEqual([[], 3 * text.length])
    expect((await client.get('/Encounter/a')).body.partOf).toEqual({ reference: 'Encounter/b' })
    const versions = await Promise.all(
      ['a', 'b', 'c', 'd', 'z'].map(async (id) => (await client.get(`/Encounter/${id}`)).body.meta.versionId),
    )
    expect(versions).toEqual(['1', '1', '1', '1', '1'])
  })
})

it('stores the same resources as a transaction of the same Bundle', async () => {
  const div = (to: string) => `<div xmlns="http://www.w3.org/1999/xhtml"><a href="${to}">x</a> <img alt="y" src="${to}/_history/1"/></div>`
  const urn = 'urn:uuid:5a7f0b9e-9d0a-4a0e-8d1c-0f6f1f5b2c11'
  const text = { status: 'generated', div: div(urn) }
  const content = [{ attachment: { url: urn, contentType: 'text/plain' } }]
  const from = 'http://a.example/fhir'
  const put = (fullUrl: string, resource: Tree) => ({
    fullUrl,
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  })
  const entry = [
    put(urn, { resourceType: 'Patient', id: 'p', active: true }),
    put(`${from}/Organization/77`, { resourceType: 'Organization', id: 'o', name: 'O' }),
    put(`${from}/Basic/1`, {
      resourceType: 'Basic',
      id: 'b',
      code: { text: 'x' },
      text,
      subject: { reference: urn },
      author: { reference: 'Organization/77' },
    }),
    put(`${from}/Basic/2`, { resourceType: 'Basic', id: 'c', code: { text: 'x' }, text: { ...text, div: div('Organization/77') } }),
    put('urn:uuid:d', {
      resourceType: 'DocumentReference',
      id: 'd',
      status: 'current',
      text,
      content,
      author: [{ reference: 'Organization/77' }],
    }),
  ]
  const body = { resourceType: 'Bundle', type: 'transaction', entry }
  const read = async () =>
    Promise.all(entry.map(async ({ request }) => ({ ...(await client.get(`/${request.url}`)).body, meta: undefined })))
  expect((await client.post('/', body)).status).toBe(200)
  const transaction = await read()
  for (const { request } of entry) await client.delete(`/${request.url}`)
  expect((await loaded({ 'a.json': JSON.stringify(body) })).failures).toEqual([])
  // Only the server knows the version of a resource it will store.
  expect(await read()).toEqual(JSON.parse(JSON.stringify(transaction).replaceAll(/\/_history\/\d+/g, '')))
  expect(JSON.stringify(transaction)).not.toContain(urn)
})

const unresolvedProcedures = async (): Promise<number> => JSON.stringify(await resources('Procedure')).split('?identifier=').length - 1
