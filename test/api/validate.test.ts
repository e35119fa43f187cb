/** FHIR $validate of a type and of a resource that is there, in every form. https://hl7.org/fhir/R4/resource-operation-validate.html @cloud:here */
import { describe, expect, it } from '@jest/globals'
import * as resources from '../fixtures/resources.ts'
import { issuesOf, newId, type TestResponse, type Tree, withServer } from './server.ts'

const { get, put, post, delete: remove } = withServer()

/** Without it R4 advises to have one. */
const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
const patient = (id: string, more: Tree = {}): Tree => ({ ...resources.patient(id, more), text })
const observation = (id: string, more: Tree = {}): Tree => ({ ...resources.observation(id, more), text })

const NOTHING = ['information informational']
const found = (answer: TestResponse): readonly unknown[] => [answer.status, issuesOf(answer)]
const input = (...parameter: readonly Tree[]): Tree => ({ resourceType: 'Parameters', parameter })
const sent = (resource: Tree): Tree => ({ name: 'resource', resource })
const wrong = (id: string): Tree => patient(id, { gender: 'none', birthDate: 'yesterday' })
const FAULTS = ['error code-invalid Patient.gender', 'error value Patient.birthDate']
const PROFILE = 'http://example.org/StructureDefinition/unheard-of'
const BASE = 'http://hl7.org/fhir/StructureDefinition'

async function stored(more: Tree = {}): Promise<string> {
  const id = newId()
  expect((await put(`/Patient/${id}`, patient(id, more))).status).toBe(201)
  return id
}

describe('$validate of a resource that is sent', () => {
  it.each([
    ['alone', (resource: Tree) => resource],
    ['in Parameters', (resource: Tree) => input(sent(resource))],
  ])('returns 200 with all issues: %s', async (_, as) => {
    const id = newId()
    for (const path of ['/Patient/$validate', `/Patient/${id}/$validate`]) {
      expect(found(await post(path, as(patient(id))))).toEqual([200, NOTHING])
      expect(found(await post(path, as(wrong(id))))).toEqual([200, FAULTS])
    }
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })
  it('requires no id, but none other than that of the URL', async () => {
    const { id: _, ...nameless } = patient('x')
    expect(found(await post('/Patient/$validate', nameless))).toEqual([200, NOTHING])
    expect(found(await post('/Patient/one/$validate', nameless))).toEqual([200, NOTHING])
    expect(found(await post('/Patient/one/$validate', patient('two')))).toEqual([200, ['error invalid Patient.id']])
  })
  it('returns 400 for another type, no type or no resource', async () => {
    expect(found(await post('/Patient/$validate', observation('x')))).toEqual([400, ['error invalid resourceType']])
    expect(found(await post('/Patient/$validate', input(sent(observation('x')))))).toEqual([400, ['error invalid resourceType']])
    expect(found(await post('/Patient/$validate', { id: 'x' }))).toEqual([400, ['error structure resourceType']])
    expect(found(await post('/Patient/$validate', input(sent({ resourceType: 'Patienz' }))))).toEqual([
      400,
      ['error structure Parameters.parameter[0].resource'],
    ])
    expect(found(await post('/Patient/$validate', ''))).toEqual([400, ['error required']])
    expect((await post('/Patient/$validate', 'text', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('/Binary/$validate', 'text', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post('/Patienz/$validate', patient('x'))).status).toBe(404)
    expect((await get('/Patient/$validate')).status).toBe(405)
  })
  it('checks Parameters without their resource, and 400 for issues of their own', async () => {
    const twice = input(sent(patient('x')), sent(patient('x')))
    expect(found(await post('/Patient/$validate', twice))).toEqual([400, ['error duplicate Parameters.parameter[1].resource']])
    expect(found(await post('/Patient/$validate', { ...input(sent(wrong('x'))), odd: 1 }))).toEqual([
      400,
      ['error structure Parameters.odd'],
    ])
    expect(found(await post('/Patient/$validate', input({ name: 'profil', valueUri: BASE })))).toEqual([
      400,
      ['error not-supported Parameters.parameter[0]'],
    ])
    expect(found(await post('/Patient/$validate', input({ name: 'profile', valueInteger: 1 })))).toEqual([
      400,
      ['error invalid Parameters.parameter[0]'],
    ])
  })
  it('reports a narrative with active content or HTML entities, which writes refuse too', async () => {
    for (const content of ['<a href="JavaScript:alert(1)">x</a>', 'a&nbsp;b']) {
      const active = {
        ...patient(newId()),
        text: { status: 'generated', div: `<div xmlns="http://www.w3.org/1999/xhtml">${content}</div>` },
      }
      const faults = ['error value Patient.text.`div`']
      expect(found(await post('/Patient/$validate', active))).toEqual([200, faults])
      expect(found(await put(`/Patient/${active.id}`, active))).toEqual([400, faults])
    }
  })

  it('accepts no unknown parameters in the URL', async () => {
    expect(found(await post('/Patient/$validate?profil=x', patient('x')))).toEqual([400, ['error not-supported']])
    expect(found(await post('/Patient/$validate?_format=json&_pretty=true', patient('x')))).toEqual([200, NOTHING])
  })
  it('accepts Parameters as the resource', async () => {
    const own = input({ name: 'a', valueString: 'x' }, { name: 'a' })
    expect(found(await post('/Parameters/$validate', own))).toEqual([200, ['error invariant Parameters.parameter[1]']])
    expect(found(await post('/Parameters/$validate', input(sent(own))))).toEqual([200, ['error invariant Parameters.parameter[1]']])
  })
  it('returns a warning for each string that is too long to search', async () => {
    const long = 'x'.repeat(8_001)
    const name = [{ family: long, given: ['short', long] }]
    expect(found(await post('/Patient/$validate', patient('x', { name })))).toEqual([
      200,
      ['warning value Patient.name[0].family', 'warning value Patient.name[0].given[1]'],
    ])
  })
})

describe('$validate of a stored resource', () => {
  it.each([
    ['GET', (path: string) => get(path)],
    ['POST without a body', (path: string) => post(path, '')],
  ])('checks it by %s', async (_, ask) => {
    const meta = { profile: [PROFILE] }
    expect(found(await ask(`/Patient/${await stored()}/$validate`))).toEqual([200, NOTHING])
    expect(found(await ask(`/Patient/${await stored({ meta })}/$validate`))).toEqual([200, ['warning not-found Patient.meta.profile[0]']])
    expect(found(await ask('/Patient/never/$validate'))).toEqual([404, ['error not-found']])
    const gone = await stored()
    await remove(`/Patient/${gone}`)
    expect(found(await ask(`/Patient/${gone}/$validate`))).toEqual([404, ['error deleted']])
  })
})

describe('a profile', () => {
  const ways: readonly (readonly [string, (canonical: string, resource: Tree) => Promise<TestResponse>])[] = [
    ['the URL', (canonical, resource) => post(`/Patient/$validate?profile=${encodeURIComponent(canonical)}`, resource)],
    ['the body', (canonical, resource) => post('/Patient/$validate', input(sent(resource), { name: 'profile', valueUri: canonical }))],
  ]
  it.each(ways)('is 422 if it is not loaded, and checked if it is of R4: in %s', async (_, ask) => {
    expect(found(await ask(PROFILE, patient('x')))).toEqual([422, ['error not-found']])
    expect(found(await ask(`${BASE}/Patient|4.0.1`, patient('x')))).toEqual([200, NOTHING])
    expect(found(await ask(`${BASE}/DomainResource`, wrong('x')))).toEqual([200, FAULTS])
    expect(found(await ask(`${BASE}/Patient|3.0.2`, patient('x')))).toEqual([422, ['error not-found']])
    expect(found(await ask(`${BASE}/Observation`, patient('x')))).toEqual([200, ['error structure Patient']])
  })
  it('is a warning beside other issues if it is unknown and named by the resource', async () => {
    const meta = { profile: [`${BASE}/Patient`, PROFILE] }
    expect(found(await post('/Patient/$validate', { ...wrong('x'), meta }))).toEqual([
      200,
      [...FAULTS, 'warning not-found Patient.meta.profile[1]'],
    ])
  })
  it('is not checked for a structurally invalid resource, which is reported', async () => {
    const loaded = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
    const shapeless = { ...patient('x', { meta: { profile: [`${BASE}/Patient`, PROFILE] } }), odd: 1 }
    expect(found(await post(`/Patient/$validate?profile=${loaded}`, shapeless))).toEqual([
      200,
      ['error structure Patient.odd', 'information incomplete Patient', 'information incomplete Patient.meta.profile[1]'],
    ])
  })
  it('is accepted twice if equal, and rejected if different', async () => {
    const twice = (canonical: string) => post(`/Patient/$validate?profile=${BASE}/Patient`, input(sent(patient('x')), { name: 'profile', valueUri: canonical })) // biome-ignore format: one
    expect(found(await twice(`${BASE}/Patient`))).toEqual([200, NOTHING])
    expect(found(await twice(PROFILE))).toEqual([400, ['error duplicate']])
  })
})

describe('a nested resource', () => {
  const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition'
  const person = (profile: string): Tree => ({ resourceType: 'Patient', text, meta: { profile: [profile] }, active: true })
  const ours = (answer: TestResponse): readonly unknown[] => issuesOf(answer).filter((each) => !each.includes('information'))

  it.each([
    ['Bundle', 'Bundle.entry[0].resource', (resource: Tree) => ({ resourceType: 'Bundle', type: 'collection', entry: [{ resource }] })],
    [
      'Bundle',
      'Bundle.entry[1].resource.entry[0].resource',
      (resource: Tree) => ({
        resourceType: 'Bundle',
        type: 'collection',
        entry: [{ resource: patient('x') }, { resource: { resourceType: 'Bundle', type: 'collection', entry: [{ resource }] } }],
      }),
    ],
    ['Parameters', 'Parameters.parameter[0].resource', (resource: Tree) => input({ name: 'x', resource })],
    ['Parameters', 'Parameters.parameter[0].part[0].resource', (resource: Tree) => input({ name: 'x', part: [{ name: 'y', resource }] })],
    [
      'Patient',
      'Patient.contained[0]',
      ({ text: _, ...resource }: Tree) => ({
        ...patient('x', { link: [{ other: { reference: '#c' }, type: 'refer' }] }),
        contained: [{ ...resource, id: 'c' }],
      }),
    ],
  ])('is checked against its own profiles: in %s, %s', async (type, place, within) => {
    const ask = async (profile: string) => ours(await post(`/${type}/$validate`, within(person(profile))))
    expect(await ask(`${US_CORE}/us-core-patient`)).toEqual(['identifier', 'name', 'gender'].map(() => `error required ${place}`))
    expect(await ask(PROFILE)).toEqual([`warning not-found ${place}.meta.profile[0]`])
    expect(await ask(`${BASE}/Observation`)).toEqual([`error structure ${place}.meta.profile[0]`])
    expect(await ask(`${US_CORE}/us-core-practitioner`)).toEqual([`error structure ${place}`])
    expect(await ask(`${BASE}/Patient`)).toEqual([])
  })
})

describe('$validate with a mode', () => {
  const mode = (name: string) => ({ name: 'mode', valueCode: name })

  it('rejects an unknown mode', async () => {
    expect(found(await post('/Patient/$validate?mode=destroy', patient('x')))).toEqual([400, ['error value']])
    expect(found(await post('/Patient/$validate', input(mode('destroy'), sent(patient('x')))))).toEqual([
      400,
      ['error value Parameters.parameter[0].value'],
    ])
  })
  it('predicts a create, which requires a new id, and writes nothing', async () => {
    const { id: _, ...nameless } = patient('x')
    const id = await stored()
    expect(found(await post('/Patient/$validate?mode=create', nameless))).toEqual([200, ['error required Patient.id']])
    expect(found(await post('/Patient/$validate?mode=create', patient(id)))).toEqual([200, ['error conflict']])
    expect(found(await post('/Patient/$validate', input(mode('create'), sent(wrong(id)))))).toEqual([200, [...FAULTS, 'error conflict']])
    expect(found(await post('/Patient/$validate?mode=create', patient('bad id')))).toEqual([200, ['error value Patient.id']])
    const fresh = newId()
    expect(found(await post('/Patient/$validate?mode=create', wrong(fresh)))).toEqual([200, FAULTS])
    expect(found(await post('/Patient/$validate?mode=create', patient(fresh)))).toEqual([200, NOTHING])
    expect((await get(`/Patient/${fresh}`)).status).toBe(404)
    expect((await get(`/Patient/${id}/_history`)).body.entry).toHaveLength(1)
  })
  it('predicts an update by id and If-Match, and writes nothing', async () => {
    const id = await stored()
    const { id: _, ...nameless } = patient('x')
    const changed = patient(id, { active: true })
    expect(found(await post(`/Patient/${id}/$validate?mode=update`, changed, { 'if-match': 'W/"1"' }))).toEqual([200, NOTHING])
    expect(found(await post(`/Patient/${id}/$validate?mode=update`, changed, { 'if-match': 'W/"2"' }))).toEqual([200, ['error conflict']])
    expect(found(await post('/Patient/$validate?mode=update', changed, { 'if-match': 'W/"2"' }))).toEqual([200, ['error conflict']])
    expect(found(await post(`/Patient/${id}/$validate?mode=update`, nameless))).toEqual([200, ['error required Patient.id']])
    expect(found(await post(`/Patient/${id}/$validate?mode=update`, patient('two')))).toEqual([200, ['error invalid Patient.id']])
    expect(found(await post(`/Patient/${newId()}/$validate?mode=update`, ''))).toEqual([404, ['error not-found']])
    expect(found(await get(`/Patient/${id}/$validate?mode=update`))).toEqual([200, NOTHING])
    expect((await get(`/Patient/${id}`)).body.active).toBeUndefined()
    expect((await get(`/Patient/${id}`)).headers.get('etag')).toBe('W/"1"')
  })
  it('resolves conditional references and reports the location of a failure', async () => {
    const resource = observation(newId(), { subject: 'Patient?identifier=nobody-has-this' })
    expect(found(await post('/Observation/$validate?mode=create', resource))).toEqual([
      200,
      ['error not-found Observation.subject.reference'],
    ])
  })
  it('predicts a deletion by If-Match, whatever the body', async () => {
    const id = await stored()
    const path = `/Patient/${id}/$validate?mode=delete`
    expect(found(await get(path))).toEqual([200, NOTHING])
    expect(found(await post(path, wrong(id)))).toEqual([200, NOTHING])
    expect(found(await post(path, '', { 'if-match': 'W/"7"' }))).toEqual([200, ['error conflict']])
    expect(found(await post('/Patient/$validate', input(mode('delete'))))).toEqual([400, ['error required']])
    expect((await get(`/Patient/${id}`)).status).toBe(200)
  })
  it('checks a stored resource against a profile for mode=profile', async () => {
    const id = await stored()
    const about = (canonical: string) => get(`/Patient/${id}/$validate?mode=profile&profile=${canonical}`)
    expect(found(await about(`${BASE}/Patient`))).toEqual([200, NOTHING])
    expect(found(await about(PROFILE))).toEqual([422, ['error not-found']])
    expect(found(await get(`/Patient/${id}/$validate?mode=profile`))).toEqual([400, ['error required']])
    expect(found(await post(`/Patient/${id}/$validate?mode=profile&profile=${BASE}/Patient`, patient(id)))).toEqual([
      400,
      ['error invalid'],
    ])
  })
})
