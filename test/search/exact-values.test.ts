/** The reference evaluation as an executor of plans, and what decides how values are compared. */
import { describe, expect, it } from '@jest/globals'
import { and, type Predicate } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../lambdas/search/evaluate.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { exactValuesContract } from '../contracts/exact-values.contract.ts'
import { codeableConceptOf, observation } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

exactValuesContract('The reference evaluation', 2, () => {
  let documents: readonly IndexDocument[] = []
  return {
    apply: async (applied) => {
      documents = applied
    },
    find: async ({ type }, where) => documents.filter((each) => each.type === type && matchesPredicate(where, each)).map(({ id }) => id),
  }
})

describe('The search', () => {
  const UCUM = 'http://unitsofmeasure.org'
  const isFound = (fields: Parameters<typeof observation>[1], name: string, value: string): boolean => {
    const document = extract(versionOf(writeOf(resourceKeyOf('t', 'Observation', '1'))), observation('1', fields))
    const { where } = parseSearch('Observation', [[name, value]], { handling: 'strict' })
    return matchesPredicate(and(...(where as readonly Predicate[])), document)
  }
  const measured = (value: number, code: string) => ({ code: codeableConceptOf('c'), valueQuantity: { value, system: UCUM, code } })

  it.each([
    [7.4, '[pH]', 'gt7', true],
    [7.4, '[pH]', 'lt7', false],
    [7.4, '[pH]', '7.4', true],
    [34, 'Cel', 'ap37', true],
    [33, 'Cel', 'ap37', false],
    [-34, 'Cel', 'ap-37', true],
    [-33, 'Cel', 'ap-37', false],
    [20_000, 'dB', '20000', true],
    [20_000, 'dB', 'lt20001', true],
    [60, '/min', '1', false],
  ])('compares %p %s with %s: %p', (value, code, query, expected) => {
    expect(isFound(measured(value, code), 'value-quantity', `${query}|${UCUM}|${code}`)).toBe(expected)
    expect(isFound(measured(value, code), 'code-value-quantity', `c$${query}|${UCUM}|${code}`)).toBe(expected)
  })

  it.each(['2020-05-01T10:00:00.57Z', '2020-05-01T10:00:00.123456789Z', '2020-05-01T10:00:00.12345678901234567890Z'])(
    'finds %s by that instant, and not by ne',
    (date) => {
      expect(isFound({ date }, 'date', date)).toBe(true)
      expect(isFound({ date }, 'date', `ne${date}`)).toBe(false)
    },
  )
})
