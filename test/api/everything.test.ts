/** $everything of a patient over HTTP. https://hl7.org/fhir/R4/patient-operation-everything.html @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { issuesOf, newId, type TestResponse, type Tree, withServer } from './server.ts'

const { put, get, post, delete: remove } = withServer()

const PARTY = newId()
const id = (name: string): string => `${PARTY}-${name}`
const to = (type: string, name: string): Tree => referenceTo(`${type}/${id(name)}`)
const A = `Patient/${id('a')}`
const encounter = (name: string, period: Tree, more: Tree = {}): Tree => ({
  ...{ resourceType: 'Encounter', id: id(name), status: 'finished', class: { code: 'AMB' }, subject: referenceTo(A) },
  ...(period === undefined ? {} : { period }),
  ...more,
})
const provenance = (name: string, target: Tree, more: Tree = {}): Tree => ({
  ...{ resourceType: 'Provenance', id: id(name), target: [target], recorded: '2020-01-01T00:00:00Z' },
  agent: [{ who: to('Practitioner', 'signs') }],
  ...more,
})

const OWN: readonly Tree[] = [
  { resourceType: 'Device', id: id('device'), patient: referenceTo(A) },
  encounter('e-2019', { start: '2019-03-01', end: '2019-03-02' }, { serviceProvider: to('Organization', 'clinic') }),
  encounter('e-open', { start: '2018-01-01' }, { location: [{ location: to('Location', 'ward') }] }),
  encounter('e-undated', undefined),
  {
    resourceType: 'MedicationRequest',
    id: id('m'),
    status: 'active',
    intent: 'order',
    subject: referenceTo(A),
    medicationReference: to('Medication', 'pill'),
  },
  observation(id('o-2019'), { subject: A, date: '2019-03-01T10:00:00Z', performer: [to('PractitionerRole', 'role')] }),
  observation(id('o-2021'), { subject: A, date: '2021-06-01', performer: [to('Practitioner', 'never'), to('Practitioner', 'gone')] }),
  patient(id('linked'), { link: [{ other: referenceTo(A), type: 'seealso' }] }),
  provenance('p-own', referenceTo(A)),
]
const REFERRED: readonly Tree[] = [
  { resourceType: 'Practitioner', id: id('doctor') },
  { resourceType: 'Practitioner', id: id('general') },
  { resourceType: 'Practitioner', id: id('signs') },
  {
    resourceType: 'PractitionerRole',
    id: id('role'),
    practitioner: to('Practitioner', 'doctor'),
    organization: to('Organization', 'whole'),
  },
  { resourceType: 'Organization', id: id('clinic'), name: 'Clinic', partOf: to('Organization', 'whole') },
  { resourceType: 'Organization', id: id('whole'), name: 'Whole' },
  { resourceType: 'Location', id: id('ward') },
  { resourceType: 'Medication', id: id('pill') },
  provenance('p-other', to('Observation', 'o-2019')),
]
const OTHERS: readonly Tree[] = [
  patient(id('b')),
  observation(id('of-b'), { subject: `Patient/${id('b')}`, performer: [to('Practitioner', 'of-b')] }),
  { resourceType: 'Practitioner', id: id('of-b') },
  provenance('p-b', to('Observation', 'of-b')),
]

const nameOf = ({ resourceType, id }: Tree): string => `${resourceType}/${id}`
const namesIn = ({ body }: Pick<TestResponse, 'body'>): readonly string[] =>
  (body.entry ?? []).map(({ resource }: Tree) => nameOf(resource))
const PATIENT = patient(id('a'), { generalPractitioner: [to('Practitioner', 'general')] })
const ALL: readonly string[] = [A, ...OWN.map(nameOf), ...REFERRED.map(nameOf)]
const without = (...names: readonly string[]): readonly string[] =>
  ALL.filter((name) => !names.some((each) => name.endsWith(`/${id(each)}`)))
const only = (...names: readonly string[]): readonly string[] => ALL.filter((name) => names.some((each) => name.endsWith(`/${id(each)}`)))

beforeAll(async () => {
  const gone = { resourceType: 'Practitioner', id: id('gone') }
  const statuses: number[] = []
  for (const each of [PATIENT, ...OWN, ...REFERRED, ...OTHERS, gone]) statuses.push((await put(`/${nameOf(each)}`, each)).status)
  statuses.push((await remove(`/${nameOf(gone)}`)).status)
  expect([...new Set(statuses)]).toEqual([201, 204])
})

const everything = (query = '', headers?: Record<string, string>): Promise<TestResponse> => get(`/${A}/$everything${query}`, headers)

const nextOf = ({ body }: TestResponse): string | undefined => body.link.find(({ relation }: Tree) => relation === 'next')?.url

/** All of them. `between`: before each further one. */
async function pages(query: string, between?: (nth: number) => Promise<unknown>): Promise<readonly TestResponse[]> {
  const all = [await everything(query)]
  for (let next = nextOf(all[0]!); next !== undefined; next = nextOf(all.at(-1)!)) {
    await between?.(all.length)
    all.push(await get(next))
    expect(all.at(-1)!.status).toBe(200)
    expect(all.length).toBeLessThan(100)
  }
  return all
}

describe('$everything', () => {
  it('returns the Patient, its resources and those they refer to, in this order', async () => {
    const answer = await everything()
    expect([answer.status, answer.body.type, answer.body.total]).toEqual([200, 'searchset', 1 + OWN.length])
    expect(namesIn(answer)).toEqual(ALL)
    expect(answer.body.entry.map(({ search }: Tree) => search.mode)).toEqual(ALL.map((_, i) => (i <= OWN.length ? 'match' : 'include')))
    expect(answer.body.entry[0].fullUrl).toMatch(new RegExp(`/${A}$`))
    expect(answer.body.link.map(({ relation }: Tree) => relation)).toEqual(['self'])
  })

  it.each([1, 2, 5, 10, 18, 19, 20])('returns pages of %d with each resource once', async (count) => {
    const all = await pages(`?_count=${count}`)
    expect(all.flatMap(namesIn)).toEqual(ALL)
    for (const page of all.slice(0, -1)) expect(namesIn(page)).toHaveLength(count)
    if (all.length > 1) for (const { body } of all) expect(body).not.toHaveProperty('total')
  })

  it('returns at least one resource per page', async () => {
    expect((await pages('?_count=0')).map((page) => namesIn(page).length)).toEqual(ALL.map(() => 1))
  })

  it('reports the used parameters in its links', async () => {
    const asked = async (query: string) => new URL((await get(`/${A}/$everything${query}`)).body.link[0].url).search
    expect(await asked('?_count=5000&_elements=nothing,status&unknown=1')).toBe('?_count=1000&_elements=status')
    expect(await asked('?_count=0&_elements=nothing')).toBe('?_count=1')
  })

  it('returns the same for a page that is requested twice', async () => {
    for (const page of (await pages('?_count=6')).map(nextOf))
      if (page !== undefined) expect(namesIn(await get(page))).toEqual(namesIn(await get(page)))
  })

  it.each([
    ['?start=2019-03-01', without()],
    ['?start=2019-03-03', without('e-2019', 'o-2019', 'clinic', 'role', 'doctor', 'whole', 'p-other')],
    ['?end=2019-03-01', without('o-2021')],
    ['?end=2018-12-31', without('e-2019', 'o-2019', 'o-2021', 'clinic', 'role', 'doctor', 'whole', 'p-other')],
    ['?start=2021&end=2021-05', without('e-2019', 'o-2019', 'o-2021', 'clinic', 'role', 'doctor', 'whole', 'p-other')],
    ['?start=2019-03-01T10:00:00Z&end=2019-03-01T10:00:00Z', without('o-2021')],
  ])('filters by clinical dates and keeps undated resources: %s', async (query, expected) => {
    expect(namesIn(await everything(query))).toEqual(expected)
    expect((await pages(`${query}&_count=3`)).flatMap(namesIn)).toEqual(expected)
  })

  it.each([
    ['?_type=Patient', only('a', 'linked')],
    ['?_type=Observation', only('o-2019', 'o-2021')],
    ['?_type=Observation,Device', only('device', 'o-2019', 'o-2021')],
    ['?_type=Device&_type=Observation', only('device', 'o-2019', 'o-2021')],
    ['?_type=Practitioner', only('doctor', 'general', 'signs')],
    ['?_type=Provenance', only('p-own', 'p-other')],
    ['?_type=Goal', []],
    ['?_type=Location,Encounter&start=2019', only('e-2019', 'e-open', 'e-undated', 'ward')],
  ])('filters by type: %s', async (query, expected) => {
    expect(namesIn(await everything(query))).toEqual(expected)
    expect((await pages(`${query}&_count=1`)).flatMap(namesIn)).toEqual(expected)
  })

  it('filters by change, referenced resources also for unchanged ones', async () => {
    const { body } = await put(`/Practitioner/${id('doctor')}`, { resourceType: 'Practitioner', id: id('doctor') })
    const since = encodeURIComponent(new Date(Date.parse(body.meta.lastUpdated) - 1).toISOString())
    expect(namesIn(await everything(`?_since=${since}`))).toEqual(only('doctor'))
    expect(namesIn(await everything(`?_since=${encodeURIComponent(body.meta.lastUpdated)}`))).toEqual([])
    expect(namesIn(await everything('?_since=2020-01-01'))).toEqual(ALL)
    expect(namesIn(await everything(`?_since=${since}&_type=Observation`))).toEqual([])
  })

  it('returns the same by POST, with links that show no parameters', async () => {
    const parameter = [
      { name: 'start', valueDate: '2019-03-01' },
      { name: '_type', valueCode: 'Encounter' },
      { name: '_type', valueString: 'Observation,Practitioner' },
      { name: '_count', valueInteger: 2 },
      { name: 'of others', valueString: 'x' },
    ]
    let answer = await post(`/${A}/$everything?_elements=status`, { resourceType: 'Parameters', parameter })
    const found = [...namesIn(answer)]
    expect([answer.status, answer.body.link[0].url]).toEqual([200, expect.stringMatching(/\$everything\?_elements=status$/)])
    for (let next = nextOf(answer); next !== undefined; next = nextOf(answer)) {
      expect(next).toMatch(/\$everything\?_elements=status&_cursor=[\w.%-]+$/)
      answer = await get(next)
      expect(answer.body.entry[0].resource).not.toHaveProperty('subject')
      found.push(...namesIn(answer))
    }
    expect(found).toEqual(only('e-2019', 'e-open', 'e-undated', 'o-2019', 'o-2021', 'doctor', 'general', 'signs'))
    expect(namesIn(await post(`/${A}/$everything?_type=Device`, undefined))).toEqual(only('device'))
    for (const [body, expression] of [
      [{ resourceType: 'Patient' }, 'resourceType'],
      [{ resourceType: 'Parameters', parameter: [{ name: '_count', valueDecimal: 2 }] }, 'Parameters.parameter[0].value'],
      [{ resourceType: 'Parameters', parameter: [{ name: 'start' }] }, 'Parameters.parameter[0]'],
    ] as const) {
      const refused = await post(`/${A}/$everything`, body)
      expect([refused.status, issuesOf(refused)]).toEqual([400, [`error value ${expression}`]])
    }
  })

  it('returns pages for many references, some of them dangling', async () => {
    const doctors = Array.from({ length: 230 }, (_, i) => id(`many-${String(i).padStart(3, '0')}`))
    const there = doctors.filter((_, i) => i < 60 || i > 170)
    const much = observation(id('much'), {
      subject: `Patient/${id('many')}`,
      performer: doctors.map((each) => referenceTo(`Practitioner/${each}`)),
    })
    const entry = [patient(id('many')), much, ...there.map((each) => ({ resourceType: 'Practitioner', id: each }))].map((resource) => ({
      resource,
      request: { method: 'PUT', url: nameOf(resource) },
    }))
    expect((await post('/', { resourceType: 'Bundle', type: 'transaction', entry })).status).toBe(200)
    const expected = [`Patient/${id('many')}`, `Observation/${id('much')}`, ...there.map((each) => `Practitioner/${each}`)]
    for (const count of [1_000, 70, 52, 33]) {
      const found: string[] = []
      for (let next: string | undefined = `/Patient/${id('many')}/$everything?_count=${count}`; next !== undefined; ) {
        const page = await get(next)
        found.push(...namesIn(page))
        next = nextOf(page)
      }
      expect(found).toEqual(expected)
    }
  })

  it('returns every resource once during concurrent writes', async () => {
    const stays = ALL.filter((name) => !/fresh/.test(name))
    const all = await pages('?_count=2', async (nth) => {
      await put(`/Observation/${id(`fresh-${nth}`)}`, observation(id(`fresh-${nth}`), { subject: A }))
      // Its match stays, though it changes.
      await put(`/Encounter/${id('e-undated')}`, encounter('e-undated', undefined, { priority: { text: `${nth}` } }))
    })
    const found = all.flatMap(namesIn)
    expect(new Set(found).size).toBe(found.length)
    expect(found.filter((name) => !name.includes('fresh'))).toEqual(stays)
    for (const nth of all.keys()) await remove(`/Observation/${id(`fresh-${nth}`)}`)
  })

  it('sees the write of the index token', async () => {
    const answer = await put(`/Flag/${id('f')}`, {
      resourceType: 'Flag',
      id: id('f'),
      status: 'active',
      code: { text: 'x' },
      subject: referenceTo(A),
    })
    const token = { 'x-index-token': answer.headers.get('x-index-token')! }
    expect(namesIn(await everything('?_type=Flag', token))).toEqual([`Flag/${id('f')}`])
    await remove(`/Flag/${id('f')}`)
    expect((await everything('', { 'x-index-token': 'nonsense' })).status).toBe(400)
  })

  it('accepts a cursor only for its own request', async () => {
    const next = nextOf(await everything('?_count=2&_type=Observation,Encounter&start=2018'))!
    for (const [wrong, status] of [
      [next.replace('start=2018', 'start=2017'), 400],
      [next.replace('Observation%2CEncounter', 'Observation'), 400],
      [next.replace('start=2018', 'start=2018&_since=2020'), 400],
      [next.replace(id('a'), id('b')), 400],
      [`${next}x`, 400],
      [next.replace('_count=2', '_count=1'), 200],
      [next.replace('Observation%2CEncounter', 'Encounter%2CObservation'), 200],
      [next.replace('/$everything', '/Observation'), 400],
    ] as const)
      expect([wrong, (await get(wrong)).status]).toEqual([wrong, status])
  })

  it.each([
    ['/Patient/$everything', 403, /\$export/],
    ['/Observation/$everything', 404, /only of a Patient/],
    ['/Observation/x/$everything', 404, /only of a Patient/],
    ['/Nonsense/x/$everything', 404, /no resource type/],
    ['/Patient/never/$everything', 404, /Patient\/never/],
    ['/Patient/%20/$everything', 400, /logical id/],
    ['/$everything', 404, /path/],
    ['/Patient/never/$everything?start=nonsense', 400, /start/],
    ['/Patient/never/$everything?start=2020&end=2019', 400, /before/],
    ['/Patient/never/$everything?_since=x', 400, /_since/],
    ['/Patient/never/$everything?_type=Nonsense', 400, /Nonsense/],
    ['/Patient/never/$everything?_count=-1', 400, /_count/],
    ['/Patient/never/$everything?_cursor=x', 400, /cursor/],
  ])('rejects %s', async (path, status, text) => {
    const answer = await get(path)
    expect([answer.status, answer.body.issue[0].details.text]).toEqual([status, expect.stringMatching(text)])
    if (!path.includes('never?')) expect((await post(path, undefined)).status).toBe(status)
  })

  it('ignores unknown parameters unless strict, and is 404 for a deleted patient', async () => {
    expect(namesIn(await everything('?nonsense=1'))).toEqual(ALL)
    expect((await everything('?nonsense=1', { prefer: 'handling=strict' })).status).toBe(400)
    expect((await everything('?_pretty=true&_count=1', { prefer: 'handling=strict' })).status).toBe(200)
    await put(`/Patient/${id('gone')}`, patient(id('gone')))
    await remove(`/Patient/${id('gone')}`)
    const answer = await get(`/Patient/${id('gone')}/$everything`)
    expect([answer.status, issuesOf(answer)]).toEqual([404, ['error deleted']])
  })

  it('is claimed for Patient alone', async () => {
    const { resource } = (await get('/metadata')).body.rest[0]
    const definition = 'http://hl7.org/fhir/OperationDefinition/Patient-everything'
    const naming = resource.filter(({ operation }: Tree) => operation.some((each: Tree) => each.definition === definition))
    expect(naming.map(({ type }: Tree) => type)).toEqual(['Patient'])
  })
})
