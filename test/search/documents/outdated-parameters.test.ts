/** What documents of another release are not found by: told of each number of the extractor and of the registry, and asked of each search. */
import { describe, expect, it } from '@jest/globals'
import { documentFormatOf, parseDocumentFormat } from '../../../lambdas/indexing/document-format.ts'
import { and, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { CANONICAL_FIELD } from '../../../lambdas/search/canonical.ts'
import {
  CHANGED_TYPES_BY_EXTRACTOR,
  type DocumentFormat,
  type FormatChanges,
  formatChangesBetween,
  REGISTRY_HISTORY,
} from '../../../lambdas/search/documents/changed-keys.ts'
import { EXTRACTOR_VERSION } from '../../../lambdas/search/documents/extract.ts'
import { findOutdatedParameters } from '../../../lambdas/search/documents/outdated-parameters.ts'
import { registryNumber } from '../../../lambdas/search/parameters.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'

const BASE = 'https://fhir.example.org/fhir'
const NOW = parseDocumentFormat(documentFormatOf({ baseUrl: BASE }))

it('each extractor and registry number has a row of changes', () => {
  const rows = Object.keys(CHANGED_TYPES_BY_EXTRACTOR).map(Number)
  expect(rows).toEqual(Array.from({ length: EXTRACTOR_VERSION - 8 }, (_, i) => i + 9))
  expect(REGISTRY_HISTORY.at(-1)!.number).toBe(registryNumber)
})

describe('between two releases', () => {
  const typesFrom = (made: Partial<DocumentFormat>) => {
    const changes = formatChangesBetween({ ...NOW, ...made }, NOW)
    return changes === 'all' ? changes : [...changes.types, ...changes.parameters]
  }

  it('equal numbers change nothing', () => expect(typesFrom({})).toEqual([]))
  it('the rows between them add up', () => expect(typesFrom({ extractor: 8 })).toEqual(CHANGED_TYPES_BY_EXTRACTOR[9]))
  it('a new parameter is the only change of its registry number', () =>
    expect(typesFrom({ registry: 1552649111 })).toEqual(['Coverage.subscriber-id']))
  it('an index that is made again for its copies alone answers until then', () => expect(typesFrom({ extractor: 10 })).toEqual([]))
  it('unknown and newer numbers change everything', () => {
    for (const made of [{ extractor: 7 }, { extractor: EXTRACTOR_VERSION + 1 }, { registry: 1 }, { reading: { ...NOW.reading, other: 1 } }])
      expect(typesFrom(made)).toBe('all')
  })
  it('a base URL changes references, a time zone changes dates', () => {
    expect(typesFrom({ reading: parseDocumentFormat(documentFormatOf({ baseUrl: 'https://other.example/fhir' })).reading })).toEqual([
      'reference',
      'uri',
    ])
    expect(typesFrom({ reading: parseDocumentFormat(documentFormatOf({ baseUrl: BASE, timeZone: 'Europe/Berlin' })).reading })).toEqual([
      'date',
    ])
  })
})

describe('a search', () => {
  const asked = (query: string, more: object = {}) => {
    const { where, order } = parseSearch('Observation', [...new URLSearchParams(query)], { now: 0 })
    return {
      tenant: 't',
      types: ['Observation'],
      where: and(...(where as readonly Predicate[])),
      access: 'everything',
      order,
      ...more,
    } as const
  }
  const outdated = (query: string, changes: FormatChanges | undefined, more: object = {}) =>
    findOutdatedParameters(asked(query, more), (type) => (type === 'Observation' ? changes : undefined), {})
  const only = (...types: readonly string[]): FormatChanges => ({ types: new Set(types), parameters: new Set() }) as FormatChanges

  it.each<readonly [query: string, changes: FormatChanges | undefined, codes: readonly string[]]>([
    ['code=x&date=2020', undefined, []],
    ['code=x&date=2020', only('date'), ['date']],
    ['code:not=x', only('token'), ['code']],
    ['code=x&date=2020', only('string'), []],
    ['code=x&_sort=-date', only('date'), ['date']],
    ['code-value-quantity=x$5', only('quantity'), ['code-value-quantity']],
    ['code-value-quantity=x$5', only('date'), []],
    ['code=x&status=final', { types: new Set(), parameters: new Set(['Observation.status']) }, ['status']],
    ['_id=x', only('token'), ['_id']],
    ['_lastUpdated=gt2020', { types: new Set(), parameters: new Set(['Resource._lastUpdated']) }, ['_lastUpdated']],
    ['code=x&date=2020', 'all', ['code', 'date']],
    ['', 'all', []],
  ])('is outdated by %s, after a change of %o', (query, changes, codes) => expect(outdated(query, changes)).toEqual(codes))

  it('also depends on access rules, lookups and groups', () => {
    const rule: Predicate = { kind: 'key', field: 'category', oneOf: ['x'] }
    expect(outdated('date=2020', only('token'), { access: { Observation: rule } })).toEqual(['category'])
    expect(outdated('date=2020', only('token'), { field: 'code:code' })).toEqual(['code'])
    // Observations have no url: what all of it would find is no parameter.
    expect(outdated('', only('uri'), { field: CANONICAL_FIELD })).toEqual(['url'])
    expect(outdated('', only('date'), { field: CANONICAL_FIELD })).toEqual([])
  })

  it('does not depend on other types', () => expect(outdated('code=x', 'all', { types: ['Patient'] })).toEqual([]))
})
