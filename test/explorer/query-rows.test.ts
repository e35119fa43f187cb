/** Filters of a search as text and as rows. */
import { describe, expect, it } from '@jest/globals'
import { capabilitiesOf } from '../../lambdas/explorer/browser/search/capabilities.ts'
import {
  comparisonsOf,
  MODIFIERS,
  type Pair,
  type Parameter,
  PREFIXES,
  pairOf,
  pairsOf,
  queryOf,
  rowOf,
  textOf,
  withComparison,
  withValue,
} from '../../lambdas/explorer/browser/search/query-rows.ts'
import { splitPrefix } from '../../lambdas/search/types/prefix.ts'
import { SEARCH_TYPES } from '../../lambdas/search/types/search-types.ts'

const parameter = (name: string, type: string, targets: readonly string[] = []): [string, Parameter] => [name, { name, type, targets }]

const PARAMETERS = new Map([
  parameter('name', 'string'),
  parameter('address', 'string'),
  parameter('birthdate', 'date'),
  parameter('probability', 'number'),
  parameter('gender', 'token'),
  parameter('subject', 'reference', ['Patient', 'Group']),
  parameter('url', 'uri'),
  parameter('code-value-quantity', 'composite'),
  parameter('near', 'special'),
  parameter('odd', 'unknown'),
  parameter('_group', 'string'),
  parameter('_id', 'token'),
])

const HOSTILE: readonly string[] = [
  ...['', '=', '==', '&', '+', '%', '%41', '%zz', '#', '?', '??a', ' ', ' a ', '\n', '\t', '\0', '\u2028', '\ufeff', '\u00a0'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '<script>',
    '"',
    "'",
    ':',
    ':exact',
    'name:',
    'name::exact',
    'ge',
    'ge2020',
  ],
  ...['😀', 'حداد', 'a&b=c', 'a=b&c', 'a+b', '100%', ',', 'ge1,le2', '$', '|', '_has:Observation:patient:code', 'subject:Patient.name'],
]

describe('the text of a query', () => {
  it('is decoded if it means the same', () => {
    expect(
      textOf([
        ['name', 'José'],
        ['code', 'http://loinc.org|4548-4'],
        ['_sort', '-date'],
      ]),
    ).toBe('name=José&code=http://loinc.org|4548-4&_sort=-date')
    expect(textOf([['name', 'a&b']])).toBe('name=a%26b')
  })

  it('stands for the same pairs, in their order and with repetitions', () => {
    const pairs = HOSTILE.flatMap((name) => HOSTILE.map((value): Pair => [name, value]))
    const among = (pair: Pair): readonly Pair[] => [['date', 'ge1'], pair, ['date', 'le2'], pair]
    const isKept = (list: readonly Pair[]): boolean => JSON.stringify(pairsOf(textOf(list))) === JSON.stringify(list)
    expect(pairs.filter((pair) => !isKept([pair]) || !isKept(among(pair)))).toEqual([])
    expect(pairsOf(queryOf(pairs))).toEqual(pairs)
    expect(pairsOf(textOf(pairs))).toEqual(pairs)
    expect(textOf([])).toBe('')
  })

  it('may begin with a question mark', () => expect(pairsOf(' ?name=a')).toEqual([['name', 'a']]))
})

describe('the row of a pair', () => {
  it('stands for the same pair', () => {
    const names = [
      ...HOSTILE,
      ...PARAMETERS.keys(),
      ...[...PARAMETERS.keys()].flatMap((name) => [`${name}:missing`, `${name}:exact`, `${name}.id`]),
    ]
    const pairs = names.flatMap((name) => HOSTILE.map((value): Pair => [name, value]))
    for (const known of [PARAMETERS, new Map()])
      expect(pairs.filter((pair) => JSON.stringify(pairOf(rowOf(pair, known))) !== JSON.stringify(pair))).toEqual([])
  })

  it.each([
    ['name', 'ge1', 'name', '', 'ge1'],
    ['name:exact', 'a', 'name', ':exact', 'a'],
    ['birthdate', 'ge2020', 'birthdate', 'ge', '2020'],
    ['birthdate', '2020', 'birthdate', '', '2020'],
    ['birthdate:missing', 'true', 'birthdate', ':missing', 'true'],
    ['probability', 'ap0.5', 'probability', 'ap', '0.5'],
    ['gender:not', 'male', 'gender', ':not', 'male'],
    ['subject:Patient', '1', 'subject', ':Patient', '1'],
    ['subject:identifier', 'a|1', 'subject', ':identifier', 'a|1'],
    ['url:below', 'http://a', 'url', ':below', 'http://a'],
    ['_id', '1', '_id', '', '1'],
  ])('splits %s=%s', (name, value, code, comparison, rest) =>
    expect(rowOf([name, value], PARAMETERS)).toMatchObject({
      parameter: code,
      comparison,
      value: rest,
      choices: expect.arrayContaining(['']),
    }),
  )

  it.each([
    ['gender:in', 'http://a'],
    ['name:Patient', 'a'],
    ['subject:Patient.name', 'a'],
    ['subject.name', 'a'],
    ['_has:Observation:patient:code', 'a'],
    ['_include', 'Patient:organization'],
    ['_group', 'code:code'],
    ['birthdate', 'ge2020,le2019'],
    ['code-value-quantity', 'a$ge1'],
    ['unknown', 'ge1'],
    ['__proto__', 'a'],
    ['', ''],
  ])('is text: %s=%s', (name, value) =>
    expect(rowOf([name, value], PARAMETERS)).toEqual({ parameter: name, comparison: '', value, choices: [] }),
  )

  it('gets another comparison, with a value that it takes', () => {
    const row = rowOf(['birthdate', 'ge2020'], PARAMETERS)
    expect(pairOf(withComparison(row, 'lt'))).toEqual(['birthdate', 'lt2020'])
    const missing = withComparison(row, ':missing')
    expect(pairOf(missing)).toEqual(['birthdate:missing', 'true'])
    expect(pairOf(withComparison(missing, 'eq'))).toEqual(['birthdate', 'eq'])
    expect(pairOf(withComparison(rowOf(['name', 'a'], PARAMETERS), ':exact'))).toEqual(['name:exact', 'a'])
  })

  it('gets another value, in which a prefix replaces the chosen one', () => {
    const row = rowOf(['birthdate', 'ge2020'], PARAMETERS)
    expect(pairOf(withValue(row, '2021'))).toEqual(['birthdate', 'ge2021'])
    expect(pairOf(withValue(row, 'le2021'))).toEqual(['birthdate', 'le2021'])
    expect(pairOf(withValue(rowOf(['name', 'a'], PARAMETERS), 'george'))).toEqual(['name', 'george'])
  })
})

describe('the comparisons of a parameter', () => {
  it('have the modifiers that the server supports for each type', () => {
    expect(Object.fromEntries(MODIFIERS)).toEqual(
      Object.fromEntries(Object.entries(SEARCH_TYPES).map(([type, { modifiers }]) => [type, modifiers])),
    )
  })

  it('have the prefixes that the server supports', () => expect(PREFIXES.map((prefix) => splitPrefix(`${prefix}1`)[0])).toEqual(PREFIXES))

  it('leave out modifiers of addresses and composites', () => {
    expect(['address', 'code-value-quantity', 'odd', '_group'].map((name) => comparisonsOf(PARAMETERS.get(name)!))).toEqual([
      [],
      [],
      [],
      [],
    ])
    expect(comparisonsOf(PARAMETERS.get('near')!)).toEqual(['', ':missing'])
  })
})

describe('the capabilities of a statement', () => {
  const statement = {
    rest: [
      {
        searchParam: [
          { name: '_id', type: 'token' },
          { name: '_group', type: 'string', documentation: 'Groups' },
        ],
        resource: [
          {
            type: 'Observation',
            searchParam: [
              { name: 'subject', type: 'reference' },
              { name: '__proto__', type: 'token' },
              { type: 'token' },
              7,
              { name: '_id', type: 'uri' },
            ],
            searchInclude: ['*', 'Observation:subject'],
          },
          { type: 'Patient', searchParam: [{ name: 'name', type: 'string' }], searchRevInclude: ['*', 'Observation:subject'] },
        ],
      },
    ],
  }

  it('are the parameters of the type and of all types', () => {
    const { parameters, names, valuesOf } = capabilitiesOf(statement, 'Observation')
    expect([...parameters.values()].map(({ name, type, targets }) => [name, type, targets])).toEqual([
      ['subject', 'reference', ['Patient']],
      ['__proto__', 'token', []],
      ['_id', 'uri', []],
      ['_group', 'string', []],
    ])
    expect(parameters.get('_group')!.documentation).toBe('Groups')
    expect(names).toEqual(expect.arrayContaining(['subject', '_id', '_group', '_sort', '_include']))
    expect(valuesOf('_include:iterate')).toEqual(['*', 'Observation:subject'])
    expect(valuesOf('_sort')).toEqual(expect.arrayContaining(['subject', '-subject', '-_id']))
    expect([valuesOf('constructor'), valuesOf('_revinclude')]).toEqual([[], []])
    expect(capabilitiesOf(statement, 'Patient').valuesOf('_revinclude')).toEqual(['*', 'Observation:subject'])
  })

  it('are listed in time for thousands of parameters', () => {
    const names = Array.from({ length: 3000 }, (_, i) => `parameter-${i}`)
    const searchRevInclude = names.map((name) => `Observation:${name}`)
    const targets = Array.from({ length: 150 }, (_, i) => ({ type: `Type${i}`, searchRevInclude }))
    const observation = { type: 'Observation', searchParam: names.map((name) => ({ name, type: 'reference' })) }
    const { parameters } = capabilitiesOf({ rest: [{ resource: [observation, ...targets] }] }, 'Observation')
    expect([...parameters.values()].map((each) => each.targets.length)).toEqual(names.map(() => 150))
  })

  it('are those of all types without a type', () => {
    const { parameters, names } = capabilitiesOf(statement, undefined)
    expect([...parameters.keys()]).toEqual(['_id', '_group'])
    expect(names).toContain('_type')
  })

  it.each([
    undefined,
    null,
    7,
    [],
    {},
    { rest: null },
    { rest: [{ resource: 7, searchParam: 'x' }] },
    { rest: [{ resource: [{ type: 'Observation', searchParam: {} }] }] },
  ])('are empty for %j', (damaged) => expect(capabilitiesOf(damaged as never, 'Observation').parameters.size).toBe(0))
})
