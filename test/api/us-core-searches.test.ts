/** The searches of US Core that the specification names, each row of its table over US Core's own examples. Specification 4.3 @cloud:here */
import { beforeAll, expect, it } from '@jest/globals'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'
import { meetsCriterion } from '../fixtures/us-core/search-criteria.ts'
import { itOnEmbedded, type Tree, withServer } from './server.ts'

const { base, get, post } = withServer()

/** The examples that name one patient have few patients and states: each is there once more, of another. */
const STATUSES: Readonly<Record<string, readonly string[]>> = {
  Observation: ['preliminary', 'amended', 'final', 'entered-in-error'],
  Procedure: ['in-progress', 'not-done'],
}
const searched: readonly Tree[] = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType in STATUSES)
const others = searched.map((resource, i): Tree => {
  const statuses = STATUSES[resource.resourceType]!
  const { effectiveDateTime, ...rest } = resource
  const time =
    i % 3 === 0 && effectiveDateTime !== undefined ? { effectivePeriod: { start: '1990', end: effectiveDateTime } } : { effectiveDateTime }
  return { ...rest, ...time, id: `again-${i}`, subject: { reference: 'Patient/child-example' }, status: statuses[i % statuses.length] }
})
const stored: readonly Tree[] = [...searched, ...others]

beforeAll(async () => {
  const patients = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType === 'Patient')
  const all = [...patients, ...stored]
  const entry = all.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
  const { body } = await post('/', { resourceType: 'Bundle', type: 'batch', entry }, { 'x-consistency': 'strong' })
  expect(body.entry.map(({ response }: Tree) => response.status.slice(0, 3))).toEqual(all.map(() => '201'))
})

const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category'
const LABORATORY = `${CATEGORY}|laboratory`
const LOINC = 'http://loinc.org'
const EVENT = 'http://hl7.org/fhir/event-status'
const OBSERVATION = 'http://hl7.org/fhir/observation-status'

type Choices = Readonly<Record<string, readonly (readonly string[])[]>>
/** Each choice of a parameter is the values it is sent with: several times, where there are several. */
type Row = { readonly type: string; readonly level: 'SHALL' | 'SHOULD'; readonly with: Choices }

const once = (...values: readonly string[]): readonly (readonly string[])[] => values.map((value) => [value])
/** {Type/}[id] */
const PATIENTS = once('example', 'Patient/example', 'child-example', 'Patient/infant-example', 'never')
const comparing = (date: string): readonly (readonly string[])[] =>
  once(...['', 'gt', 'lt', 'ge', 'le'].map((comparator) => `${comparator}${date}`))
const DATES = [
  ...['2005', '2005-07-05', '2021-11', '1999-07-02', '2016-05-18T22:33:22Z'].flatMap(comparing),
  ['ge2005-07-05', 'le2005-07-05'],
  ['gt2005-07-05', 'lt2021-01-28T16:06:21-05:00'],
  ['ge2016', 'lt2022', 'le2021-11-10'],
  ['gt2022', 'lt2005'],
]
const CODES = once('2951-2', `${LOINC}|2951-2`, `${LOINC}|2951-2,${LOINC}|2823-3,718-7`, 'http://snomed.info/sct|2951-2', `${LOINC}|`)
const PERFORMED = [
  ...['2002-05-23', '2002', '2019-03-26T12:55:26-07:00', '2019-03'].flatMap(comparing),
  ['gt2002-05-23', 'lt2020'],
  ['ge2002-05-23', 'le2002-05-23'],
]

const ROWS: readonly Row[] = [
  { type: 'Observation', level: 'SHALL', with: { patient: PATIENTS, category: once(LABORATORY, 'laboratory', `${CATEGORY}|vital-signs`, 'sdoh', `${CATEGORY}|sdoh`) } },
  { type: 'Observation', level: 'SHALL', with: { patient: PATIENTS, category: [[`${CATEGORY}|survey`, LABORATORY], ['survey', 'sdoh']] } },
  { type: 'Observation', level: 'SHALL', with: { patient: PATIENTS, code: CODES } },
  { type: 'Observation', level: 'SHALL', with: { patient: once('example', 'Patient/child-example'), category: once(LABORATORY, 'imaging'), date: DATES } },
  { type: 'Observation', level: 'SHOULD', with: { patient: PATIENTS, category: once(LABORATORY), status: once('final', `${OBSERVATION}|final`, 'preliminary,amended', `${OBSERVATION}|preliminary,final`, `${EVENT}|final`) } },
  { type: 'Observation', level: 'SHOULD', with: { patient: once('Patient/example', 'child-example'), code: once(`${LOINC}|2951-2`, '2951-2,95209-3'), date: DATES } },
  { type: 'Procedure', level: 'SHALL', with: { patient: PATIENTS } },
  { type: 'Procedure', level: 'SHALL', with: { patient: once('example', 'Patient/child-example'), date: PERFORMED } },
  { type: 'Procedure', level: 'SHOULD', with: { patient: PATIENTS, status: once('completed', `${EVENT}|completed`, 'in-progress,not-done', `${EVENT}|completed,${EVENT}|in-progress`) } },
  { type: 'Procedure', level: 'SHOULD', with: { patient: once('example', 'Patient/child-example'), code: once('24165007', 'http://snomed.info/sct|24165007,http://www.ama-assn.org/go/cpt|33249'), date: PERFORMED } },
] // biome-ignore format: a table

type Pairs = readonly (readonly [string, string])[]

/** Every choice of each parameter with every one of the others. */
const queriesOf = (choices: Choices): readonly Pairs[] =>
  Object.entries(choices).reduce<readonly Pairs[]>(
    (queries, [name, lists]) =>
      queries.flatMap((query) => lists.map((values) => [...query, ...values.map((value) => [name, value] as const)])),
    [[]],
  )

it.each(ROWS.map((row) => [row.type, Object.keys(row.with).join(', '), row.level, row] as const))(
  '%s can be searched by %s (%s)',
  async (_, __, ___, row) => {
    const { type, with: choices } = row
    const sizes = new Set<number>()
    for (const query of queriesOf(choices)) {
      const text = `${type}?${new URLSearchParams([...query.map(([name, value]): [string, string] => [name, value]), ['_count', '1000']])}`
      const { status, body } = await get(`/${text}`, { prefer: 'handling=strict' })
      expect([text, status, body.resourceType, body.type]).toEqual([text, 200, 'Bundle', 'searchset'])
      const expected = stored.filter(
        (each) => each.resourceType === type && query.every(([name, values]) => meetsCriterion(each, name, values)),
      )
      const found: readonly Tree[] = (body.entry ?? []).map(({ resource }: Tree) => resource)
      expect([text, found.map(({ id }) => id).toSorted()]).toEqual([text, expected.map(({ id }) => id).toSorted()])
      expect([text, body.total]).toEqual([text, expected.length])
      sizes.add(expected.length)
    }
    // Each row finds some, and not always the same.
    expect(sizes.size).toBeGreaterThan(1)
  },
)

it('a Procedure is read by its id as it was stored', async () => {
  for (const { resourceType, id, meta, ...rest } of stored.filter((each) => each.resourceType === 'Procedure')) {
    const { status, body } = await get(`/${resourceType}/${id}`)
    expect([status, body]).toEqual([200, { ...rest, resourceType, id, meta: { ...meta, versionId: '1', lastUpdated: expect.any(String) } }])
  }
  expect(await get('/Procedure/never')).toMatchObject({ status: 404, body: { resourceType: 'OperationOutcome' } })
})

itOnEmbedded('whether a stage asks for tokens is a setting')('each search and read requires a token', async () => {
  for (const path of ['/Observation?patient=example&category=laboratory', '/Procedure?patient=example', '/Procedure/rehab']) {
    const { status } = await fetch(base() + path)
    expect([path, status]).toEqual([path, 401])
  }
})
