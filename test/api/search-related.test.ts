/** Specification 4.2: chains, reverse chains, what is included, and compartments. @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { isExternalServer, type Tree, withServer } from './server.ts'

const { get, put, post } = withServer()

const RESOURCES: readonly Tree[] = [
  { resourceType: 'Organization', id: 'root', name: 'Root' },
  { resourceType: 'Organization', id: 'clinic', name: 'Clinic', partOf: referenceTo('Organization/root') },
  { resourceType: 'Organization', id: 'ward', name: 'Ward', partOf: referenceTo('Organization/clinic') },
  { resourceType: 'Practitioner', id: 'doc', name: [{ family: 'Doe' }] },
  { resourceType: 'Patient', id: 'anna', name: [{ family: 'Anders' }], birthDate: '1970', managingOrganization: referenceTo('Organization/ward'), generalPractitioner: [referenceTo('Practitioner/doc')] },
  { resourceType: 'Patient', id: 'bert', name: [{ family: 'Berg' }], birthDate: '1980', managingOrganization: referenceTo('Organization/root') },
  { resourceType: 'Patient', id: 'carl', name: [{ family: 'Carlsen' }], birthDate: '1990' },
  { resourceType: 'Group', id: 'anders', type: 'person', actual: true, name: 'Anders' },
  { resourceType: 'Encounter', id: 'e1', status: 'finished', class: { code: 'AMB' }, subject: referenceTo('Patient/anna') },
  observation('o1', { subject: 'Patient/anna', code: 'x', encounter: referenceTo('Encounter/e1'), performer: [referenceTo('Practitioner/doc')], date: '2020-01-01' }),
  observation('o2', { subject: 'Patient/anna', code: 'y', date: '2021-01-01' }),
  observation('o3', { subject: 'Patient/bert', code: 'x', date: '2022-01-01', performer: [referenceTo('Patient/carl'), referenceTo('Patient/anna')] }),
  observation('o4', { subject: 'Group/anders', code: 'x', hasMember: [referenceTo('Observation/o1')] }),
  observation('o5', { subject: 'Patient/unknown', code: 'z', derivedFrom: [referenceTo('Observation/o4')] }),
  { resourceType: 'Provenance', id: 'prov', recorded: '2020-01-01T00:00:00Z', target: [referenceTo('Observation/o1')], agent: [{ who: referenceTo('Practitioner/doc') }] },
  { resourceType: 'QuestionnaireResponse', id: 'qr', status: 'completed', questionnaire: 'http://q.example/q|2', contained: [patient('p')], subject: referenceTo('#p') },
  { resourceType: 'QuestionnaireResponse', id: 'qr1', status: 'completed', questionnaire: 'http://q.example/q', subject: referenceTo('Patient/other') },
  { resourceType: 'Questionnaire', id: 'q9', status: 'draft', url: 'http://q.example/form', version: '1.9', title: 'Form' },
  { resourceType: 'Questionnaire', id: 'z10', status: 'active', url: 'http://q.example/form', version: '1.10', title: 'Form' },
  { resourceType: 'Questionnaire', id: 'q10b', status: 'retired', url: 'http://q.example/form', version: '1.10-beta', title: 'Form' },
  { resourceType: 'Questionnaire', id: 'plain', status: 'active', url: 'http://q.example/plain' },
  { resourceType: 'QuestionnaireResponse', id: 'form9', status: 'completed', questionnaire: 'http://q.example/form|1.9' },
  { resourceType: 'QuestionnaireResponse', id: 'form', status: 'in-progress', questionnaire: 'http://q.example/form' },
  { resourceType: 'QuestionnaireResponse', id: 'part', status: 'completed', questionnaire: 'http://q.example/form|1.10#part', author: referenceTo('Practitioner/doc') },
  { resourceType: 'QuestionnaireResponse', id: 'plainly', status: 'amended', questionnaire: 'http://q.example/plain#x' },
  { resourceType: 'CarePlan', id: 'plan', status: 'active', intent: 'plan', subject: referenceTo('Patient/carl'), instantiatesCanonical: ['http://q.example/form', 'http://q.example/plain'] },
  { resourceType: 'Condition', id: 'c1', subject: referenceTo('Patient/anna'), code: { coding: [{ code: 'flu' }] } },
] // biome-ignore format: a table

beforeAll(async () => {
  for (const each of RESOURCES) expect([each.id, (await put(`/${each.resourceType}/${each.id}`, each)).status]).toEqual([each.id, 201])
})

const search = async (query: string): Promise<Tree> => {
  const { body, status } = await get(`/${query}`, { prefer: 'handling=strict' })
  expect([query, status]).toEqual([query, 200])
  return body
}
const named = (entries: readonly Tree[] | undefined, mode: string): string =>
  (entries ?? [])
    .filter(({ search }) => search.mode === mode)
    .map(({ resource }) => resource.id)
    .join(' ')

describe.each<[string, readonly (readonly [query: string, ids: string])[]]>([
  [
    'a reference',
    [
      ['QuestionnaireResponse?questionnaire=http://q.example/q', 'qr qr1'],
      ['QuestionnaireResponse?questionnaire=http://q.example/q|2', 'qr'],
      ['QuestionnaireResponse?questionnaire=http://q.example/q|1', ''],
      ['QuestionnaireResponse?questionnaire=http://q.example/form', 'form form9 part'],
      ['QuestionnaireResponse?questionnaire=http://q.example/form|1.10', 'part'],
      ['QuestionnaireResponse?questionnaire=http://q.example/plain', 'plainly'],
      ['QuestionnaireResponse?subject=%23p', ''],
      ['QuestionnaireResponse?subject=Patient/p,p', ''],
      ['QuestionnaireResponse?subject=other', 'qr1'],
    ],
  ],
  [
    'a chain',
    [
      ['Observation?subject:Patient.family=anders', 'o1 o2'],
      ['Observation?subject:Patient.name=anders', 'o1 o2'],
      ['Observation?patient.family=anders,berg', 'o1 o2 o3'],
      ['Observation?patient.family=berg&code=x', 'o3'],
      ['Observation?patient.family:exact=anders', ''],
      ['Observation?patient.birthdate=lt1975', 'o1 o2'],
      ['Observation?patient.family:missing=false', 'o1 o2 o3'],
      ['Observation?patient.organization.name=ward', 'o1 o2'],
      ['Observation?patient.organization:Organization.partof.name=clinic', 'o1 o2'],
      ['Observation?patient.organization.partof.partof.name=root', 'o1 o2'],
      ['Observation?patient._id=bert', 'o3'],
      ['Observation?patient:Patient._id=bert', 'o3'],
      ['Observation?subject._id=anders', 'o4'],
      ['Observation?subject:Group._id=anders', 'o4'],
      ['Observation?performer.name=carlsen', 'o3'],
      ['Observation?performer.name=carlsen&performer.name=anders', 'o3'],
      ['Observation?performer.family=carlsen&performer.birthdate=1970', 'o3'],
      ['Observation?patient.family=nobody', ''],
      ['QuestionnaireResponse?questionnaire.status=draft', 'form form9'],
      ['QuestionnaireResponse?questionnaire.status=active', 'form part plainly'],
      ['QuestionnaireResponse?questionnaire:Questionnaire.status=retired', 'form'],
      ['QuestionnaireResponse?questionnaire.title=nothing', ''],
      ['CarePlan?instantiates-canonical:Questionnaire.version=1.9', 'plan'],
      ['Encounter?subject:Patient.general-practitioner:Practitioner.family=doe', 'e1'],
      ['Patient?organization.name=ward&_sort=-birthdate', 'anna'],
    ],
  ],
  [
    'a reverse chain',
    [
      ['Patient?_has:Observation:patient:code=x', 'anna bert'],
      ['Patient?_has:Observation:patient:code=y', 'anna'],
      ['Patient?_has:Observation:patient:code=x,y', 'anna bert'],
      ['Patient?_has:Observation:subject:code=s|x', 'anna bert'],
      ['Patient?_has:Observation:patient:code=x&_has:Observation:patient:code=y', 'anna'],
      ['Patient?_has:Observation:patient:code=x&family=berg', 'bert'],
      ['Patient?_has:Observation:patient:_has:Provenance:target:agent=Practitioner/doc', 'anna'],
      ['Patient?_has:Observation:patient:encounter.status=finished', 'anna'],
      ['Observation?patient._has:Condition:patient:code=flu', 'o1 o2'],
      ['Practitioner?_has:Patient:general-practitioner:organization.partof.name=clinic', 'doc'],
      ['Patient?_has:Observation:patient:code=nothing', ''],
      ['Patient?_has:Observation:performer:code=x', 'anna carl'],
      ['Group?_has:Observation:subject:code=x', 'anders'],
      ['Questionnaire?_has:QuestionnaireResponse:questionnaire:status=completed', 'q9 z10'],
      ['Questionnaire?_has:QuestionnaireResponse:questionnaire:status=in-progress', 'q10b q9 z10'],
      ['Questionnaire?_has:QuestionnaireResponse:questionnaire:author=Practitioner/doc', 'z10'],
      ['Questionnaire?_has:QuestionnaireResponse:questionnaire:status=amended', 'plain'],
    ],
  ],
])('%s', (_, rows) => {
  it.each(rows)('finds %s → %s', async (query, expected) => expect(named((await search(query)).entry, 'match')).toBe(expected))
})

it('a chain with an unknown parameter is ignored, or rejected if strict', async () => {
  for (const query of ['Observation?patient.nothing=x', 'Patient?_has:Observation:patient:nothing=x', 'Observation?nothing.name=x']) {
    expect([query, (await get(`/${query}`, { prefer: 'handling=strict' })).status]).toEqual([query, 400])
    expect([query, (await get(`/${query}`)).status]).toEqual([query, 200])
  }
})

it.each([
  'Observation?code.text=x',
  'Observation?subject:Practitioner.name=x',
  'Patient?_has:Observation:patient=x',
  'Patient?_has:Nothing:patient:code=x',
  'Patient?_has:Observation:encounter:code=x',
  'Organization?partof.partof.partof.partof.partof.name=x',
])('a search is rejected with 400: %s', async (query) => expect((await get(`/${query}`)).status).toBe(400))

describe.each<[string, readonly (readonly [query: string, matches: string, included: string])[]]>([
  [
    'includes',
    [
      ['Observation?_id=o1&_include=Observation:patient', 'o1', 'anna'],
      ['Observation?_id=o1&_include=Observation:subject:Patient', 'o1', 'anna'],
      ['Observation?_id=o4&_include=Observation:subject:Patient', 'o4', ''],
      ['Observation?_id=o1,o2&_include=Observation:patient', 'o1 o2', 'anna'],
      ['Observation?_id=o1&_include=*', 'o1', 'e1 anna doc'],
      ['Observation?_id=o1&_include=Observation:*', 'o1', 'e1 anna doc'],
      ['Observation?_id=o1&_include=Observation:patient&_include=Patient:organization', 'o1', 'anna'],
      ['Observation?_id=o1&_include=Observation:patient&_include:iterate=Patient:organization', 'o1', 'anna ward'],
      ['Observation?_id=o1&_include=Observation:patient&_include:iterate=Patient:organization&_include:iterate=Organization:partof', 'o1', 'anna ward clinic root'],
      ['Observation?_id=o5&_include=Observation:patient', 'o5', ''],
      ['Observation?_id=o5&_include:iterate=Observation:derived-from&_include:iterate=Observation:has-member', 'o5', 'o4 o1'],
      ['Observation?_id=o1,o4&_include=Observation:has-member', 'o1 o4', ''],
      ['QuestionnaireResponse?_id=form9&_include=QuestionnaireResponse:questionnaire', 'form9', 'q9'],
      ['QuestionnaireResponse?_id=form&_include=QuestionnaireResponse:questionnaire', 'form', 'z10'],
      ['QuestionnaireResponse?_id=part,plainly&_include=*', 'part plainly', 'doc z10 plain'],
      ['QuestionnaireResponse?_id=qr&_include=QuestionnaireResponse:questionnaire', 'qr', ''],
      ['CarePlan?_include=CarePlan:instantiates-canonical:Questionnaire', 'plan', 'z10 plain'],
      ['CarePlan?_include=CarePlan:instantiates-canonical:Measure', 'plan', ''],
    ], // biome-ignore format: a table
  ],
  [
    'reverse includes',
    [
      ['Patient?_id=anna&_revinclude=Observation:patient', 'anna', 'o1 o2'],
      ['Patient?_id=anna,bert&_revinclude=Observation:patient', 'anna bert', 'o1 o2 o3'],
      ['Patient?_id=anna&_revinclude=Condition:patient&_revinclude=Encounter:patient', 'anna', 'c1 e1'],
      ['Patient?_id=anna&_revinclude=Observation:patient&_revinclude:iterate=Provenance:target', 'anna', 'o1 o2 prov'],
      ['Observation?_id=o1&_revinclude=*', 'o1', 'o4 prov'],
      ['Patient?_id=carl&_revinclude=Observation:patient', 'carl', ''],
      ['Questionnaire?_id=q9&_revinclude=QuestionnaireResponse:questionnaire', 'q9', 'form form9'],
      ['Questionnaire?_id=plain&_revinclude=*', 'plain', 'plan plainly'],
      ['Patient?_id=anna&_revinclude=Observation:performer:Practitioner', 'anna', ''],
    ],
  ],
])('%s', (_, rows) => {
  it.each(rows)('finds and includes %s → %s, %s', async (query, matches, included) => {
    const { entry, total } = await search(query)
    expect([named(entry, 'match'), named(entry, 'include')]).toEqual([matches, included])
    expect(total).toBe(matches.split(' ').length)
  })
})

it.each([
  'Observation?_include=Observation',
  'Observation?_include=Nothing:patient',
  'Observation?_include=Observation:code',
  'Observation?_include=Observation:patient:Practitioner',
  'Observation?_include=Observation:*:Nothing',
  'Observation?_revinclude=Observation:nothing',
])('a search is rejected with 400: %s', async (query) => expect((await get(`/${query}`)).status).toBe(400))

describe('a compartment', () => {
  it.each([
    ['Patient/anna/Observation', 'o1 o2 o3'],
    ['Patient/anna/Observation?code=y', 'o2'],
    ['Patient/anna/Observation?_sort=-date', 'o3 o2 o1'],
    ['Patient/anna/Condition', 'c1'],
    ['Patient/bert/Condition', ''],
    ['Patient/nobody/Observation', ''],
    ['Encounter/e1/Observation', 'o1'],
    ['Practitioner/doc/Observation', 'o1'],
    ['Patient/anna/*', 'anna c1 e1 o1 o2 o3'],
    ['Patient/anna/*?_type=Observation,Condition', 'c1 o1 o2 o3'],
  ])('finds %s → %s', async (path, expected) => {
    const { entry } = await search(path)
    expect(named(entry, 'match').split(' ').sort().join(' ')).toBe(expected.split(' ').sort().join(' '))
  })
  it('is paged, and searched by POST', async () => {
    const first = await search('Patient/anna/Observation?_count=2')
    const next = await search(first.link.find(({ relation }: Tree) => relation === 'next').url.replace(/^.*\/fhir\//, ''))
    expect([named(first.entry, 'match'), named(next.entry, 'match')]).toEqual(['o1 o2', 'o3'])
    const posted = await post('/Patient/anna/Observation/_search', 'code=y', { 'content-type': 'application/x-www-form-urlencoded' })
    expect(named(posted.body.entry, 'match')).toBe('o2')
  })
  it('exists for the compartment types only', async () => {
    expect((await get('/Organization/root/Observation')).status).toBe(404)
    expect((await get('/Patient/anna/Nothing')).status).toBe(404)
  })
})

describe('a search on the whole system', () => {
  it.each([
    ['?_type=Patient&family=anders', 'anna'],
    ['?family=anders&_type=Patient', 'anna'],
    ['?_type=Observation,Condition&subject=Patient/anna', 'c1 o1 o2'],
    ['?_type=Observation,Condition&patient=anna', 'c1 o1 o2'],
    ['?_type=Observation,Condition&code=x', 'o1 o3 o4'],
    ['?_type=Observation,Condition&_id=o1,c1', 'c1 o1'],
    ['?_type=Organization,Group,Practitioner&_id=root,anders', 'anders root'],
    ['?_type=Patient&_has:Observation:patient:code=y', 'anna'],
    ['?_type=Observation&subject:Patient.family=berg', 'o3'],
    ['?_type=Patient,Practitioner&_type=Practitioner', 'doc'],
    ['?_type=Patient&_type=Practitioner', ''],
    ['?_type=Patient&_sort=-birthdate', 'carl bert anna'],
    ['?_type=Patient&_group=birthdate&_groupSort=_id', 'anna bert carl'],
    ['Patient/anna/*?_type=Observation&code=y', 'o2'],
  ])('finds %s → %s', async (path, expected) => {
    const { entry, link } = await search(path)
    expect(named(entry, 'match')).toBe(expected)
    expect([...new URL(link[0].url).searchParams].length).toBe([...new URLSearchParams(path.split('?')[1])].length)
  })
  it('ignores a parameter that not all of its types have, or rejects it if strict', async () => {
    for (const query of ['_type=Patient,Organization&family=anders', 'family=anders', '_type=Patient&_type=Organization&family=x']) {
      const strict = await get(`/?${query}`, { prefer: 'handling=strict' })
      expect([query, strict.status, strict.body.issue[0].code]).toEqual([query, 400, 'not-found'])
      expect((await get(`/?${query}`)).body.link[0].url).not.toContain('family')
    }
    for (const query of [
      '_type=Patient,Organization&_sort=birthdate',
      '_type=Device,Medication&_sort=manufacturer',
      '_type=Nothing',
      '_type=Patient&birthdate=x',
    ])
      expect([query, (await get(`/?${query}`)).status]).toEqual([query, 400])
  })
  it('accepts a shared parameter unless its meaning differs between the types', async () => {
    const { status, body } = await get('/?_type=Observation,Organization&_type=Observation,Organization&code=x')
    expect([status, body.type]).toEqual([200, 'searchset'])
    const other = await get('/?_type=Observation,Group&value=x')
    expect([other.status, other.body.type]).toEqual([200, 'searchset'])
    const subject = await get('/?_type=Observation,Encounter&subject=anna')
    expect([subject.status, subject.body.issue?.[0].code]).toEqual([400, 'not-supported'])
  })
})

it('the self link shows the parameters that were used', async () => {
  const self = async (path: string) => new URL((await search(path)).link[0].url).search
  expect(await self('Patient?_count=5000')).toBe('?_count=1000')
  expect(await self('Patient?_count=7&_sort=-_id&_count=7&_sort=-_id&_format=x/json&_format=json')).toBe(
    '?_count=7&_sort=-_id&_format=json',
  )
  expect(await self('Patient?_group=birthdate&_groupCount=500&_count=100')).toBe('?_group=birthdate&_groupCount=100&_count=10')
  const counted = await search('Patient?_summary=count&_count=5')
  expect([counted.entry, counted.total]).toEqual([undefined, 3])
})

it.each([
  '/Patient?_sort=_id&_sort=-_id',
  '/Patient?_count=5&_count=7',
  '/Patient?_total=none&_total=accurate',
  '/Patient?_summary=text&_summary=data',
  '/Patient?_elements=name&_elements=photo',
  '/Patient?_group=birthdate&_group=gender',
  '/Patient?_group=birthdate&_groupSort=_id&_groupSort=-_id',
  '/Patient?_group=birthdate&_groupCount=1&_groupCount=2',
  '/Patient?_skip=1&_skip=2',
  '/Patient?_page=1&_page=2',
  '/Patient?_cursor=a&_cursor=b',
  '/?_type=Patient&_sort=_id&_sort=-_id',
  '/Patient/_history?_count=1&_count=2',
  '/Patient/_history?_since=2020&_since=2021',
  '/_history?_elements=name&_elements=photo',
  '/Patient/anna/_history?_at=2020&_at=2021',
  '/Patient/anna?_summary=text&_summary=data',
  '/Patient/anna?_elements=name&_elements=photo',
  '/Patient/anna/$everything?_count=1&_count=2',
  '/Patient/anna/$everything?start=2020&start=2021',
])('a duplicate parameter is rejected: %s', async (path) => {
  const { status, body } = await get(path)
  const [, name] = /[?&](\w+)=[^&]*$/.exec(path)!
  const text = `The parameter ${name} is given several values, of which only one can count`
  expect([status, body.issue[0].code, body.issue[0].details.text]).toEqual([400, 'duplicate', text])
})

it('X-Consistency: eventual returns indexed versions, with the index lag where known', async () => {
  for (const path of ['/Patient?family=anders', '/Observation?subject:Patient.family=anders', '/Observation?_group=code']) {
    const { status, headers, body } = await get(path, { 'x-consistency': 'eventual' })
    expect([path, status, body.type, headers.get('x-index-lag')]).toEqual([path, 200, 'searchset', isExternalServer ? null : '0 versions'])
  }
  expect((await get('/Patient?family=anders')).headers.get('x-index-lag')).toBeNull()
})
