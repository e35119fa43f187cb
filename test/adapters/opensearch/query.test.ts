/** Requests of the OpenSearch index for each form of predicate. Needs no engine. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { Client } from '@opensearch-project/opensearch'
import { indexDefinition } from '../../../lambdas/adapters/opensearch/index-definition.ts'
import { OpenSearchIndex } from '../../../lambdas/adapters/opensearch/search-index.ts'
import { sortText, sortValue } from '../../../lambdas/adapters/opensearch/sort-values.ts'
import { NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { decodeDouble, encodeDouble, nextDoubleAbove, nextDoubleBelow } from '../../../lambdas/ports/search/doubles.ts'
import { and, compareText, not, or, type Plan, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { EXTRACTOR_VERSION } from '../../../lambdas/search/documents/extract.ts'

const index = new OpenSearchIndex(new Client({ node: 'http://127.0.0.1:1' }), {
  prefix: 'fhir',
  live: async () => ({ ...NO_STATE, types: { Observation: { identity: 'one' } } }),
})
const PLAN: Plan = { tenant: 'one', types: ['Observation'], where: and(), access: 'everything', order: [], limit: 20, total: 'none' }

/** Returns the conditions besides those of every search. */
async function asked(where: Predicate): Promise<unknown> {
  const [, request] = await index.explain({ ...PLAN, where })
  const { query } = JSON.parse(request!) as { readonly query: { readonly bool: { readonly filter: readonly unknown[] } } }
  const [tenant, type, deleted, ...rest] = query.bool.filter
  expect([tenant, type, deleted]).toEqual([{ term: { tenant: 'one' } }, { term: { type: 'Observation' } }, { term: { deleted: false } }])
  return rest.length === 1 ? rest[0] : rest
}

const code: Predicate = { kind: 'key', field: 'code', oneOf: ['s|c'] }
const ROWS: readonly (readonly [name: string, where: Predicate, query: unknown])[] = [
  ['a key', code, { term: { 'keys.code': 's|c' } }],
  ['one of several', { kind: 'key', field: 'code:code', oneOf: ['a', 'b'] }, { terms: { 'keys.code:code': ['a', 'b'] } }],
  ['one of none', { kind: 'key', field: 'code', oneOf: [] }, { match_none: {} }],
  ['not', not(code), { bool: { must_not: [{ term: { 'keys.code': 's|c' } }] } }],
  ['all', and(code, and(code, code)), Array.from({ length: 3 }, () => ({ term: { 'keys.code': 's|c' } }))],
  [
    'some',
    or(code, { kind: 'present', field: 'date' }),
    { bool: { should: [{ term: { 'keys.code': 's|c' } }, { term: { present: 'date' } }], minimum_should_match: 1 } },
  ],
  ['a beginning', { kind: 'keyRange', field: 'name', from: 'an', to: 'ao' }, { range: { 'keys.name': { gte: 'an', lt: 'ao' } } }],
  ['a part', { kind: 'contains', field: 'name', text: 'a*b?\\' }, { wildcard: { 'keys.name': { value: '*a\\*b\\?\\\\*' } } }],
  [
    'within a span: the ends of both are not in them',
    { kind: 'span', field: 'date', relation: 'within', low: 10, high: 20 },
    { range: { 'spans.date': { gte: 10, lte: 20, relation: 'within' } } },
  ],
  [
    'a point in common with a span',
    { kind: 'span', field: 'date', relation: 'intersects', low: 10, high: Number.POSITIVE_INFINITY },
    { range: { 'spans.date': { gte: 10.000000000000002, relation: 'intersects' } } },
  ],
  [
    'a number, which is in what begins with it',
    { kind: 'number', field: 'value', relation: 'within', low: 1, high: 2 },
    { range: { 'numbers.value': { gte: 1, lte: 1.9999999999999998, relation: 'within' } } },
  ],
  [
    'any number',
    { kind: 'number', field: 'value', relation: 'within', low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY },
    { exists: { field: 'numbers.value' } },
  ],
  ['a compartment', { kind: 'compartment', oneOf: ['Patient/1'] }, { term: { compartments: 'Patient/1' } }],
  [
    'values together',
    {
      kind: 'tuple',
      field: 'code-value-quantity',
      key: 'k',
      labels: [{ text: 'mg', whole: true }],
      ranges: [{ kind: 'number', relation: 'intersects', low: 5, high: Number.POSITIVE_INFINITY }],
    },
    {
      nested: {
        path: 'tuples',
        query: {
          bool: {
            filter: [
              { term: { 'tuples.field': 'code-value-quantity' } },
              { term: { 'tuples.key': 'k' } },
              { term: { 'tuples.labels': 'mg' } },
              { range: { 'tuples.r0': { gte: 5, relation: 'intersects' } } },
            ],
          },
        },
      },
    },
  ],
]

describe('The OpenSearch index asks for', () => {
  it.each(ROWS)('%s', async (_, where, query) => {
    expect(await asked(where)).toEqual(query)
  })

  it('an order with missing values last, one extra hit, and the indices of the types', async () => {
    const [line, request] = await index.explain({
      ...PLAN,
      types: ['Observation', 'Patient'],
      order: [{ field: 'date', descending: true }],
    })
    expect(line).toBe('POST /fhir-observation-one,fhir-patient-none*/_search')
    expect(JSON.parse(request!)).toMatchObject({
      size: 21,
      track_total_hits: false,
      sort: [{ 'high.date': { order: 'desc', missing: '_last' } }, { type: { order: 'asc' } }, { id: { order: 'asc' } }],
    })
  })
})

describe('Numbers as text', () => {
  const NUMBERS = [
    Number.NEGATIVE_INFINITY,
    -Number.MAX_VALUE,
    -1,
    -Number.MIN_VALUE,
    0,
    Number.MIN_VALUE,
    0.1,
    0.30000000000000004,
    1e300,
    Number.POSITIVE_INFINITY,
  ]

  it('sort in the order of their values and decode to the same value', () => {
    expect(NUMBERS.map(encodeDouble).sort(compareText).map(decodeDouble)).toEqual(NUMBERS)
    expect(encodeDouble(-0)).toBe(encodeDouble(0))
    for (const value of [...NUMBERS, '', 'n1', '\u{1f600}']) expect(sortValue(sortText(value))).toBe(value)
  })

  it('have a neighbour on both sides, except for infinities', () => {
    for (const value of NUMBERS.filter(Number.isFinite)) {
      // The texts of -0 and 0 are equal.
      const step = value === -Number.MIN_VALUE ? 2n : 1n
      expect(BigInt(`0x${encodeDouble(nextDoubleAbove(value))}`) - BigInt(`0x${encodeDouble(value)}`)).toBe(step)
      expect(nextDoubleBelow(nextDoubleAbove(value))).toBe(value)
    }
    expect([nextDoubleAbove(Number.NEGATIVE_INFINITY), nextDoubleBelow(Number.POSITIVE_INFINITY)]).toEqual([
      Number.NEGATIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
  })
})

it('Another mapping requires another extractor version, which rebuilds every index', () => {
  const { mappings } = indexDefinition({})
  const digest = createHash('sha256').update(JSON.stringify(mappings)).digest('hex').slice(0, 12)
  expect(`${EXTRACTOR_VERSION} ${digest}`).toBe('12 bd6eaf6d4f1d')
})
