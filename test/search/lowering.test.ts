/** What each form of a search becomes: the plan, and the SQL of its conditions. `c.doc` is the document that is looked at. */
import { describe, expect, it } from '@jest/globals'
import { setOf, testOf } from '../../lambdas/adapters/sqlite/compile-plan.ts'
import { all, type Predicate } from '../../lambdas/search/plan.ts'
import { parseSearch } from '../../lambdas/search/query.ts'

const NOW = Date.UTC(2020, 0, 11)
const day = (text: string): number => Date.parse(text)
const [ALWAYS, NEVER] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]

const FIELDS = ['code', 'code:code', 'code:text', 'identifier:of-type', 'family', 'family:exact', 'date', 'subject', 'subject:identifier']
const number = (name: string): number => FIELDS.indexOf(name) + 1
const NUMBERS = { kind: 1, field: number, combinations: (name: string) => [number(name), 20], isSingle: () => false }

const lowered = (query: string): Predicate => {
  const [type = '', text = ''] = query.split('?')
  const { where } = parseSearch(type, [...new URLSearchParams(text)], { now: NOW, baseUrl: 'http://this.org/fhir' })
  return all(...(where as readonly Predicate[]))
}

const posting = (field: string, condition: string): string =>
  `EXISTS (SELECT 1 FROM posting x WHERE x.combination IN (${number(field)}, 20) AND x.doc = c.doc AND ${condition})`
const span = (condition: string): string =>
  `EXISTS (SELECT 1 FROM span x INDEXED BY span_of WHERE x.field = ${number('date')} AND x.doc = c.doc AND ${condition})`
const among = (field: string, condition: string): string =>
  `c.doc IN (SELECT x.doc FROM posting x WHERE x.combination IN (${number(field)}, 20) AND ${condition})`
const DATED = "(SELECT json_type(x.sorting, '$.l7') IS NOT NULL FROM document x WHERE x.doc = c.doc)"
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
const ANY = 'x.value IN (?, ?)'
const FROM_TO = 'x.value >= ? AND x.value < ?'

describe.each<[string, readonly (readonly [query: string, plan: Predicate, sql: string])[]]>([
  [
    'token: with and without case; the second form is that of values whose case does not matter',
    [
      ['Observation?code=a', key('code:code', 'a', '\u0001a'), posting('code:code', ANY)],
      ['Observation?code=s|A', key('code', 's|A', 's|\u0001a'), posting('code', ANY)],
      ['Observation?code=|a', key('code', '|a', '|\u0001a'), posting('code', ANY)],
      ['Observation?code=s|', keyRange('code', 's|'), among('code', FROM_TO)],
      ['Observation?code=a\\|b\\,c', key('code:code', 'a|b,c', '\u0001a|b,c'), posting('code:code', ANY)],
      ['Observation?code=a,b', key('code:code', 'a', '\u0001a', 'b', '\u0001b'), posting('code:code', 'x.value IN (?, ?, ?, ?)')],
      ['Observation?code:not=a', { kind: 'not', of: key('code:code', 'a', '\u0001a') }, `NOT (${posting('code:code', ANY)})`],
      ['Observation?code:text=Héad', keyRange('code:text', 'head'), among('code:text', FROM_TO)],
      [
        'Observation?_id=1',
        key('_id:code', '1', '\u00011'),
        'EXISTS (SELECT 1 FROM live x WHERE x.kind = 1 AND x.doc = c.doc AND x.id IN (?, ?))',
      ],
      ['Patient?identifier:of-type=s|MR|A1', key('identifier:of-type', 's|MR|a1'), posting('identifier:of-type', 'x.value = ?')],
    ],
  ],
  [
    'string: folded',
    [
      ['Patient?family=Ångström', keyRange('family', 'angstrom'), among('family', FROM_TO)],
      ['Patient?family:exact=Åse', key('family:exact', 'Åse'), posting('family:exact', 'x.value = ?')],
      [
        'Patient?family:contains=Å%',
        { kind: 'contains', field: 'family', text: 'a%' },
        among('family', 'CASE WHEN within_budget() THEN instr(x.value, ?) > 0 END'),
      ],
    ],
  ],
  [
    'date: the interval of the value against the intervals of the resource',
    [
      ['Observation?date=2020-05', dates('within', MAY, JUNE), span('x.low >= ? AND x.high <= ? AND x.low < ?')],
      ['Observation?date=eq2020-05', dates('within', MAY, JUNE), span('x.low >= ? AND x.high <= ? AND x.low < ?')],
      [
        'Observation?date=ne2020-05',
        {
          kind: 'all',
          of: [
            { kind: 'present', field: 'date' },
            { kind: 'not', of: dates('within', MAY, JUNE) },
          ],
        },
        `(${DATED} AND NOT (${span('x.low >= ? AND x.high <= ? AND x.low < ?')}))`,
      ],
      ['Observation?date=gt2020-05', dates('intersects', JUNE, ALWAYS), span('x.high > ?')],
      ['Observation?date=lt2020-05', dates('intersects', NEVER, MAY), span('x.low < ?')],
      [
        'Observation?date=ge2020-05',
        { kind: 'some', of: [dates('intersects', JUNE, ALWAYS), dates('within', MAY, JUNE)] },
        `(${span('x.high > ?')} OR ${span('x.low >= ? AND x.high <= ? AND x.low < ?')})`,
      ],
      [
        'Observation?date=le2020-05',
        { kind: 'some', of: [dates('intersects', NEVER, MAY), dates('within', MAY, JUNE)] },
        `(${span('x.low < ?')} OR ${span('x.low >= ? AND x.high <= ? AND x.low < ?')})`,
      ],
      ['Observation?date=sa2020-05', dates('within', JUNE, ALWAYS), span('x.low >= ?')],
      ['Observation?date=eb2020-05', dates('within', NEVER, MAY), span('x.high <= ? AND x.low < ?')],
      ['Observation?date=ap2020-01-01', dates('intersects', day('2019-12-31'), day('2020-01-03')), span('x.low < ? AND x.high > ?')],
      [
        'Observation?date=2020-05-01T10:00%2B02:00',
        dates('within', MAY + 8 * 3_600_000, MAY + 8 * 3_600_000 + 60_000),
        span('x.low >= ? AND x.high <= ? AND x.low < ?'),
      ],
    ],
  ],
  [
    'reference: an id may be that of every type the parameter points to',
    [
      [
        'Observation?subject=1',
        key('subject', 'Device/1', 'Group/1', 'Location/1', 'Patient/1'),
        posting('subject', 'x.value IN (?, ?, ?, ?)'),
      ],
      ['Observation?subject=Patient/1', key('subject', 'Patient/1'), posting('subject', 'x.value = ?')],
      ['Observation?subject=http://this.org/fhir/Patient/1', key('subject', 'Patient/1'), posting('subject', 'x.value = ?')],
      ['Observation?subject=http://other.org/Patient/1', key('subject', 'http://other.org/Patient/1'), posting('subject', 'x.value = ?')],
      ['Observation?subject:Patient=1', key('subject', 'Patient/1'), posting('subject', 'x.value = ?')],
      ['Observation?subject:Patient=Group/1', { kind: 'some', of: [] }, '0'],
      ['Observation?subject:identifier=s|A', key('subject:identifier', 's|a'), posting('subject:identifier', 'x.value = ?')],
    ],
  ],
  [
    'missing',
    [
      ['Observation?date:missing=false', { kind: 'present', field: 'date' }, DATED],
      ['Observation?date:missing=true', { kind: 'not', of: { kind: 'present', field: 'date' } }, `NOT (${DATED})`],
    ],
  ],
])('%s', (_, rows) => {
  it.each(rows)('%s', (query, plan, text) => {
    expect(lowered(query)).toEqual(plan)
    expect(testOf(plan, NUMBERS).text).toBe(text)
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
  ])('%s', (text, plan) => expect(lowered(`RiskAssessment?probability=${text}`)).toEqual(plan))
})

it('one condition drives a search as the set of its documents', () => {
  expect(setOf(lowered('Observation?code=s|a'), NUMBERS)?.text).toBe(
    'SELECT x.doc FROM posting x WHERE x.combination IN (1, 20) AND x.value IN (?, ?)',
  )
  expect(setOf(lowered('Observation?date=ge2020-05'), NUMBERS)?.text).toBe(
    'SELECT x.doc FROM span x WHERE x.field = 7 AND x.high > ? UNION ALL SELECT x.doc FROM span x WHERE x.field = 7 AND x.low >= ? AND x.high <= ? AND x.low < ?',
  )
  expect(setOf(lowered('Observation?code:not=a'), NUMBERS)).toBeUndefined()
})
