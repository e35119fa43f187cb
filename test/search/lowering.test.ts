/** What each form of a search becomes: the plan, then what is asked of the index of each home. */
import { describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../lambdas/adapters/opensearch/search-index.ts'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { NO_STATE } from '../../lambdas/indexing/lifecycle/stored-state.ts'
import { nextDoubleAbove } from '../../lambdas/ports/search/doubles.ts'
import { and, type Plan, type Predicate } from '../../lambdas/ports/search/plan.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { codeableConceptOf, observation } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const NOW = Date.UTC(2020, 0, 11)
const day = (text: string): number => Date.parse(text)
const [ALWAYS, NEVER] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

const lowered = (query: string): Predicate => {
  const [type = '', text = ''] = query.split('?')
  const { where } = parseSearch(type, [...new URLSearchParams(text)], { now: NOW, baseUrl: 'http://this.org/fhir' })
  return and(...(where as readonly Predicate[]))
}

const key = (field: string, ...oneOf: readonly string[]): Predicate => ({ kind: 'key', field, oneOf })
const keyRange = (field: string, from: string): Predicate => ({ kind: 'keyRange', field, from, to: `${from}\u{10ffff}` })
const dates = (relation: 'within' | 'intersects', low: number, high: number): Predicate => ({
  kind: 'span',
  field: 'date',
  relation,
  low,
  high,
})
const [MAY, JUNE] = [day('2020-05-01'), day('2020-06-01')]

describe.each<[string, readonly (readonly [query: string, plan: Predicate])[]]>([
  [
    'token: with a second form for values without case',
    [
      ['Observation?code=a', key('code:code', 'a', '\u0001a')],
      ['Observation?code=s|A', key('code', 's|A', 's|\u0001a')],
      ['Observation?code=|a', key('code', '|a', '|\u0001a')],
      ['Observation?code=s|', keyRange('code', 's|')],
      ['Observation?code=a\\|b\\,c', key('code:code', 'a|b,c', '\u0001a|b,c')],
      ['Observation?code=a,b', key('code:code', 'a', '\u0001a', 'b', '\u0001b')],
      ['Observation?code:not=a', { kind: 'not', of: key('code:code', 'a', '\u0001a') }],
      ['Observation?code:text=Héad', keyRange('code:text', 'head')],
      ['Observation?_id=1', key('_id:code', '1', '\u00011')],
      ['Patient?identifier:of-type=s|MR|A1', key('identifier:of-type', 's|MR|a1')],
    ],
  ],
  [
    'string: folded',
    [
      ['Patient?family=Ångström', keyRange('family', 'angstrom')],
      ['Patient?family:exact=Åse', key('family:exact', 'Åse')],
      ['Patient?family:contains=Å%', { kind: 'contains', field: 'family', text: 'a%' }],
    ],
  ],
  [
    'date: the interval of the value against the intervals of the resource',
    [
      ['Observation?date=2020-05', dates('within', MAY, JUNE)],
      ['Observation?date=eq2020-05', dates('within', MAY, JUNE)],
      [
        'Observation?date=ne2020-05',
        {
          kind: 'all',
          of: [dates('intersects', NEVER, ALWAYS), { kind: 'not', of: dates('within', MAY, JUNE) }],
        },
      ],
      ['Observation?date=gt2020-05', dates('intersects', JUNE, ALWAYS)],
      ['Observation?date=lt2020-05', dates('intersects', NEVER, MAY)],
      ['Observation?date=ge2020-05', { kind: 'some', of: [dates('intersects', JUNE, ALWAYS), dates('within', MAY, JUNE)] }],
      ['Observation?date=le2020-05', { kind: 'some', of: [dates('intersects', NEVER, MAY), dates('within', MAY, JUNE)] }],
      ['Observation?date=sa2020-05', dates('within', JUNE, ALWAYS)],
      ['Observation?date=eb2020-05', dates('within', NEVER, MAY)],
      ['Observation?date=ap2020-01-01', dates('intersects', day('2019-12-31'), day('2020-01-03'))],
      ['Observation?date=2020-05-01T10:00%2B02:00', dates('within', MAY + 8 * 3_600_000, MAY + 8 * 3_600_000 + 60_000)],
    ],
  ],
  [
    'reference: an id may be that of every type the parameter points to',
    [
      ['Observation?subject=1', key('subject', 'Device/1', 'Group/1', 'Location/1', 'Patient/1')],
      ['Observation?subject=Patient/1', key('subject', 'Patient/1')],
      ['Observation?subject=http://this.org/fhir/Patient/1', key('subject', 'Patient/1')],
      ['Observation?subject=http://other.org/Patient/1', key('subject', 'http://other.org/Patient/1')],
      ['Observation?subject:Patient=1', key('subject', 'Patient/1')],
      ['Observation?subject:Patient=Group/1', { kind: 'some', of: [] }],
      ['Observation?subject:identifier=s|A', key('subject:identifier', 's|a')],
    ],
  ],
  [
    'missing',
    [
      ['Observation?date:missing=false', { kind: 'present', field: 'date' }],
      ['Observation?date:missing=true', { kind: 'not', of: { kind: 'present', field: 'date' } }],
    ],
  ],
])('%s', (_, rows) => {
  it.each(rows)('has the right plan for %s', (query, plan) => {
    expect(lowered(query)).toEqual(plan)
  })
})

describe('number: eq and ne take the precision of the text, the others the number itself', () => {
  const within = (low: number, high: number): Predicate => ({ kind: 'number', field: 'probability', relation: 'within', low, high })
  it.each<[string, Predicate]>([
    ['100', within(99.5, 100.5)],
    ['100.00', within(99.995, 100.005)],
    ['1e2', within(95, 105)],
    ['5.40e-3', within(0.005395, 0.005405)],
    ['0.1', within(0.05, 0.15)],
    ['-0.1', within(-0.15, -0.05)],
    ['0', within(-0.5, 0.5)],
    ['12345678901234567890.5', within(12345678901234567000, 12345678901234570000)],
    ['sa5', within(5.000000000000001, ALWAYS)],
    ['eb5', within(NEVER, 5)],
    ['gt5', { ...within(5.000000000000001, ALWAYS), relation: 'intersects' } as Predicate],
    ['ge5', { ...within(5, ALWAYS), relation: 'intersects' } as Predicate],
    ['lt5', { ...within(NEVER, 5), relation: 'intersects' } as Predicate],
    ['le5', { ...within(NEVER, 5.000000000000001), relation: 'intersects' } as Predicate],
  ])('has the right plan for %s', (text, plan) => expect(lowered(`RiskAssessment?probability=${text}`)).toEqual(plan))
})

describe('queries of the indexes', () => {
  const small = new SqliteSearchIndex(':memory:')
  const large = new OpenSearchIndex(new Client({ node: 'http://127.0.0.1:1' }), { prefix: 'fhir', live: async () => NO_STATE })
  const measured = (id: string, code: string, text: string, date?: string) =>
    extract(
      versionOf(writeOf(resourceKeyOf('a', 'Observation', id), { lastUpdated: NOW })),
      observation(id, {
        code: { ...codeableConceptOf(code), text },
        subject: 'Patient/1',
        valueQuantity: { value: Number(id) },
        ...(date && { date }),
      }),
    )
  small.applyNow([
    measured('1', 'a', 'Head', '2020-05-01'),
    measured('2', 'a', 'Heart', '2019'),
    measured('3', 'b', 'Heel', '2020-05-02'),
    measured('4', 'c', 'Hand'),
  ])

  const code = (...oneOf: readonly string[]): string => `key {"field":"code:code","oneOf":${JSON.stringify(oneOf)}}`
  const together = (key: string): string =>
    `{"kind":"tuple","field":"code-value-quantity","key":${JSON.stringify(key)},"labels":[{"text":"1value ","whole":true}],"ranges":[{"kind":"number","relation":"within","low":0.5,"high":1.5}]}`
  const nested = (key: string) => {
    const tests = [{ term: { 'tuples.key': key } }, { term: { 'tuples.labels': '1value ' } }, { range: expect.anything() }]
    return { nested: { path: 'tuples', query: { bool: { filter: [{ term: { 'tuples.field': 'code-value-quantity' } }, ...tests] } } } }
  }
  const [YEAR, NEXT] = [day('2020'), day('2021')]

  it.each<[string, readonly string[], readonly unknown[]]>([
    ['code=a', [`${code('a', '\u0001a')}: at most 2, 2 left`], [{ terms: { 'keys.code:code': ['a', '\u0001a'] } }]],
    [
      'code=s|',
      ['keyRange {"field":"code","from":"s|","to":"s|\u{10ffff}"}: at most 4, 4 left'],
      [{ range: { 'keys.code': { gte: 's|', lt: 's|\u{10ffff}' } } }],
    ],
    [
      'code:not=a',
      ['not {"of":{"kind":"key","field":"code:code","oneOf":["a","\\u0001a"]}}: unknown, 2 left'],
      [{ bool: { must_not: [{ terms: { 'keys.code:code': ['a', '\u0001a'] } }] } }],
    ],
    ['_id=1', ['key {"field":"_id:code","oneOf":["1","\\u00011"]}: at most 2, 1 left'], [{ terms: { 'keys._id:code': ['1', '\u00011'] } }]],
    [
      'subject=Patient/1',
      ['key {"field":"subject","oneOf":["Patient/1"]}: at most 4, 4 left'],
      [{ term: { 'keys.subject': 'Patient/1' } }],
    ],
    [
      'date=ge2020',
      [
        `some {"of":[{"kind":"span","field":"date","relation":"intersects","low":${NEXT},"high":"Infinity"},{"kind":"span","field":"date","relation":"within","low":${YEAR},"high":${NEXT}}]}: at most 3, 2 left`,
      ],
      [
        {
          bool: {
            should: [
              { range: { 'spans.date': { gte: nextDoubleAbove(NEXT), relation: 'intersects' } } },
              { range: { 'spans.date': { gte: YEAR, lte: NEXT, relation: 'within' } } },
            ],
            minimum_should_match: 1,
          },
        },
      ],
    ],
    [
      'date:missing=true',
      ['not {"of":{"kind":"present","field":"date"}}: unknown, 1 left'],
      [{ bool: { must_not: [{ term: { present: 'date' } }] } }],
    ],
    [
      'status=final&date=2020&code=a',
      [
        `${code('a', '\u0001a')}: at most 2, 2 left`,
        `span {"field":"date","relation":"within","low":${YEAR},"high":${NEXT}}: at most 3, 1 left`,
        'key {"field":"status:code","oneOf":["final","\\u0001final"]}: at most 4, 1 left',
      ],
      [
        { terms: { 'keys.status:code': ['final', '\u0001final'] } },
        { range: { 'spans.date': { gte: YEAR, lte: NEXT, relation: 'within' } } },
        { terms: { 'keys.code:code': ['a', '\u0001a'] } },
      ],
    ],
    [
      'status=amended&date=2020&code=a',
      ['key {"field":"status:code","oneOf":["amended","\\u0001amended"]}: at most 0, 0 left'],
      [
        { terms: { 'keys.status:code': ['amended', '\u0001amended'] } },
        { range: { 'spans.date': { gte: YEAR, lte: NEXT, relation: 'within' } } },
        { terms: { 'keys.code:code': ['a', '\u0001a'] } },
      ],
    ],
    [
      'code-value-quantity=a$eq1',
      [`some {"of":[${together('a')},${together('\u0001a')}]}: at most 2, 1 left`],
      [{ bool: { should: ['a', '\u0001a'].map(nested), minimum_should_match: 1 } }],
    ],
  ])('has the right plan for %s', async (query, steps, dsl) => {
    const plan: Plan = {
      tenant: 'a',
      types: ['Observation'],
      where: lowered(`Observation?${query}`),
      access: 'everything',
      order: [],
      limit: 5,
      total: 'none',
    }
    const shown = small.explainNow(plan).map((line) => line.replace('Observation: ', ''))
    expect(shown.slice(0, -1)).toEqual(steps)
    expect(shown.at(-1)).toContain('ORDER BY d.id LIMIT ?')
    const [, request] = await large.explain(plan)
    expect(JSON.parse(request!).query.bool.filter.slice(3)).toEqual(dsl)
  })
})
