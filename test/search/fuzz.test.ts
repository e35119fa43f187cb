/** Whatever is asked, the answer is a page or a FhirError of the client's: odd names, modifiers and values, very many and very long ones. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { FhirError } from '../../lambdas/fhir/outcome.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../lambdas/search/evaluate.ts'
import { parametersOf } from '../../lambdas/search/parameters.ts'
import { resolveChains, unrestrictedSearchAccess } from '../../lambdas/search/query/condition.ts'
import type { ParameterPairs } from '../../lambdas/search/query/parameter-pairs.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'

const ROUNDS = caseCountOf(4_000, 200_000)
const TYPES = ['Patient', 'Observation', 'RiskAssessment', 'ValueSet', 'Task', 'Bundle', undefined]
const MODIFIERS = [
  '',
  ':exact',
  ':contains',
  ':not',
  ':text',
  ':of-type',
  ':identifier',
  ':missing',
  ':below',
  ':above',
  ':in',
  ':Patient',
  ':',
  '::',
  ':constructor',
]
const PARTS = [
  'a', 'A1', '1', '-1', '0.10', '1e400', '2020', '2020-02-30', '2020-01-01T25:00', 'ge', 'ne2020', 'ap5', 'Patient/1', 'http://a.org/b', '#x',
  'true', '|', '\\', '\\\\', '\\,', ',', '$', ' ', '+', '*', '%', '_', "'", '"', '\u0000', '\u0001', '\ud800', '\u{1f600}', 'é', 'ﬀ', 'İ', '\n', '__proto__',
] // biome-ignore format: a list of values reads best in few lines
const RESULTS = ['_sort', '_count', '_total', '_summary', '_elements', '_skip', '_page', '_type', '_format', 'toString', '__proto__', '']

const document = extract(
  { tenant: 't', type: 'Patient', id: '1', versionId: 1, lastUpdated: 1, deleted: false, compartments: [], body: new Uint8Array() },
  { resourceType: 'Patient', id: '1', name: [{ family: 'A' }], birthDate: '2020', active: true },
)

const index = new SqliteSearchIndex(':memory:', { budget: 5_000 })
beforeAll(() => index.apply([document]))
afterAll(() => index.close())

/** The page; undefined where the request was the client's mistake. */
async function answer(type: string | undefined, pairs: ParameterPairs) {
  try {
    const { where: conditions, order, count, total } = parseSearch(type, pairs, { now: 1_600_000_000_000, handling: 'strict' })
    const where = await resolveChains(conditions, unrestrictedSearchAccess('t'), index)
    const types = [type ?? 'Patient']
    matchesPredicate(where, document)
    return await index.find({ tenant: 't', types, where, access: 'everything', order, limit: count, total })
  } catch (error) {
    if (error instanceof FhirError && error.status >= 400 && error.status < 500) return undefined
    throw error
  }
}

describe('A search', () => {
  it(`returns a page or a 4xx for ${ROUNDS} random queries`, async () => {
    const seed = firstSeed()
    const random = randomOf(seed)
    const value = (): string => Array.from({ length: random.below(5) }, () => random.pick(PARTS)).join('')
    let [answered, refused] = [0, 0]
    for (let round = 0; round < ROUNDS; round++) {
      const type = random.pick(TYPES)
      const codes = parametersOf(type ?? 'Resource').map(({ code }) => code)
      const pairs = Array.from(
        { length: 1 + random.below(3) },
        () => [random.below(4) === 0 ? random.pick(RESULTS) : random.pick(codes) + random.pick(MODIFIERS), value()] as const,
      )
      try {
        if ((await answer(type, pairs)) === undefined) refused++
        else answered++
      } catch (error) {
        throw new Error(`seed ${seed}, round ${round}: ${type} ${JSON.stringify(pairs)}`, { cause: error })
      }
    }
    expect(answered).toBeGreaterThan(ROUNDS / 50)
    expect(refused).toBeGreaterThan(ROUNDS / 50)
  })

  it.each([
    '_id',
    'family',
    'family:exact',
    'family:contains',
    'birthdate',
    'identifier',
    'general-practitioner',
    'identifier:of-type',
    '_profile',
    'active:not',
  ])('with 10,000 values for %s returns a page or a 4xx', async (name) => {
    const form = name.endsWith('of-type')
      ? (i: number) => `s|t|${i}`
      : name === 'birthdate'
        ? (i: number) => `${1000 + (i % 9000)}`
        : (i: number) => `v${i}`
    const page = await answer('Patient', [[name, Array.from({ length: 10_000 }, (_, i) => form(i)).join(',')]])
    expect(page?.hits.length ?? 0).toBe(name === 'active:not' ? 1 : 0)
  })

  it.each([
    'family',
    'family:exact',
    'family:contains',
    'birthdate',
    'identifier',
    'general-practitioner',
    '_sort',
    '_count',
    'family\u0000'.repeat(9),
    'y'.repeat(100_000),
  ])('returns no hits for values of 100,000 characters: %#', async (name) => {
    for (const text of ['x'.repeat(100_000), '|'.repeat(100_000), ','.repeat(100_000), '\\'.repeat(100_001), 'é'.repeat(50_000)])
      expect((await answer('Patient', [[name, text]]))?.hits ?? []).toEqual([])
  })

  it('accepts 200 criteria, and rejects 201', async () => {
    const criteria = (many: number): ParameterPairs => Array.from({ length: many }, (_, i) => ['birthdate', `ge${1000 + i}`])
    expect((await answer('Patient', criteria(200)))?.hits).toHaveLength(1)
    expect(await answer('Patient', criteria(201))).toBeUndefined()
  })
})
