/** $docref over HTTP: the stored documents of a patient. https://hl7.org/fhir/us/core/STU6.1/OperationDefinition-docref.html @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { patient, referenceTo } from '../fixtures/resources.ts'
import { newId, type TestResponse, type Tree, withServer } from './server.ts'

const { put, get, post } = withServer()

const PARTY = newId()
const id = (name: string): string => `${PARTY}-${name}`
const LOINC = 'http://loinc.org'
const CCD = '34133-9'
const NOTE = '11488-4'
const PROFILE = `http://example.org/${PARTY}/care-plan`
const strict = { prefer: 'handling=strict' }

type More = { readonly of?: string; readonly status?: string; readonly code?: string; readonly date: string; readonly during?: Tree }
const documentOf = (name: string, { of = 'a', status = 'current', code = CCD, date, during, ...more }: More & Tree): Tree => ({
  ...{ resourceType: 'DocumentReference', id: id(name), status, date, subject: referenceTo(`Patient/${id(of)}`) },
  type: { coding: [{ system: LOINC, code }] },
  content: [{ attachment: { url: 'urn:x' } }],
  ...(during === undefined ? {} : { context: { period: during } }),
  ...more,
})

const STORED: readonly Tree[] = [
  documentOf('march', { date: '2020-04-01T00:00:00Z', during: { start: '2020-03-01', end: '2020-03-31' } }),
  documentOf('june', { date: '2020-07-01T00:00:00Z', during: { start: '2020-06-01', end: '2020-06-30' }, code: NOTE }),
  documentOf('old', { date: '2020-03-15T00:00:00Z', during: { start: '2020-03-01', end: '2020-03-15' }, status: 'superseded' }),
  documentOf('wrong', { date: '2020-03-16T00:00:00Z', during: { start: '2020-03-01', end: '2020-03-31' }, status: 'entered-in-error' }),
  documentOf('open', { date: '2021-01-01T00:00:00Z', during: { start: '2020-12-01' }, meta: { profile: [`${PROFILE}|2`] } }),
  documentOf('undated', { date: '2019-01-01T00:00:00Z', code: NOTE }),
  documentOf('odd', { date: '2020-04-01T00:00:00Z', of: 'c', code: 'a,b|c' }),
  documentOf('even', { date: '2020-04-01T00:00:00Z', of: 'c', code: 'a' }),
  documentOf('of-b', { date: '2020-04-01T00:00:00Z', of: 'b', during: { start: '2020-03-01', end: '2020-03-31' } }),
]

beforeAll(async () => {
  const last = { 'x-consistency': 'strong' }
  for (const resource of [...['a', 'b', 'c'].map((name) => patient(id(name))), ...STORED])
    expect((await put(`/${resource.resourceType}/${resource.id}`, resource, last)).status).toBe(201)
})

const A = () => `patient=${id('a')}`
const of = (query: string, headers: Record<string, string> = strict) => get(`/DocumentReference/$docref?${query}`, headers)
const namesIn = ({ status, body }: TestResponse): readonly string[] => {
  expect([status, body.resourceType, body.type]).toEqual([200, 'Bundle', 'searchset'])
  return (body.entry ?? []).map(({ resource }: Tree) => resource.id.slice(PARTY.length + 1))
}
const posted = (...parameter: readonly Tree[]) =>
  post(
    '/DocumentReference/$docref',
    { resourceType: 'Parameters', parameter: [{ name: 'patient', valueId: id('a') }, ...parameter] },
    strict,
  )

/** Newest first. */
const ROWS: readonly (readonly [string, string, readonly Tree[], readonly string[]])[] = [
  ['current documents without a date', '', [], ['open', 'june', 'march', 'undated']],
  [
    'documents about a range of dates, superseded ones included',
    'start=2020-03-20T00:00:00Z&end=2020-06-10T00:00:00Z',
    [
      { name: 'start', valueDateTime: '2020-03-20T00:00:00Z' },
      { name: 'end', valueDateTime: '2020-06-10T00:00:00Z' },
    ],
    ['june', 'march'],
  ],
  ['documents since a date', 'start=2020-03-10', [{ name: 'start', valueDateTime: '2020-03-10' }], ['open', 'june', 'march', 'old']],
  ['documents until a date', 'end=2020-03-05', [{ name: 'end', valueString: '2020-03-05' }], ['march', 'old']],
  [
    'documents of one type',
    `type=${LOINC}|${NOTE}`,
    [{ name: 'type', valueCoding: { system: LOINC, code: NOTE, display: 'x' } }],
    ['june', 'undated'],
  ],
  ['documents of a code alone', `type=${CCD}`, [{ name: 'type', valueCoding: { code: CCD } }], ['open', 'march']],
  [
    'documents of a system alone',
    `type=${LOINC}|`,
    [{ name: 'type', valueCoding: { system: LOINC } }],
    ['open', 'june', 'march', 'undated'],
  ],
  [
    'documents of any of several types',
    `type=${LOINC}|${NOTE}&type=${CCD}`,
    [
      { name: 'type', valueCoding: { system: LOINC, code: NOTE } },
      { name: 'type', valueString: CCD },
    ],
    ['open', 'june', 'march', 'undated'],
  ],
  ['documents of a profile', `profile=${PROFILE}`, [{ name: 'profile', valueCanonical: PROFILE }], ['open']],
  ['documents for on-demand=false', 'on-demand=false', [{ name: 'on-demand', valueBoolean: false }], ['open', 'june', 'march', 'undated']],
  ['no documents for on-demand=true', 'on-demand=true', [{ name: 'on-demand', valueBoolean: true }], []],
]

describe('$docref', () => {
  it.each(ROWS)('returns %s', async (_, query, parameters, expected) => {
    expect(namesIn(await of(`${A()}&${query}`))).toEqual(expected)
    expect(namesIn(await posted(...parameters))).toEqual(expected)
  })

  it('accepts a patient by reference, and returns nothing for an unknown one', async () => {
    expect(namesIn(await of(`patient=Patient/${id('b')}`))).toEqual(['of-b'])
    const parameter = [{ name: 'patient', valueReference: { reference: `Patient/${id('b')}` } }]
    expect(namesIn(await post('/DocumentReference/$docref', { resourceType: 'Parameters', parameter }))).toEqual(['of-b'])
    const answer = await of(`patient=${id('never')}`)
    expect([namesIn(answer), answer.body.total]).toEqual([[], 0])
  })

  it('accepts a code that contains search delimiters', async () => {
    const type = { name: 'type', valueCoding: { system: LOINC, code: 'a,b|c' } }
    const parameter = [{ name: 'patient', valueId: id('c') }, type]
    expect(namesIn(await post('/DocumentReference/$docref', { resourceType: 'Parameters', parameter }))).toEqual(['odd'])
    expect(namesIn(await of(`patient=${id('c')}&type=${encodeURIComponent(`${LOINC}|a\\,b\\|c`)}`))).toEqual(['odd'])
    expect(namesIn(await of(`patient=${id('c')}&type=a,b`))).toEqual(['even'])
  })

  it('returns pages with the links of the search', async () => {
    const first = await of(`${A()}&_count=3&_summary=true`)
    const next = (body: Tree): string => body.link.find(({ relation }: Tree) => relation === 'next')?.url
    expect([namesIn(first), first.body.total]).toEqual([['open', 'june', 'march'], 4])
    expect(first.body.entry[0].resource.meta.tag).toContainEqual(expect.objectContaining({ code: 'SUBSETTED' }))
    expect(first.body.link[0].url).toMatch(/\/DocumentReference\?patient=/)
    const second = await get(next(first.body))
    expect([namesIn(second), next(second.body)]).toEqual([['undated'], undefined])
    const hidden = await posted({ name: '_count', valueInteger: 3 })
    for (const { url } of hidden.body.link) expect(url).not.toContain(id('a'))
    expect(namesIn(await get(next(hidden.body)))).toEqual(['undated'])
  })

  it('returns the used parameters of the URL in the self link if on-demand is true', async () => {
    const query = `${A()}&type=${CCD}&on-demand=true&_count=3`
    const { body } = await of(`${query}&unknown=1`, {})
    expect(body.link).toEqual([{ relation: 'self', url: expect.stringMatching(/\/DocumentReference\/\$docref\?[^?]+$/) }])
    expect(body.link[0].url.split('?')[1]).toBe(query)
    const hidden = await posted({ name: 'on-demand', valueBoolean: true })
    expect(hidden.body.link[0].url).toMatch(/\/DocumentReference\/\$docref$/)
  })
})

it('$docref rejects missing, duplicate, malformed and unknown parameters', async () => {
  const refused = async (answer: Promise<TestResponse>, status = 400) => {
    const { status: got, body } = await answer
    expect([got, body.resourceType]).toEqual([status, 'OperationOutcome'])
    return body.issue[0].code
  }
  expect(await refused(of(''))).toBe('required')
  expect(await refused(of(`${A()}&${A()}`))).toBe('duplicate')
  expect(await refused(of(`${A()}&start=2020&start=2021`))).toBe('duplicate')
  expect(await refused(of('patient=Group/1'))).toBe('value')
  expect(await refused(of('patient='))).toBe('value')
  expect(await refused(of(`${A()}&start=yesterday`))).toBe('value')
  expect(await refused(of(`${A()}&start=2021&end=2020`))).toBe('value')
  expect(await refused(of(`${A()}&on-demand=perhaps`))).toBe('value')
  expect(await refused(of(`${A()}&status=superseded`))).toBe('not-found')
  expect(namesIn(await of(`${A()}&status=superseded`, {}))).toEqual(['open', 'june', 'march', 'undated'])
  expect(await refused(posted({ name: 'type', valueCoding: { display: 'x' } }))).toBe('value')
  expect(await refused(posted({ name: 'on-demand', valueString: 'true' }))).toBe('value')
  expect(await refused(post('/DocumentReference/$docref', patient('x')))).toBe('value')
  expect(await refused(get(`/Patient/$docref?${A()}`), 404)).toBe('not-supported')
  expect(await refused(get(`/Nonsense/$docref?${A()}`), 404)).toBe('not-supported')
})

it('$docref accepts a time with an offset, also with an unencoded plus sign', async () => {
  expect(namesIn(await of(`${A()}&start=2020-06-30T23:00:00+01:00&end=2020-06-30T23:30:00%2B01:00`))).toEqual(['june'])
})

it('$docref is claimed for DocumentReference alone', async () => {
  const [{ resource }] = (await get('/metadata')).body.rest
  const docref = { name: 'docref', definition: 'http://hl7.org/fhir/us/core/OperationDefinition/docref' }
  expect(resource.flatMap(({ type, operation }: Tree) => (operation.some(({ name }: Tree) => name === 'docref') ? [type] : []))).toEqual([
    'DocumentReference',
  ])
  expect(resource.find(({ type }: Tree) => type === 'DocumentReference').operation).toContainEqual(docref)
})
