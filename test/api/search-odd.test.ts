/** No search, however odd, is answered by a 500 or keeps the server busy: names, modifiers, chains and values put together at random. */
import { beforeAll, expect, it } from '@jest/globals'
import { randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed, isFullRun } from '../fixtures/long-runs.ts'
import { type Tree, withServer } from './server.ts'
import { worstRequests } from './worst-requests.ts'

const { get, put, post, send } = withServer()

beforeAll(async () => {
  await put('/Patient/a', { resourceType: 'Patient', id: 'a', name: [{ family: 'A%_*' }], birthDate: '2020', gender: 'other' })
  await put('/Observation/o', {
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: { coding: [{ system: 's', code: 'c' }] },
    subject: { reference: 'Patient/a' },
    valueQuantity: { value: 1.5, system: 'http://unitsofmeasure.org', code: 'mg' },
  })
})

const NAMES = [
  'code',
  'subject',
  'patient',
  'date',
  'value-quantity',
  'code-value-quantity',
  'status',
  '_id',
  '_lastUpdated',
  '_has',
  '_tag',
  'combo-code-value-quantity',
  'encounter',
  'x',
  '',
  '__proto__',
  'constructor',
]
const ENDS = [
  '',
  ':missing',
  ':not',
  ':exact',
  ':contains',
  ':text',
  ':Patient',
  ':identifier',
  ':of-type',
  ':above',
  ':',
  '::',
  '.name',
  '.',
  '..',
  '.birthdate',
  ':Patient.name',
  '.organization.partof.name',
  ':Observation:patient:code',
  ':Observation:subject:_has:Provenance:target:agent',
  ':iterate',
]
const VALUES = [
  'c',
  's|c',
  '|',
  '||',
  '$',
  'c$1',
  'c$gt1||mg',
  'c$1|http://unitsofmeasure.org|mg',
  '1',
  'gt1',
  'ne-0',
  '1e999',
  '1e-999',
  'ap',
  '2020',
  'ap2020',
  '2020-13',
  'Patient/a',
  'http://a/b?c=d',
  '\\',
  '\\,',
  ',',
  ',,',
  '*',
  '%',
  '_',
  '.*',
  '[a-z]',
  '(',
  '\u0000',
  '\ud800',
  '\u{1f600}',
  "'; DROP TABLE x",
  '"',
  'true',
  'null',
  ' ',
  '1|2|3|4',
  '5|http://unitsofmeasure.org|[',
  '5|http://unitsofmeasure.org|mg/(',
  '0|0|0|km',
]
const RESULTS = ['_sort', '_count', '_include', '_revinclude', '_include:iterate', '_group', '_groupSort', '_groupCount', '_total', '_summary', '_elements', '_skip', '_page', '_cursor', '_type', '_format'] // biome-ignore format: lists

it('random searches never return 500', async () => {
  const seed = firstSeed()
  const random = randomOf(seed)
  const pair = (): [string, string] =>
    random.below(4) === 0
      ? [random.pick(RESULTS), random.pick([...VALUES, 'date', '-code', 'code:code', 'Observation:patient', '*', '1'])]
      : [
          random.pick(NAMES) + random.pick(ENDS),
          Array.from({ length: 1 + random.below(3) }, () => random.pick(VALUES)).join(random.pick([',', '', '|', '$'])),
        ]
  for (let round = 0; round < caseCountOf(300, 5_000); round++) {
    const query = new URLSearchParams(Array.from({ length: 1 + random.below(4) }, pair)).toString()
    const path = random.pick(['/Observation', '/Patient', '', '/Patient/a/Observation', '/Location'])
    const prefer = random.pick(['handling=strict', 'handling=lenient', 'explain', 'pagination=offset-page'])
    const { status, body } = await get(`${path}?${query}`, { prefer })
    expect([seed, path, query, status >= 200 && status < 500]).toEqual([seed, path, query, true])
    if (status >= 400) expect(body.resourceType).toBe('OperationOutcome')
  }
})

it.each<[string, string, number]>([
  ['10,000 values', `/Observation?code=${Array.from({ length: 10_000 }, (_, i) => `c${i}`).join(',')}`, 200],
  ['10,000 quantities', `/Observation?value-quantity=${Array.from({ length: 10_000 }, (_, i) => i).join(',')}`, 400],
  ['20 links of a chain', `/Organization?${'partof.'.repeat(20)}name=x`, 400],
  ['a chain through everything', '/Composition?subject.subject.subject.subject.name=x', 400],
  ['a chain with types', '/Composition?subject:Patient.organization.partof.name=x', 200],
  ['20 reverse links', `/Patient?${'_has:Observation:patient:'.repeat(20)}code=x`, 400],
  ['a URL of 100 kB', `/Observation?code=${'x'.repeat(100_000)}`, 200],
  ['300 criteria', `/Observation?${Array.from({ length: 300 }, () => 'code=c').join('&')}`, 400],
  ['10 sort keys', '/Observation?_sort=date,status,code,subject,patient,encounter,category,performer,_id,_lastUpdated', 200],
  ['11 sort keys', '/Observation?_sort=date,status,code,subject,patient,encounter,category,performer,_id,_lastUpdated,device', 400],
  ['a sort key twice', '/Observation?_sort=date,-date', 400],
  ['2,000 sort keys', `/Observation?_sort=${Array.from({ length: 2_000 }, () => 'date').join(',')}`, 400],
  ['2,000 sort keys of groups', `/Observation?_group=code&_groupSort=${Array.from({ length: 2_000 }, () => '-date').join(',')}`, 400],
  ['a sort key of groups twice', '/Observation?_group=code&_groupSort=date,date', 400],
  ['10,001 values', `/Observation?code=${Array.from({ length: 10_001 }, (_, i) => `c${i}`).join(',')}`, 400],
  ['10,001 values in two parameters', `/Observation?code=${'c,'.repeat(5_000)}c&status=${'final,'.repeat(4_999)}final`, 400],
  ['10,000 values that a chain asks of many types', `/Observation?subject.identifier=${'i,'.repeat(9_999)}i`, 400],
  ['10,001 types', `/?_type=${'Patient,'.repeat(10_000)}Patient`, 400],
  ['10 chains through every type', `/Observation?${Array.from({ length: 10 }, () => 'focus._id=x').join('&')}`, 400],
  ['10,001 parameters', `/Observation?${'x&'.repeat(10_001)}`, 400],
  ['200 elements', `/Observation?_elements=${Array.from({ length: 200 }, (_, i) => `a${i}`).join(',')}`, 200],
  ['201 elements', `/Observation?_elements=${Array.from({ length: 201 }, (_, i) => `a${i}`).join(',')}`, 400],
  ['50 includes', `/Observation?_id=o${'&_include=Observation:patient'.repeat(50)}`, 200],
  ['51 includes', `/Observation?_id=o${'&_include=Observation:patient'.repeat(51)}`, 400],
])('%s has its limit', async (_, query, expected) => {
  const { status, body } = await get(query)
  expect([status, body.resourceType]).toEqual([expected, expected === 200 ? 'Bundle' : 'OperationOutcome'])
})

it('wildcards and patterns are matched as plain text', async () => {
  const found = async (query: string) => ((await get(`/Patient?${query}`)).body.entry ?? []).map(({ resource }: Tree) => resource.id)
  for (const [text, hits] of [['a%25_*', ['a']], ['a.*', []], ['%25', []], ['a_%25', []]] as const) expect([text, await found(`family=${text}`)]).toEqual([text, hits]) // biome-ignore format: a table
  expect(await found('family:contains=%25_')).toEqual(['a'])
  expect(await found('family:contains=.')).toEqual([])
})

it('small versions of the worst requests never return 500', async () => {
  for (const { name, method, path, headers, body } of worstRequests(isFullRun ? 0.1 : 0.002)) {
    const { status, body: answer } = await send(method, path, body, headers)
    expect([name, status >= 200 && (status < 500 || status === 503)]).toEqual([name, true])
    if (status >= 400) expect([name, answer.resourceType]).toEqual([name, 'OperationOutcome'])
  }
  expect((await get('/Patient/a')).status).toBe(200)
})

const form = { 'content-type': 'application/x-www-form-urlencoded' }

it('a form of up to two megabytes is accepted', async () => {
  const text = `code=c,${'x'.repeat(2_000_000 - 'code=c,'.length)}`
  const { status, body } = await post('/Observation/_search', text, form)
  expect([status, body.total]).toEqual([200, 1])
  expect((await post('/Observation/_search', `${text}x`, form)).status).toBe(413)
})

const ofMany = { resourceType: 'Observation', id: 'of-many', status: 'final', code: { text: 'c' } }
it.each([
  ['a URL', (query: string) => get(`/Observation?code=c${query}`), 400],
  ['the URL of a read', (query: string) => get(`/Observation/none?code=c${query}`), 400],
  ['If-None-Exist', (query: string) => post('/Observation', JSON.stringify(ofMany), { 'if-none-exist': `code=c${query}` }), 400],
  // Decoding them all would take hours.
  ['the URL of an entry', (query: string) => entry({ method: 'GET', url: `Observation?code=c${query}` }), '400 Bad Request', 7_000_000],
  [
    'If-None-Exist of an entry',
    (query: string) => entry({ method: 'POST', url: 'Observation', ifNoneExist: `code=c${query}` }),
    '400 Bad Request',
    7_000_000,
  ],
])('%s with more than 10,000 parameters is too-costly', async (_, ask, status, count = 10_000) => {
  const { body, ...answer } = await ask('&x'.repeat(count))
  const { response } = body.entry?.[0] ?? {}
  expect([response?.status ?? answer.status, (response?.outcome ?? body).issue[0].code]).toEqual([status, 'too-costly'])
})
const entry = (request: object) =>
  post('/', JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry: [{ request, resource: ofMany }] }))

it('a path with too many segments is 404', async () => {
  expect((await get(`/Observation${'/'.repeat(99)}x`)).status).toBe(404)
  expect((await get(`${'/'.repeat(200)}Observation`)).status).toBe(404)
})

it('a form of up to 10,000 parameters is accepted', async () => {
  const text = `code=c${'&x=1'.repeat(9_999)}`
  expect((await post('/Observation/_search', text, form)).body.total).toBe(1)
  expect((await post('/Observation/_search', `${text}&x=1`, form)).status).toBe(413)
})
