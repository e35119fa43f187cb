/** Definitions that come through the API take part at once: profiles, value sets and code systems of one's own. @cloud:here */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { patient } from '../fixtures/resources.ts'
import { issuesOf, itOnEmbedded, type Tree, withServer } from './server.ts'

const client = withServer({ FHIR_CLIENT_IDS: 'optional' })
const { get, put, post, patch } = client

const BASE = 'http://hl7.org/fhir/StructureDefinition/'
const EVERYTHING = { prefer: 'return=OperationOutcome' }

/** A canonical of this test's own. */
const newUrl = (): string => `http://example.org/${randomUUID()}`

/** Of Patient: what it says of elements, by their paths. */
const profile = (url: string, elements: Tree, more: Tree = {}): Tree => ({
  resourceType: 'StructureDefinition', id: randomUUID(), url, name: 'Own', status: 'active', kind: 'resource', abstract: false,
  type: 'Patient', baseDefinition: `${BASE}Patient`, derivation: 'constraint',
  differential: { element: Object.entries(elements).map(([path, said]) => ({ id: path, path, ...(said as object) })) }, ...more,
}) // biome-ignore format: one resource

const stored = async (resource: Tree): Promise<Tree> => {
  const { status, body } = await put(`/${resource.resourceType}/${resource.id}`, resource)
  expect([200, 201]).toContain(status)
  return body
}

/** `status severity code expression …` of what is checked against it. */
async function checked(resource: Tree, url: string): Promise<readonly unknown[]> {
  const answer = await post(`/${resource.resourceType}/$validate?profile=${encodeURIComponent(url)}`, resource)
  return [answer.status, ...issuesOf(answer)]
}

/** `status code …` of what $apply-fhirpath finds besides. */
async function applied(resource: Tree): Promise<readonly unknown[]> {
  const parameter = [
    { name: 'fhirPath', valueString: 'exists()' },
    { name: 'resource', resource },
  ]
  const { status, body } = await post('/$apply-fhirpath', { resourceType: 'Parameters', parameter })
  const { resource: found } = body.parameter.find(({ name }: Tree) => name === 'validation')
  return [status, ...found.issue.map(({ code }: Tree) => code)]
}

const FINE = [200, 'information informational']
const NOT_LOADED = [422, 'error not-found']
const WITHOUT = [200, 'error required Patient']
const NARRATIVE = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
const someone = (more: Tree = {}): Tree => patient(randomUUID(), { text: NARRATIVE, name: undefined, birthDate: undefined, ...more })
const born = someone({ birthDate: '2020-01-01' })

describe('A stored profile', () => {
  it('takes effect when it is created, changed, patched, deleted and recreated', async () => {
    const url = newUrl()
    expect(await checked(someone(), url)).toEqual(NOT_LOADED)
    const { id } = await stored(profile(url, { 'Patient.birthDate': { min: 1 } }))
    expect(await checked(someone(), url)).toEqual(WITHOUT)
    expect(await checked(born, url)).toEqual(FINE)
    await stored(profile(url, { 'Patient.birthDate': { max: '0' } }, { id }))
    expect(await checked(born, url)).toEqual([200, 'error structure Patient.birthDate'])
    await patch(`/StructureDefinition/${id}`, [{ op: 'replace', path: '/differential/element/0/max', value: '1' }])
    expect(await checked(born, url)).toEqual(FINE)
    await client.delete(`/StructureDefinition/${id}`)
    expect(await checked(born, url)).toEqual(NOT_LOADED)
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { id }))
    expect(await checked(someone(), url)).toEqual(WITHOUT)
  })

  it('validates by one of its versions during concurrent writes, and by the last afterwards', async () => {
    const [url, id] = [newUrl(), randomUUID()]
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { id }))
    const writing = (async () => {
      for (const name of ['gender', undefined, 'photo', undefined, 'address'])
        if (name === undefined) await client.delete(`/StructureDefinition/${id}`)
        else await stored(profile(url, { [`Patient.${name}`]: { min: 1 } }, { id }))
    })()
    const answers = await Promise.all(Array.from({ length: 20 }, () => checked(someone({ gender: undefined }), url)))
    await writing
    for (const answer of answers) expect([NOT_LOADED, WITHOUT]).toContainEqual(answer)
    expect((await post(`/Patient/$validate?profile=${encodeURIComponent(url)}`, born)).text).toContain('address is required')
  })

  it('is no longer found under its previous canonical URL', async () => {
    const [before, after] = [newUrl(), newUrl()]
    const { id } = await stored(profile(before, { 'Patient.birthDate': { min: 1 } }))
    await stored(profile(after, { 'Patient.birthDate': { min: 1 } }, { id }))
    expect(await checked(someone(), before)).toEqual(NOT_LOADED)
    expect(await checked(someone(), after)).toEqual(WITHOUT)
  })

  it.each(['batch', 'transaction'])('takes effect after a %s that also stores its base', async (type) => {
    const [base, url] = [newUrl(), newUrl()]
    const differing = profile(url, { 'Patient.gender': { min: 1 } }, { baseDefinition: base })
    const entry = [differing, profile(base, { 'Patient.birthDate': { min: 1 } })].map((resource) => ({
      resource,
      request: { method: 'PUT', url: `StructureDefinition/${resource.id}` },
    }))
    expect((await post('/', { resourceType: 'Bundle', type, entry })).status).toBe(200)
    expect(await checked(someone({ gender: undefined }), url)).toEqual([200, 'error required Patient', 'error required Patient'])
    await client.delete(`/StructureDefinition/${entry[1]!.resource.id}`)
    expect(await checked(someone(), url)).toEqual([422, 'error processing'])
  })

  it('is found by version, or else in its newest version that is not retired', async () => {
    const url = newUrl()
    const versions = { '1.9.0': 'birthDate', '1.10.0': 'gender', '2.0.0': 'name', '1.10.0-beta': 'photo' }
    for (const [version, name] of Object.entries(versions))
      await stored(profile(url, { [`Patient.${name}`]: { min: 1 } }, { version, status: version === '2.0.0' ? 'retired' : 'active' }))
    const missing = async (canonical: string) => {
      const { body } = await post(`/Patient/$validate?profile=${encodeURIComponent(canonical)}`, { ...born, gender: undefined })
      return body.issue.map(({ diagnostics, details }: Tree) => /(\w+) is required/.exec(diagnostics ?? details?.text)?.[1])
    }
    expect(await missing(url)).toEqual(['gender'])
    expect(await missing(`${url}|1.10.0-beta`)).toEqual(['photo'])
    expect(await checked(born, `${url}|1.9.0`)).toEqual(FINE)
    expect(await checked(born, `${url}|1.9`)).toEqual(NOT_LOADED)
  })

  it('is not used while it is retired, and validation reports so', async () => {
    const [url, above] = [newUrl(), newUrl()]
    const retired = await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { version: '1', status: 'retired' }))
    await stored(profile(above, { 'Patient.gender': { min: 1 } }, { baseDefinition: url }))
    for (const canonical of [url, `${url}|1`, above]) {
      const nominated = await post(`/Patient/$validate?profile=${encodeURIComponent(canonical)}`, someone())
      expect([nominated.status, JSON.stringify(nominated.body)]).toEqual([422, expect.stringMatching(/is retired/)])
      const named = await post('/Patient/$validate', someone({ meta: { profile: [canonical] } }))
      expect([issuesOf(named), JSON.stringify(named.body)]).toEqual([
        ['warning processing Patient.meta.profile[0]'],
        expect.stringContaining('is retired'),
      ])
    }
    await stored({ ...retired, status: 'active' })
    expect(await checked(someone(), url)).toEqual(WITHOUT)
  })

  it('does not define its extension while it is retired', async () => {
    const url = newUrl()
    const said = { 'Extension.url': { fixedUri: url }, 'Extension.value[x]': { min: 1, type: [{ code: 'boolean' }] } }
    const about = { kind: 'complex-type', type: 'Extension', context: [{ type: 'element', expression: 'Patient' }] }
    const extension = profile(url, said, { ...about, baseDefinition: `${BASE}Extension` })
    await stored({ ...extension, status: 'retired' })
    const having = someone({ extension: [{ url, valueString: 'x' }] })
    expect(issuesOf(await post('/Patient/$validate', having))).toEqual(['warning not-supported Patient.extension[0]'])
    await stored(extension)
    expect(issuesOf(await post('/Patient/$validate', having))).toEqual([expect.stringMatching(/^error .* Patient\.extension\[0\]/)])
  })

  it('is reported as unusable if its base is missing or circular', async () => {
    const [lost, first, second] = [newUrl(), newUrl(), newUrl()]
    await stored(profile(lost, { 'Patient.birthDate': { min: 1 } }, { baseDefinition: newUrl() }))
    await stored(profile(first, { 'Patient.birthDate': { min: 1 } }, { baseDefinition: second }))
    await stored(profile(second, { 'Patient.birthDate': { min: 1 } }, { baseDefinition: first }))
    for (const url of [lost, first, second]) {
      expect((await checked(someone(), url))[0]).toBe(422)
      const answer = await post('/Patient/$validate', someone({ meta: { profile: [url] } }))
      expect([answer.status, ...issuesOf(answer)]).toEqual([200, 'warning processing Patient.meta.profile[0]'])
    }
  })

  it('has its rules evaluated, within a time limit', async () => {
    const url = newUrl()
    const rule = (key: string, expression: string) => ({ key, severity: 'error', human: key, expression })
    const constraint = [rule('own-1', "name.family.matches('^[A-Z]+$')"), rule('own-2', "'a'.matches('^(a+)+$').not()")]
    const bomb = rule('own-3', `name.family.matches('^(([a-z])+.)+[A-Z]([a-z])+$')`)
    await stored(profile(url, { Patient: { constraint: [...constraint, bomb] } }))
    const [, ...found] = await checked(someone({ name: [{ family: 'a'.repeat(60) }] }), url)
    expect(found.toSorted()).toEqual(['error invariant Patient', 'error invariant Patient', 'warning too-costly Patient'])
  })
})

describe('Stored value sets and code systems', () => {
  const concepts = (...codes: readonly string[]): Tree => ({ concept: codes.map((code) => ({ code })) })
  const codeSystem = (url: string, ...codes: readonly string[]): Tree => ({
    resourceType: 'CodeSystem', id: randomUUID(), url, status: 'active', content: 'complete', ...concepts(...codes),
  }) // biome-ignore format: one resource
  const valueSet = (url: string, include: Tree): Tree => ({
    resourceType: 'ValueSet', id: randomUUID(), url, status: 'active', compose: { include: [include] },
  }) // biome-ignore format: one resource

  it('are not used while they are retired, and a bound value set is reported', async () => {
    const [url, codes, system] = [newUrl(), newUrl(), newUrl()]
    const binding = { strength: 'required', valueSet: codes }
    await stored(profile(url, { 'Basic.code': { binding } }, { type: 'Basic', baseDefinition: `${BASE}Basic` }))
    const basic = { resourceType: 'Basic', text: NARRATIVE, code: { coding: [{ system, code: 'blue' }] } }
    const set = valueSet(codes, { system, filter: [{ property: 'concept', op: 'is-a', value: 'red' }] })
    const concepts = await stored({ ...codeSystem(system, 'red', 'blue'), status: 'retired' })
    await stored({ ...set, status: 'retired' })
    expect(await checked(basic, url)).toEqual([200, 'warning not-supported Basic.code'])
    await stored(set)
    expect(await checked(basic, url)).toEqual([200, 'information not-supported Basic.code'])
    await stored({ ...concepts, status: 'active' })
    expect(await checked(basic, url)).toEqual([200, 'error code-invalid Basic.code'])
  })

  it('decide membership of codes when they are created, changed and deleted', async () => {
    const [url, codes, system] = [newUrl(), newUrl(), newUrl()]
    const binding = { strength: 'required', valueSet: codes }
    await stored(profile(url, { 'Basic.code': { binding } }, { type: 'Basic', baseDefinition: `${BASE}Basic` }))
    const basic = { resourceType: 'Basic', text: NARRATIVE, code: { coding: [{ system, code: 'blue' }] } }
    expect(await checked(basic, url)).toEqual([200, 'information not-supported Basic.code'])
    const filter = [{ property: 'concept', op: 'is-a', value: 'red' }]
    const { id } = await stored(valueSet(codes, { system, ...concepts('red') }))
    expect(await checked(basic, url)).toEqual([200, 'error code-invalid Basic.code'])
    const naming = { ...basic, id: 'a', meta: { profile: [url] } }
    expect(await applied(naming)).toEqual([200, 'code-invalid'])
    await stored({ ...valueSet(codes, { system, filter }), id })
    expect(await checked(basic, url)).toEqual([200, 'information not-supported Basic.code'])
    const { id: ofSystem } = await stored({ ...codeSystem(system), concept: [{ code: 'red', concept: [{ code: 'blue' }] }] })
    expect(await checked(basic, url)).toEqual(FINE)
    expect(await applied(naming)).toEqual([200, 'informational'])
    await client.delete(`/CodeSystem/${ofSystem}`)
    expect(await checked(basic, url)).toEqual([200, 'information not-supported Basic.code'])
  })
})

describe('A definition beside R4 and packages', () => {
  const told = async (resource: Tree) => issuesOf(await put(`/${resource.resourceType}/${resource.id}`, resource, EVERYTHING))
  const US_CORE_PATIENT = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
  const MEANS_NOTHING = 'warning business-rule'

  it.each([
    ['a type of R4', `${BASE}Patient`, {}],
    ['a profile of US Core', US_CORE_PATIENT, {}],
    ['another version of one', US_CORE_PATIENT, { version: '99.0.0' }],
  ])('does not change %s', async (_, url, more) => {
    expect(await told(profile(url, { 'Patient.gender': { max: '0' } }, more))).toContain(`${MEANS_NOTHING} StructureDefinition.url`)
    const found = await checked(someone({ gender: 'male' }), url)
    expect([found[0], found]).toEqual([200, expect.not.arrayContaining(['error structure Patient'])])
    expect((await checked(born, `${url}|99.0.0`))[0]).toBe(422)
  })

  it('does not change a value set of R4', async () => {
    const url = 'http://hl7.org/fhir/ValueSet/administrative-gender'
    const include = [{ system: 'http://example.org/none' }]
    expect(await told({ resourceType: 'ValueSet', id: randomUUID(), url, status: 'active', compose: { include } })).toContain(
      `${MEANS_NOTHING} ValueSet.url`,
    )
    expect(issuesOf(await post('/Patient/$validate', someone({ gender: 'male' })))).toEqual(['information informational'])
  })

  it.each([
    ['is of another FHIR version', { fhirVersion: '3.0.1' }, 'StructureDefinition'],
    ['is a logical model', { kind: 'logical' }, 'StructureDefinition'],
    ['is retired', { status: 'retired' }, 'StructureDefinition.status'],
  ])('is reported as unused with the reason if it %s', async (_, more, expression) => {
    const found = await told(profile(newUrl(), { 'Patient.photo': { min: 1 } }, more))
    expect(found).toContain(`${MEANS_NOTHING} ${expression}`)
  })

  it.each([
    ['an unknown element', { 'Patient.nope': { min: 1 } }],
    ['an unknown type', { 'Patient.name': { type: [{ code: 'Foo' }] } }],
    ['a slice without a discriminator', { 'Patient.telecom': { sliceName: 'phone', min: 1 } }],
  ])('is reported with the location if it names %s, on upload and by $validate', async (_, elements) => {
    const resource = profile(newUrl(), elements)
    const place = `${MEANS_NOTHING} StructureDefinition.differential.element[0]`
    expect(await told(resource)).toEqual([place])
    expect(issuesOf(await post('/StructureDefinition/$validate', resource))).toContain(place)
  })

  it('causes no warning if it is used', async () => {
    expect(await told(profile(newUrl(), { 'Patient.photo': { min: 1 } }))).toEqual(['information informational'])
  })
})

describe('The CapabilityStatement', () => {
  const onlyPackages = 'on AWS the CapabilityStatement names the profiles of packages only'
  const resourcesOf = ({ body }: { readonly body: Tree }): readonly Tree[] => body.rest[0].resource
  const supported = async (type: string): Promise<readonly string[]> =>
    resourcesOf(await get('/metadata')).find((each) => each.type === type)!.supportedProfile ?? []

  itOnEmbedded(onlyPackages)('names stored profiles as they are created, changed, retired, deleted and recreated', async () => {
    const [url, other] = [newUrl(), newUrl()]
    const before = await supported('Patient')
    expect(before).not.toContain(url)
    const { id } = await stored(profile(url, { 'Patient.birthDate': { min: 1 } }))
    expect(await supported('Patient')).toEqual([...before.slice(0, 1), ...[...before.slice(1), url].toSorted()])
    await stored(profile(url, { 'Basic.author': { min: 1 } }, { id, type: 'Basic', baseDefinition: `${BASE}Basic` }))
    expect([await supported('Patient'), (await supported('Basic')).includes(url)]).toEqual([before, true])
    await patch(`/StructureDefinition/${id}`, [{ op: 'replace', path: '/url', value: other }])
    const named = await supported('Basic')
    expect([url, other].map((each) => named.includes(each))).toEqual([false, true])
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { id, status: 'retired' }))
    expect(await supported('Patient')).toEqual(before)
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { id, status: 'draft' }))
    expect(await supported('Patient')).toContain(url)
    await client.delete(`/StructureDefinition/${id}`)
    expect(await supported('Patient')).toEqual(before)
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }, { id }))
    expect(await supported('Patient')).toContain(url)
  })

  itOnEmbedded(onlyPackages)('names no other definitions, and keeps the profiles of packages', async () => {
    const all = async () => resourcesOf(await get('/metadata')).flatMap(({ supportedProfile = [] }) => supportedProfile)
    const before = await all()
    await stored(profile(newUrl(), { 'Patient.birthDate': { min: 1 } }, { status: 'retired' }))
    await stored(profile(newUrl(), { 'Patient.birthDate': { min: 1 } }, { kind: 'logical' }))
    const about = { kind: 'complex-type', type: 'Extension', context: [{ type: 'element', expression: 'Patient' }] }
    await stored(profile(newUrl(), { 'Extension.url': { min: 1 } }, { ...about, baseDefinition: `${BASE}Extension` }))
    for (const url of [`${BASE}Patient`, 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'])
      await stored(profile(url, { 'Basic.author': { min: 1 } }, { type: 'Basic', baseDefinition: `${BASE}Basic` }))
    expect(await all()).toEqual(before)
  })

  itOnEmbedded(onlyPackages)('omits stored profiles without a token', async () => {
    const url = newUrl()
    await stored(profile(url, { 'Patient.birthDate': { min: 1 } }))
    const answer = await fetch(`${client.base()}/metadata`)
    expect([answer.status, (await answer.text()).includes(url)]).toEqual([200, false])
  })
})

it('$apply-fhirpath validates by stored profiles', async () => {
  const url = newUrl()
  await stored(profile(url, { 'Patient.birthDate': { min: 1 } }))
  expect(await applied(someone({ meta: { profile: [url] } }))).toEqual([200, 'required'])
  expect((await get(`/StructureDefinition?url=${encodeURIComponent(url)}`)).body.total).toBe(1)
})
