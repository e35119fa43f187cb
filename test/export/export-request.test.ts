/** Parameters of an export request, and the rejected values of each. */
import { describe, expect, it } from '@jest/globals'
import { type ExportLevel, type ExportRequest, type KickOff, parseExportRequest } from '../../lambdas/export/export-request.ts'
import type { ParameterPairs } from '../../lambdas/search/query/parameter-pairs.ts'

const NOW = Date.UTC(2026, 5, 1)
const reading = { baseUrl: 'http://a.example' }
const NOTHING: ExportRequest = { elements: [], patients: [], filters: [], passedOver: [] }

const asked = (parameters: ParameterPairs, more: Partial<KickOff> = {}): ExportRequest =>
  parseExportRequest({ level: 'patient', parameters, posted: true, lenient: false, reading, now: NOW, ...more })
const one = (name: string, value: string, more: Partial<KickOff> = {}): ExportRequest => asked([[name, value]], more)

describe('An export request', () => {
  it('asks for everything without parameters', () => expect(asked([])).toEqual(NOTHING))

  it.each([
    ['_outputFormat', 'ndjson', {}],
    ['_outputFormat', 'application/fhir+ndjson', {}],
    ['_since', '2026-01-31T12:00:00Z', { since: Date.UTC(2026, 0, 31, 12) }],
    ['_since', '2026-01-31T12:00:00.123+01:00', { since: Date.UTC(2026, 0, 31, 11, 0, 0, 123) }],
    ['_since', '2026-01-31T12:00:00 01:00', { since: Date.UTC(2026, 0, 31, 11) }],
    ['_outputFormat', 'application/fhir ndjson', {}],
    ['_until', '2026-01-31T12:00:00Z', { until: Date.UTC(2026, 0, 31, 12) }],
    ['_type', 'Patient, Observation,Patient', { types: ['Patient', 'Observation'] }],
    [
      '_elements',
      'id,Patient.name,value[x]',
      { elements: [{ element: 'id' }, { type: 'Patient', element: 'name' }, { element: 'value[x]' }] },
    ],
    ['patient', 'Patient/1', { patients: ['Patient/1'] }],
    ['patient', 'p-1', { patients: ['Patient/p-1'] }],
    ['patient', 'http://a.example/Patient/1', { patients: ['Patient/1'] }],
    ['patient', 'Patient/1/_history/2', { patients: ['Patient/1'] }],
    ['_typeFilter', 'Observation?status=final', { filters: [{ type: 'Observation', query: 'status=final' }] }],
    [
      '_typeFilter',
      'Observation?status=final,amended&code=a,Condition?subject:Patient.name=x',
      {
        filters: [
          { type: 'Observation', query: 'status=final,amended&code=a' },
          { type: 'Condition', query: 'subject:Patient.name=x' },
        ],
      },
    ],
  ])('is narrowed by %s %s', (name, value, expected) => expect(one(name, value)).toEqual({ ...NOTHING, ...expected }))

  it('accepts lists and repeated parameters alike', () => {
    const repeated: ParameterPairs = [
      ['_type', 'Patient'],
      ['_type', 'Observation'],
      ['_typeFilter', 'Observation?status=final'],
      ['_typeFilter', 'Observation?status=amended'],
    ]
    const { types, filters } = asked(repeated)
    expect([types, filters.map(({ query }) => query)]).toEqual([
      ['Patient', 'Observation'],
      ['status=final', 'status=amended'],
    ])
  })

  it.each([
    ['_outputFormat', 'csv', '_outputFormat is one of'],
    ['_elements', 'Patient.name.family', '_elements names'],
    ['_elements', 'Nothing.name', '_elements names'],
    ['patient', 'Group/1', 'patient is a reference to a Patient'],
    ['patient', 'http://elsewhere.example/Patient/1', 'patient is a reference to a Patient'],
    ['patient', 'http://a.example.org/Patient/1', 'patient is a reference to a Patient'],
    ['patient', 'http://a.example/Group/1', 'patient is a reference to a Patient'],
  ])('is rejected for %s %s, also with lenient handling', (name, value, text) => {
    for (const lenient of [false, true]) expect(() => one(name, value, { lenient })).toThrow(text)
  })

  it.each([
    ['_since', '2026-01-31', '_since is an instant'],
    ['_since', 'yesterday', '_since is an instant'],
    ['_since', '2026-06-01T00:00:00.001Z', '_since is later than now'],
    ['_type', 'Patient,Nothing', '_type names "Nothing"'],
    ['_typeFilter', 'status=final', '_typeFilter is a search of a type'],
    ['_typeFilter', 'Nothing?status=final', '_typeFilter is a search of a type'],
    ['_typeFilter', 'Observation?colour=red', 'Unknown search parameter colour'],
    ['_typeFilter', 'Observation?_sort=date', '_typeFilter cannot be used'],
    ['_typeFilter', 'Observation?status=final&_count=5', '_typeFilter cannot be used'],
    ['_colour', 'red', '_colour is not a parameter of an export'],
  ])('is rejected for %s %s, which lenient handling ignores and reports', (name, value, text) => {
    expect(() => one(name, value)).toThrow(text)
    const { passedOver, ...rest } = one(name, value, { lenient: true })
    expect(passedOver).toEqual([expect.stringContaining(text)])
    expect(rest).toMatchObject({ elements: [], patients: [], filters: [] })
  })

  it.each([
    ['_since', `2026-01-31T${'T'.repeat(200_000)}`, '_since is an instant'],
    ['_type', 'Nothing,'.repeat(101), '_type names "Nothing"'],
    ['_typeFilter', `Observation?colour=red${',Observation?colour=red'.repeat(100)}`, 'Unknown search parameter colour'],
    ['_elements', 'id,'.repeat(201), '_elements names more than 200 elements'],
    ['_elements', 'id,'.repeat(100_000), 'All that one export asks for has at most 250000 characters'],
  ])('is rejected quickly for a %s of excessive length', (name, value, text) => {
    expect(() => one(name, value, { lenient: name !== '_since' })).toThrow(text)
  })

  it('names each patient once', () => {
    const named = ['Patient/1', '2', '1'].map((value) => ['patient', value] as const)
    expect(asked(named).patients).toEqual(['Patient/1', 'Patient/2'])
  })

  it('keeps only valid types with lenient handling, even if none is left', () => {
    expect(one('_type', 'Patient,Nothing', { lenient: true }).types).toEqual(['Patient'])
    expect(one('_type', 'Nothing', { lenient: true }).types).toEqual([])
  })

  it('is rejected for an empty list; lenient handling ignores an empty _type', () => {
    expect(() => one('_type', ' ,')).toThrow('_type names no type')
    expect(one('_type', '', { lenient: true })).toEqual({ ...NOTHING, passedOver: ['_type names no type'] })
    expect(() => one('_elements', '')).toThrow('_elements names no element')
  })

  it('names patients only by POST, and not at system level', () => {
    expect(() => one('patient', 'Patient/1', { posted: false })).toThrow('patient is sent by POST')
    for (const [level, isFor] of [
      ['system', false],
      ['patient', true],
      ['group', true],
    ] as readonly (readonly [ExportLevel, boolean])[])
      if (isFor) expect(one('patient', 'Patient/1', { level }).patients).toEqual(['Patient/1'])
      else expect(() => one('patient', 'Patient/1', { level })).toThrow('patient is for exports of patients or of a group')
  })

  it('requires _until after _since, and each at most once', () => {
    const [early, late] = ['2026-01-31T12:00:00Z', '2026-02-01T12:00:00Z']
    expect(
      asked([
        ['_since', early],
        ['_until', late],
      ]),
    ).toMatchObject({ since: Date.parse(early), until: Date.parse(late) })
    expect(() =>
      asked([
        ['_since', late],
        ['_until', early],
      ]),
    ).toThrow('_until is not later than _since')
    expect(() =>
      asked([
        ['_since', late],
        ['_until', late],
      ]),
    ).toThrow('_until is not later than _since')
    expect(() =>
      asked([
        ['_since', late],
        ['_since', early],
      ]),
    ).toThrow('_since is given twice')
  })
})
