/** What profiles say of what is written, as the setting validateProfiles has it. https://hl7.org/fhir/R4/validation.html */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { copyExample, US_CORE } from '../fixtures/us-core/findings.ts'
import { exampleTextOf } from '../fixtures/validation/official.ts'
import { issuesOf, type TestResponse, type Tree, withServer } from './server.ts'

const LAB = `${US_CORE}us-core-observation-lab`
const right = (): Tree => ({ ...copyExample('Observation/serum-sodium'), id: randomUUID() })
const wrong = (): Tree => ({ ...right(), category: [{ text: 'x' }] })
const MISSING = 'required Observation.category'

const entry = (resource: Tree, method = 'PUT'): Tree => ({
  resource,
  request: { method, url: method === 'PUT' ? `Observation/${resource.id}` : 'Observation' },
})
const bundle = (type: string, ...entries: readonly Tree[]): Tree => ({ resourceType: 'Bundle', type, entry: entries })
const PATCH = { 'content-type': 'application/json-patch+json' }
const EVERYTHING = { prefer: 'return=OperationOutcome' }

describe('validateProfiles=enforce', () => {
  const { get, post, put, patch } = withServer({ FHIR_VALIDATE_PROFILES: 'enforce' })
  const told = (answer: TestResponse): readonly unknown[] => [answer.status, issuesOf(answer).filter((text) => text.startsWith('error'))]
  const REFUSED = [422, [`error ${MISSING}`]]

  it('stores a resource that conforms to its profiles', async () => {
    const resource = right()
    expect((await post('/Observation', resource)).status).toBe(201)
    expect((await put(`/Observation/${resource.id}`, resource)).status).toBe(200)
  })

  it('rejects a nonconforming create, update and patch, and stores nothing', async () => {
    const resource = wrong()
    expect(told(await post('/Observation', resource))).toEqual(REFUSED)
    expect(told(await put(`/Observation/${resource.id}`, resource))).toEqual(REFUSED)
    expect((await get(`/Observation/${resource.id}`)).status).toBe(404)
    const stored = right()
    await post('/Observation', stored)
    const change = JSON.stringify([{ op: 'replace', path: '/category', value: [{ text: 'x' }] }])
    expect(told(await patch(`/Observation/${stored.id}`, change, PATCH))).toEqual(REFUSED)
    expect((await get(`/Observation/${stored.id}`)).body.meta.versionId).toBe('1')
  })

  it('rejects a nonconforming entry of a batch, or the transaction with its location', async () => {
    const [good, bad] = [right(), wrong()]
    const batch = await post('/', bundle('batch', entry(good), entry(bad)))
    expect(batch.body.entry.map(({ response }: Tree) => response.status.slice(0, 3))).toEqual(['201', '422'])
    const [other, worse] = [right(), wrong()]
    const refused = await post('/', bundle('transaction', entry(other), entry(worse)))
    expect([refused.status, JSON.stringify(refused.body.issue)]).toEqual([422, expect.stringContaining('Bundle.entry[1]')])
    expect((await get(`/Observation/${other.id}`)).status).toBe(404)
  })

  it('rejects a stored Bundle with a nonconforming entry', async () => {
    const collection = (resource: Tree): Tree => ({ resourceType: 'Bundle', id: randomUUID(), type: 'collection', entry: [{ resource }] })
    expect((await post('/Bundle', collection(right()))).status).toBe(201)
    expect(told(await post('/Bundle', collection(wrong())))).toEqual([422, ['error required Bundle.entry[0].resource.category']])
  })

  it('stores a resource with an unknown profile, with a warning', async () => {
    const resource = { ...right(), meta: { profile: ['http://example.org/unheard-of'] } }
    const answer = await put(`/Observation/${resource.id}`, resource, EVERYTHING)
    expect([answer.status, issuesOf(answer)]).toEqual([201, expect.arrayContaining(['warning not-found Observation.meta.profile[0]'])])
  })

  it('stores a profile with a snapshot', async () => {
    const published = JSON.parse(exampleTextOf('StructureDefinition-bodyheight'))
    const own = { ...published, id: 'height', url: 'http://example.org/StructureDefinition/height' }
    expect(told(await put('/StructureDefinition/height', own))).toEqual([201, []])
  })

  it('stores a resource without profiles, and names an unknown modifier extension', async () => {
    const { meta: _, ...plain } = wrong()
    expect((await put(`/Observation/${plain.id}`, plain)).status).toBe(201)
    const unknown = { ...plain, modifierExtension: [{ url: 'http://unknown.test/not', valueBoolean: true }] }
    const answer = await put(`/Observation/${plain.id}`, unknown, EVERYTHING)
    const named = 'information not-supported Observation.modifierExtension[0]'
    expect([answer.status, issuesOf(answer)]).toEqual([200, expect.arrayContaining([named])])
  })
})

describe('validateProfiles=enforce with a stored profile', () => {
  const { put, post } = withServer({ FHIR_VALIDATE_PROFILES: 'enforce' })
  const url = 'http://example.org/own'
  const own = (element: Tree, more: Tree = {}): Tree => ({
    resourceType: 'StructureDefinition', id: 'own', url, name: 'Own', status: 'active', kind: 'resource', abstract: false, type: 'Observation',
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Observation', derivation: 'constraint', differential: { element: [element] }, ...more,
  }) // biome-ignore format: one resource
  const method = { id: 'Observation.method', path: 'Observation.method' }
  const { meta: _, method: __, ...plain } = right()
  const naming: Tree = { ...plain, meta: { profile: [url] } }
  const statuses = async () => {
    const { body } = await post('/', bundle('batch', entry(naming)))
    return [(await put(`/Observation/${naming.id}`, naming)).status, body.entry[0].response.status.slice(0, 3)]
  }

  it('uses the current version of the profile for the next write', async () => {
    await put('/StructureDefinition/own', own({ ...method, min: 1 }))
    expect(await statuses()).toEqual([422, '422'])
    await put('/StructureDefinition/own', own({ ...method, max: '0' }))
    expect(await statuses()).toEqual([200, '201'])
    await put('/StructureDefinition/own', own({ ...method, min: 1 }, { baseDefinition: 'http://example.org/not-there' }))
    expect(await statuses()).toEqual([422, '422'])
  })
})

describe('validateProfiles=enforce with two profiles that bind the same value set', () => {
  const { put } = withServer({ FHIR_VALIDATE_PROFILES: 'enforce' })
  const binding = (strength: string): Tree => ({
    ...{ resourceType: 'StructureDefinition', id: strength, url: `http://example.org/${strength}`, name: 'Bound', status: 'active' },
    ...{ kind: 'resource', abstract: false, type: 'Patient', derivation: 'constraint' },
    baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient',
    differential: {
      element: [{ id: 'Patient.maritalStatus', path: 'Patient.maritalStatus', binding: { strength, valueSet: MARITAL_STATUS } }],
    },
  })
  const MARITAL_STATUS = 'http://hl7.org/fhir/ValueSet/marital-status'

  it('rejects violations of the stricter binding, in any order of profiles', async () => {
    const strengths = ['extensible', 'required']
    for (const strength of strengths) expect((await put(`/StructureDefinition/${strength}`, binding(strength))).status).toBe(201)
    for (const named of [strengths, strengths.toReversed()]) {
      const answer = await put('/Patient/bound', {
        ...{ resourceType: 'Patient', id: 'bound', meta: { profile: named.map((strength) => `http://example.org/${strength}`) } },
        maritalStatus: { coding: [{ system: 'http://example.org/own', code: 'x' }] },
      })
      expect([answer.status, issuesOf(answer)]).toEqual([422, expect.arrayContaining(['error code-invalid Patient.maritalStatus'])])
    }
  })
})

describe('validateProfiles=enforce with unusable profiles', () => {
  const { put } = withServer({ FHIR_VALIDATE_PROFILES: 'enforce' })
  const url = 'http://example.org/retired'

  it('stores a resource with a retired profile, with a warning', async () => {
    await put('/StructureDefinition/retired', {
      ...{ resourceType: 'StructureDefinition', id: 'retired', url, name: 'Retired', status: 'retired', kind: 'resource', abstract: false },
      ...{ type: 'Observation', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Observation', derivation: 'constraint' },
      differential: { element: [{ id: 'Observation.method', path: 'Observation.method', min: 1 }] },
    })
    const resource = { ...right(), meta: { profile: [url] } }
    const answer = await put(`/Observation/${resource.id}`, resource, EVERYTHING)
    expect([answer.status, issuesOf(answer)]).toEqual([201, expect.arrayContaining(['warning processing Observation.meta.profile[0]'])])
    expect(JSON.stringify(answer.body)).toContain('it is retired')
  })

  it('rejects a profile of another type, and more than 100 profiles, by location', async () => {
    const named = async (...profile: readonly string[]) => {
      const resource = { ...right(), meta: { profile } }
      const answer = await put(`/Observation/${resource.id}`, resource)
      return [answer.status, issuesOf(answer).filter((text) => text.startsWith('error'))]
    }
    const BASE = 'http://hl7.org/fhir/StructureDefinition/'
    const US_CORE_PATIENT = `${US_CORE}us-core-patient`
    for (const type of ['Patient', 'Patient|4.0.1', 'HumanName'])
      expect(await named(LAB, `${BASE}${type}`)).toEqual([422, ['error structure Observation.meta.profile[1]']])
    expect(await named(US_CORE_PATIENT)).toEqual([422, ['error structure Observation']])
    for (const type of ['Observation', 'Observation|4.0.1', 'DomainResource', 'Resource'])
      expect(await named(`${BASE}${type}`)).toEqual([201, []])
    const unheard = Array.from({ length: 100 }, (_, i) => `http://example.org/${i}`)
    expect(await named(...unheard, LAB)).toEqual([422, ['error too-costly Observation.meta.profile[100]']])
    expect((await named(...unheard.slice(1), LAB))[0]).toBe(201)
  })
})

describe('the entries of a Bundle', () => {
  const { post, put } = withServer({ FHIR_VALIDATE_PROFILES: 'warn' })

  it.each(['batch', 'transaction'])('share one evaluation budget in a %s, and the next request has its own', async (type) => {
    const url = `http://example.org/${randomUUID()}`
    const expression = `name.given.where('${'a'.repeat(40)}!'.matches('^(a+)+$')).exists()`
    const element = [{ id: 'Patient', path: 'Patient', constraint: [{ key: 'own-1', severity: 'error', human: 'x', expression }] }]
    const definition = await put(`/StructureDefinition/costly-${type}`, {
      ...{
        resourceType: 'StructureDefinition',
        id: `costly-${type}`,
        url,
        name: 'Costly',
        status: 'active',
        kind: 'resource',
        abstract: false,
      },
      ...{ type: 'Patient', baseDefinition: 'http://hl7.org/fhir/StructureDefinition/Patient', derivation: 'constraint' },
      differential: { element },
    })
    expect(definition.status).toBe(201)
    const resource = () => ({ resourceType: 'Patient', id: randomUUID(), meta: { profile: [url] }, name: [{ given: ['a'] }] })
    const toldOf = ({ issue }: Tree): readonly (string | undefined)[] =>
      issue.map(({ details }: Tree) => /takes too long|was not evaluated/.exec(details.text)?.[0])
    const entry = Array.from({ length: 7 }, () => ({ resource: resource(), request: { method: 'POST', url: 'Patient' } }))
    const { body } = await post('/', { resourceType: 'Bundle', type, entry }, EVERYTHING)
    const found = body.entry.map(({ response }: Tree) => toldOf(response.outcome).find((text) => text !== undefined))
    expect(found.toSorted()).toEqual([...Array(4).fill('takes too long'), ...Array(3).fill('was not evaluated')])
    expect(toldOf((await post('/Patient', resource(), EVERYTHING)).body)).toContain('takes too long')
  })
})

describe('validateProfiles=warn', () => {
  const { post, put } = withServer({ FHIR_VALIDATE_PROFILES: 'warn' })

  it('stores a nonconforming resource, and reports a warning on request', async () => {
    const resource = wrong()
    const quiet = await post('/Observation', resource)
    expect([quiet.status, quiet.body.resourceType]).toEqual([201, 'Observation'])
    const told = await put(`/Observation/${resource.id}`, resource, EVERYTHING)
    expect([told.status, issuesOf(told)]).toEqual([200, expect.arrayContaining([`warning ${MISSING}`])])
    const { body } = await post('/', bundle('transaction', entry(wrong(), 'POST')))
    expect(issuesOf({ ...told, body: body.entry[0].response.outcome })).toContain(`warning ${MISSING}`)
  })
})

describe('validateProfiles=off', () => {
  const { put } = withServer()

  it('ignores profiles', async () => {
    const resource = { ...wrong(), meta: { profile: [LAB] } }
    const answer = await put(`/Observation/${resource.id}`, resource, EVERYTHING)
    expect([answer.status, issuesOf(answer)]).toEqual([201, ['information informational']])
  })
})
