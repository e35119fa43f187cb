/** Specification 4.2: search by token, string, date, reference, uri and number; sorting, paging, strictness. Rows of query → ids. @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { issuesOf, type Tree, withServer } from './server.ts'

const { get, put, post, delete: remove } = withServer()

const PATIENTS: readonly Tree[] = [
  {
    id: 'p1',
    active: true,
    gender: 'female',
    birthDate: '1970-05-14',
    name: [{ family: 'Ångström', given: ['Eva', 'Maria'] }],
    identifier: [{ system: 'urn:mrn', value: 'ABC-1', type: { coding: [{ system: 'urn:t', code: 'MR' }] } }],
    meta: { tag: [{ system: 'urn:tag', code: 'blue' }], profile: ['http://example.org/p|1.0'] },
  },
  {
    id: 'p2',
    active: false,
    gender: 'male',
    birthDate: '1970',
    name: [{ family: 'Angst' }, { text: 'Chalmers, Peter' }],
    telecom: [{ system: 'phone', value: '555 1234' }],
    managingOrganization: { reference: 'Organization/o1' },
  },
  {
    id: 'p3',
    gender: 'male',
    birthDate: '1980-01-01',
    name: [{ family: '100%_done*' }],
    generalPractitioner: [{ reference: 'Practitioner/d1' }, { identifier: { system: 'urn:npi', value: '99' } }],
    deceasedDateTime: '2020-02-29T10:00:00+01:00',
  },
  {
    id: 'p4',
    name: [{ family: 'a,b|c$d' }],
    address: [{ city: 'Bern', postalCode: '3000' }],
    communication: [{ language: { coding: [{ system: 'urn:ietf:bcp:47', code: 'de' }] } }],
  },
]

/** By the letters somebody may write them with who has others. */
const SPELLED = [
  ['Straße', 'STRASSE strasse'],
  ['GROẞE', 'große grosse'],
  ['Øster Łódź', 'oster%20lodz ØSTER'],
  ['Ægir Œuvre', 'aegir%20oeuvre'],
  ['Þórður Đurić', 'thordur%20duric'],
  ['ＡＢＣ　ｄｅｆ', 'abc%20def'],
  ['ﬁnn ĳssel', 'finn%20ijssel'],
  ['Işık', 'isik ISIK'],
  ['ΟΔΥΣΣΕΥΣ', 'Οδυσσεύς οδυσσευσ ΟΔΥΣ'],
  ['한국', '한국'],
] as const

const ORDERED: readonly Tree[] = [
  { id: 't1', occurrenceTiming: { event: ['2020-01-01'] } },
  { id: 't2', occurrenceDateTime: '2020-01-01' },
].map((more) => ({ status: 'active', intent: 'order', subject: { reference: 'Patient/p1' }, ...more }))

const OBSERVATIONS: readonly Tree[] = [
  {
    id: 'a',
    status: 'final',
    code: { coding: [{ system: 's1', code: 'x', display: 'Body Weight' }], text: 'Mass of body' },
    effectiveDateTime: '2020',
  },
  {
    id: 'b',
    status: 'amended',
    code: {
      coding: [
        { system: 's2', code: 'x' },
        { system: 's1', code: 'y' },
      ],
    },
    effectiveDateTime: '2020-05',
    subject: { reference: 'Patient/p1' },
  },
  {
    id: 'c',
    status: 'final',
    code: { coding: [{ code: 'x' }] },
    effectiveDateTime: '2020-05-14T10:00:00.5Z',
    subject: { reference: 'Patient/p1/_history/1' },
  },
  {
    id: 'd',
    status: 'final',
    code: { text: 'nothing coded' },
    effectivePeriod: { start: '2021-01-01', end: '2021-03' },
    subject: { reference: 'http://elsewhere.org/fhir/Patient/p1' },
  },
  {
    id: 'e',
    status: 'final',
    code: { coding: [{ system: 's1', code: 'X' }] },
    effectivePeriod: { start: '2021-06' },
    subject: { reference: 'Group/p1' },
  },
]

const RISKS: readonly Tree[] = [0.1, 0.15, 0.2, 1.5].map((probabilityDecimal, i) => ({
  id: `r${i}`,
  status: 'final',
  subject: { reference: 'Patient/p1' },
  prediction: [{ probabilityDecimal }],
}))

const VALUE_SETS: readonly Tree[] = ['http://a.org/x', 'http://a.org/x/y', 'http://a.org/xy', 'urn:oid:1.2.3'].map((url, i) => ({
  id: `v${i}`,
  status: 'draft',
  url,
}))

beforeAll(async () => {
  const all = [
    [PATIENTS, 'Patient'],
    [SPELLED.map(([family], i) => ({ id: `s${i}`, name: [{ family }] })), 'Person'],
    [ORDERED, 'ServiceRequest'],
    [OBSERVATIONS, 'Observation'],
    [RISKS, 'RiskAssessment'],
    [VALUE_SETS, 'ValueSet'],
  ] as const
  const entry = all.flatMap(([resources, resourceType]) =>
    resources.map((resource) => ({
      resource: { resourceType, ...resource },
      request: { method: 'PUT', url: `${resourceType}/${resource.id}` },
    })),
  )
  const { status, text } = await post('/', { resourceType: 'Bundle', type: 'transaction', entry })
  if (status !== 200) throw new Error(text)
})

const ids = async (query: string): Promise<string> => {
  const { status, body, text } = await get(query)
  if (status !== 200) throw new Error(`${status} ${text}`)
  return (body.entry ?? []).map(({ resource }: Tree) => resource.id).join(' ')
}

describe.each<[string, readonly (readonly [query: string, ids: string])[]]>([
  [
    'token',
    [
      ['Observation?code=x', 'a b c'],
      ['Observation?code=s1|x', 'a'],
      ['Observation?code=s1|X', 'e'],
      ['Observation?code=s1|', 'a b e'],
      ['Observation?code=|x', 'c'],
      ['Observation?code=s2|x,s1|X', 'b e'],
      ['Observation?code=x&code=y', 'b'],
      ['Observation?code:not=x', 'd e'],
      ['Observation?code:not=x,X', 'd'],
      ['Observation?code:text=body', 'a'],
      ['Observation?code:text=mass', 'a'],
      ['Observation?code:missing=true', ''],
      ['Observation?status=amended', 'b'],
      ['Observation?status=http://hl7.org/fhir/observation-status|amended', 'b'],
      ['Observation?code=unknown', ''],
      ['Observation?_id=a,c', 'a c'],
      ['Patient?identifier=abc-1', 'p1'],
      ['Patient?identifier=urn:mrn|ABC-1', 'p1'],
      ['Patient?identifier=urn:other|ABC-1', ''],
      ['Patient?identifier:of-type=urn:t|MR|abc-1', 'p1'],
      ['Patient?identifier:of-type=urn:t|XX|abc-1', ''],
      ['Patient?identifier:of-type=urn:x|MR|abc-1', ''],
      ['Patient?identifier:of-type=urn:t|MR|abc', ''],
      ['Patient?active=true', 'p1'],
      ['Patient?active=false', 'p2'],
      ['Patient?active:missing=true', 'p3 p4'],
      ['Patient?gender=MALE', 'p2 p3'],
      ['Patient?phone=555 1234', 'p2'],
      ['Patient?deceased=true', 'p3'],
      ['Patient?_tag=urn:tag|blue', 'p1'],
      ['Patient?language=urn:ietf:bcp:47|de', 'p4'],
    ],
  ],
  [
    'string',
    [
      ['Patient?family=ang', 'p1 p2'],
      ['Patient?family=ÅNGST', 'p1 p2'],
      ['Patient?family:exact=Angst', 'p2'],
      ['Patient?family:exact=angst', ''],
      ['Patient?family:contains=NGST', 'p1 p2'],
      ['Patient?name=chalmers', 'p2'],
      ['Patient?name=mar', 'p1'],
      ['Patient?name:contains=peter', 'p2'],
      ['Patient?family:contains=%_', 'p3'],
      ['Patient?family=100%25', 'p3'],
      ['Patient?family:contains=done*', 'p3'],
      ['Patient?family=a\\,b', 'p4'],
      ['Patient?family=a\\,b|c\\$d', 'p4'],
      ['Patient?family=angst,100', 'p1 p2 p3'],
      ['Patient?name=ang&given=eva', 'p1'],
      ['Patient?family:missing=false', 'p1 p2 p3 p4'],
      ['Patient?address=bern', 'p4'],
      ['Patient?address-city=be', 'p4'],
    ],
  ],
  [
    'string, in other spellings',
    SPELLED.flatMap(([, texts], i) => texts.split(' ').map((text) => [`Person?name=${text}`, `s${i}`] as const)),
  ],
  [
    'date',
    [
      ['ServiceRequest?occurrence=ne2019', 't2'],
      ['ServiceRequest?occurrence=2020', 't2'],
      ['ServiceRequest?occurrence:missing=false', 't1 t2'],
      ['Observation?date=2020', 'a b c'],
      ['Observation?date=2020-05', 'b c'],
      ['Observation?date=2020-05-14', 'c'],
      ['Observation?date=2020-05-14T10:00:00Z', 'c'],
      ['Observation?date=2020-05-14T12:00%2B02:00', 'c'],
      ['Observation?date=ne2020', 'd e'],
      ['Observation?date=gt2020-05', 'a d e'],
      ['Observation?date=lt2020-05', 'a'],
      ['Observation?date=ge2020-05', 'a b c d e'],
      ['Observation?date=le2020-05', 'a b c'],
      ['Observation?date=sa2020-05', 'd e'],
      ['Observation?date=eb2021', 'a b c'],
      ['Observation?date=2021', 'd'],
      ['Observation?date=ge2021-02&date=le2021-02', 'd'],
      ['Observation?date=gt2030', 'e'],
      ['Observation?date=2020-05,2021', 'b c d'],
      ['Patient?birthdate=1970', 'p1 p2'],
      ['Patient?birthdate=lt1975', 'p1 p2'],
      ['Patient?birthdate:missing=true', 'p4'],
      ['Patient?death-date=2020-02-29', 'p3'],
      ['Patient?_lastUpdated=gt2000', 'p1 p2 p3 p4'],
      ['Patient?_lastUpdated=lt2000', ''],
    ],
  ],
  [
    'reference',
    [
      ['Observation?subject=Patient/p1', 'b c'],
      ['Observation?subject=p1', 'b c e'],
      ['Observation?subject:Group=p1', 'e'],
      ['Observation?subject:Patient=p1', 'b c'],
      ['Observation?patient=p1', 'b c'],
      ['Observation?patient=Patient/p1', 'b c'],
      ['Observation?subject=http://elsewhere.org/fhir/Patient/p1', 'd'],
      ['Observation?subject:Patient=Group/p1', ''],
      ['Observation?subject:missing=true', 'a'],
      ['Observation?subject=Patient/nobody', ''],
      ['Patient?organization=o1', 'p2'],
      ['Patient?general-practitioner:identifier=urn:npi|99', 'p3'],
    ],
  ],
  [
    'uri',
    [
      ['ValueSet?url=http://a.org/x', 'v0'],
      ['ValueSet?url:below=http://a.org/x', 'v0 v1'],
      ['ValueSet?url:above=http://a.org/x/y', 'v0 v1'],
      ['ValueSet?url=urn:oid:1.2.3', 'v3'],
      ['Patient?_profile=http://example.org/p', 'p1'],
      ['Patient?_profile=http://example.org/p|1.0', 'p1'],
      ['Patient?_profile=http://example.org/p|2.0', ''],
    ],
  ],
  [
    'number',
    [
      ['RiskAssessment?probability=0.1', 'r0'],
      ['RiskAssessment?probability=0.15', 'r1'],
      ['RiskAssessment?probability=0.2', 'r1 r2'],
      ['RiskAssessment?probability=gt0.15', 'r2 r3'],
      ['RiskAssessment?probability=ge0.15', 'r1 r2 r3'],
      ['RiskAssessment?probability=lt0.15', 'r0'],
      ['RiskAssessment?probability=le0.15', 'r0 r1'],
      ['RiskAssessment?probability=ne0.1', 'r1 r2 r3'],
      ['RiskAssessment?probability=2', 'r3'],
      ['RiskAssessment?probability=1.50', 'r3'],
      ['RiskAssessment?probability=ap0.16', 'r1'],
      ['RiskAssessment?probability=15e-2', 'r1'],
    ],
  ],
  [
    '_sort',
    [
      ['Patient?_sort=birthdate', 'p2 p1 p3 p4'],
      ['Patient?_sort=-birthdate', 'p3 p2 p1 p4'],
      ['Patient?_sort=family', 'p3 p4 p2 p1'],
      ['Patient?_sort=gender,-birthdate', 'p1 p3 p2 p4'],
      ['Patient?_sort=-_id', 'p4 p3 p2 p1'],
      ['Observation?_sort=date', 'a b c d e'],
      ['Observation?_sort=code', 'c e a b d'],
      ['Observation?_sort=subject', 'd e b c a'],
    ],
  ],
])('%s', (_, rows) => {
  it.each(rows)('finds for %s', async (query, expected) => expect(await ids(`/${query}`)).toBe(expected))
})

describe('strictness', () => {
  it('ignores unknown parameters and omits them from the self link', async () => {
    const { body } = await get('/Patient?nonsense=1&active=true&_format=json')
    expect(body.total).toBe(1)
    expect(body.link[0].url).toMatch(/\/Patient\?active=true&_format=json$/)
    expect((await get('/Patient?nonsense=1', { prefer: 'handling=lenient' })).status).toBe(200)
  })
  it('rejects unknown parameters if strict', async () => {
    const answer = await get('/Patient?nonsense=1', { prefer: 'handling=strict' })
    expect([answer.status, issuesOf(answer)]).toEqual([400, ['error not-found']])
    expect(answer.body.issue[0].details.text).toContain('nonsense')
  })
  it.each([
    'Patient?birthdate=soon',
    'Patient?birthdate=2020-13',
    'Patient?birthdate=2020-02-30',
    'Patient?birthdate=0000',
    'Patient?birthdate=2020-01-01T24:00:00Z',
    'Patient?birthdate=2020-01-01T10:00:00%2B25:00',
    'Patient?birthdate=2020-01-01T10:00:00-14:01',
    'Patient?birthdate=2020-01-01T10:00:00%2B10:60',
    'Patient?family:below=x',
    'Patient?active:exact=true',
    'Patient?_sort=nonsense',
    'Patient?_sort=birthdate,-birthdate',
    'Patient?_count=x',
    'Patient?_count=-1',
    'Patient?_total=many',
    'Patient?active:missing=maybe',
    'Patient?address:exact=x',
    'Patient?address:missing=true',
    'Patient?identifier:of-type=a|b',
    'Patient?identifier:of-type=urn:t|MR|abc-1|x',
    'Patient?identifier:of-type=|MR|abc-1',
    'Patient?identifier:of-type=urn:t||abc-1',
    'Patient?identifier:of-type=urn:t|MR|',
    'RiskAssessment?probability=high',
    'Patient?family=',
    'Patient?_cursor=x',
    'Patient?_skip=x',
    '?_type:not=Patient',
    '?_type:foo=Patient',
    '?_type=Observation&value-concept:exact=x',
    'Patient?_sort:asc=birthdate',
    'Patient?_count:max=1',
    'Patient?_include:every=Patient:organization',
  ])('rejects %s with 400', async (query) => expect((await get(`/${query}`)).status).toBe(400))
})

it('an Identifier without a value is found by its system', async () => {
  await put('/Basic/nameless', { resourceType: 'Basic', id: 'nameless', code: { text: 'x' }, identifier: [{ system: 'urn:nameless' }] })
  await put('/Basic/named', {
    resourceType: 'Basic',
    id: 'named',
    code: { text: 'x' },
    identifier: [{ system: 'urn:nameless', value: '1' }],
  })
  expect(await ids('/Basic?identifier=urn:nameless|')).toBe('named nameless')
  expect(await ids('/Basic?identifier=urn:nameless|1')).toBe('named')
})

it('an address of a network is searched as a string', async () => {
  const source = { observer: { display: 'x' } }
  const agent = [{ requestor: true, network: { address: 'Host-7.example' } }]
  await put('/AuditEvent/networked', {
    resourceType: 'AuditEvent',
    id: 'networked',
    type: { code: 'x' },
    recorded: '2020-01-01T00:00:00Z',
    agent,
    source,
  })
  for (const query of ['address:exact=Host-7.example', 'address:contains=7.ex', 'address:missing=false'])
    expect([query, await ids(`/AuditEvent?${query}`)]).toEqual([query, 'networked'])
  expect(await ids('/AuditEvent?address:exact=host-7.example')).toBe('')
})

describe('pages', () => {
  const pages = async (path: string, headers?: Record<string, string>): Promise<string[][]> => {
    const found: string[][] = []
    for (let next: string | undefined = path; next !== undefined; ) {
      const { body }: { body: Tree } = await get(next, headers)
      found.push((body.entry ?? []).map(({ resource }: Tree) => resource.id))
      next = body.link.find(({ relation }: Tree) => relation === 'next')?.url
      headers = undefined
    }
    return found
  }
  it.each(['', '&_sort=date', '&_sort=-date', '&_sort=code', '&_sort=-subject', '&_sort=status,-date'])(
    'contain everything once, in order, by cursor: %s',
    async (sort) => {
      const whole = (await pages(`/Observation?_count=100${sort}`)).flat()
      for (const count of [1, 2, 3]) {
        const parts = await pages(`/Observation?_count=${count}${sort}`)
        expect(parts.flat()).toEqual(whole)
        expect(
          parts
            .map(({ length }) => length)
            .slice(0, -1)
            .every((length) => length === count),
        ).toBe(true)
      }
    },
  )
  it('are available by offset, in both forms', async () => {
    expect(await pages('/Observation?_count=2', { prefer: 'pagination=offset-skip' })).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect(await pages('/Observation?_count=2', { prefer: 'pagination=offset-page' })).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect((await get('/Observation?_skip=10001')).status).toBe(400)
  })
  it('continue by cursor while resources are created and deleted', async () => {
    const { body } = await get('/Observation?_count=2')
    const next = body.link.find(({ relation }: Tree) => relation === 'next').url
    await put('/Observation/aa', { resourceType: 'Observation', id: 'aa', status: 'final', code: { text: 'x' } })
    await remove('/Observation/a')
    expect((await ids(next)).split(' ').slice(0, 2)).toEqual(['c', 'd'])
    await remove('/Observation/aa')
    await put('/Observation/a', { resourceType: 'Observation', ...OBSERVATIONS[0] })
  })
  it('show no query in the links of a search by POST', async () => {
    const { status, body } = await post('/Observation/_search', 'code=x&_count=2&_sort=-date', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect([status, body.total, body.entry.map(({ resource }: Tree) => resource.id)]).toEqual([200, 3, ['a', 'b']])
    const next: string = body.link.find(({ relation }: Tree) => relation === 'next').url
    expect(next).not.toMatch(/code=|_sort/)
    expect(await ids(next)).toBe('c')
  })
  it('contain only the total for _summary=count and _count=0', async () => {
    for (const query of ['_summary=count', '_count=0']) {
      const { body } = await get(`/Observation?${query}`)
      expect([body.total, body.entry]).toEqual([5, undefined])
    }
    expect((await get('/Observation?_total=none')).body.total).toBeUndefined()
  })
})

describe('system search', () => {
  it('finds across all types by common parameters', async () => {
    const { body } = await get('/?_id=p1,a,v0')
    expect(body.entry.map(({ fullUrl }: Tree) => fullUrl.split('/').slice(-2).join('/'))).toEqual([
      'Observation/a',
      'Patient/p1',
      'ValueSet/v0',
    ])
    expect(await ids('/?_type=Patient,ValueSet&_id=p1,a,v0')).toBe('p1 v0')
    expect((await get('/?_type=Kangaroo')).status).toBe(400)
  })
})

it('a search sees every preceding write', async () => {
  for (let i = 0; i < 30; i++) {
    await put('/Patient/fresh', { resourceType: 'Patient', id: 'fresh', name: [{ family: `Fresh${i}` }] })
    expect(await ids(`/Patient?family=Fresh${i}`)).toBe('fresh')
    if (i > 0) expect(await ids(`/Patient?family:exact=Fresh${i - 1}`)).toBe('')
  }
  await remove('/Patient/fresh')
  expect(await ids('/Patient?family=Fresh')).toBe('')
})

it('a search with odd values returns a result or 4xx', async () => {
  const odd = [
    "'",
    '"',
    '%00',
    '\\',
    '|',
    '||',
    '$',
    ',',
    ',,,',
    '*',
    '%',
    '_',
    '(',
    '[',
    ';--',
    '\u{1F600}',
    'é'.repeat(3000),
    '%ED%A0%80',
    'ge',
    'ap2020',
    '-',
    'NaN',
    '1e999',
    '9'.repeat(60),
  ]
  const names = [
    'family',
    'identifier',
    'birthdate',
    'general-practitioner',
    '_id',
    '_lastUpdated',
    '_profile',
    'family:exact',
    'family:contains',
    'identifier:not',
    'identifier:of-type',
    'nonsense',
    'a:b:c',
    ':',
    '_sort',
    '_count',
    '_cursor',
    '_type',
    '_elements',
    '_summary',
  ]
  for (const name of names) {
    const statuses = await Promise.all(
      odd.map(
        async (value) =>
          (await get(`/Patient?${encodeURIComponent(name)}=${value.includes('%') ? value : encodeURIComponent(value)}`)).status,
      ),
    )
    expect([name, statuses.filter((status) => status !== 200 && status !== 400 && status !== 414 && status !== 431)]).toEqual([name, []])
  }
  const many = Array.from({ length: 9_999 }, (_, i) => `v${i}`).join(',')
  const answer = await post('/Patient/_search', `identifier=${many},ABC-1`, { 'content-type': 'application/x-www-form-urlencoded' })
  expect([answer.status, answer.body.total]).toEqual([200, 1])
})
