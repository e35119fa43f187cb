/** Identifiers of resources and of searches: what rows of the store can decide. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { and, type Predicate } from '../../../lambdas/ports/search/plan.ts'
import { IDENTIFIER_DERIVATION, identifierCriteriaOf, identifiersOf } from '../../../lambdas/search/documents/identifiers.ts'
import { findSearchParameter } from '../../../lambdas/search/parameters.ts'
import { parseParameterPairs } from '../../../lambdas/search/query/parameter-pairs.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'

const criteriaOf = (query: string, type = 'Patient') =>
  identifierCriteriaOf(and(...(parseSearch(type, parseParameterPairs(query), { handling: 'strict' }).where as readonly Predicate[])))
const patientWith = (...identifier: readonly object[]) => ({ resourceType: 'Patient', id: 'p', identifier })

describe('The identifiers', () => {
  it('in a resource are distinct systems and values, without case', () => {
    const resource = patientWith({ system: 'urn:A', value: 'Ab' }, { system: 'urn:A', value: 'aB' }, { value: 'x' }, { system: 'urn:A' })
    expect(identifiersOf('Patient', resource)).toEqual([
      { system: 'urn:A', value: 'ab' },
      { system: '', value: 'x' },
    ])
    expect(identifiersOf('Patient', { resourceType: 'Patient', id: 'p' })).toEqual([])
    expect(identifiersOf('Binary', { resourceType: 'Binary', id: 'p' })).toEqual([])
  })

  it('have another IDENTIFIER_DERIVATION if other ones are derived', () => {
    const odd = ['Ab', 'ß', 'İ', 'ı', 'ſ', 'ﬁ', '\u212B', 'A\u030A', 'Σς', 'x|y', ' z ', '１', '😀', 'a'.repeat(300)]
    const derived = identifiersOf('Patient', patientWith(...odd.flatMap((value) => [{ value }, { system: `urn:${value}`, value }])))
    const paths = resourceTypes.map((type) => findSearchParameter(type, 'identifier')?.expression)
    const digest = createHash('sha256')
      .update(JSON.stringify([derived, paths]))
      .digest('base64url')
    // If this fails, raise IDENTIFIER_DERIVATION and update both.
    expect([IDENTIFIER_DERIVATION, digest]).toEqual([1, 'Rjaqwn7WghBergPSKLnhavd1HqGsAbQkn8p1YVh6zAo'])
  })

  it('in a DocumentReference include the master identifier', () => {
    const resource = { resourceType: 'DocumentReference', id: 'd', masterIdentifier: { value: 'm' }, identifier: [{ value: 'i' }] }
    expect(identifiersOf('DocumentReference', resource).map(({ value }) => value)).toEqual(['m', 'i'])
  })

  it.each([
    ['identifier=urn:A|Ab', [{ system: 'urn:A', value: 'ab' }]],
    ['identifier=Ab', [{ value: 'ab' }]],
    ['identifier=|Ab', [{ system: '', value: 'ab' }]],
    ['identifier=urn:a|1,2', [{ system: 'urn:a', value: '1' }, { value: '2' }]],
    ['identifier=urn:a|1|2', [{ system: 'urn:a', value: '1|2' }]],
    ['name=x&identifier=urn:a|1', [{ system: 'urn:a', value: '1' }]],
    ['identifier=1,2&identifier=3', [{ value: '1' }, { value: '2' }], [{ value: '3' }]],
    [`identifier=${[...Array(20).keys()].join()}`, [...Array(20).keys()].map((n) => ({ value: String(n) }))],
  ])('in %s are exact', (query, ...expected) => {
    expect(criteriaOf(query)).toEqual(expected)
  })

  it.each([
    'name=x',
    'identifier=urn:a|',
    'identifier=urn:a|1,urn:b|',
    'identifier:not=1',
    'identifier:missing=false',
    'identifier:of-type=urn:t|MR|1',
    'identifier:text=x',
    `identifier=${[...Array(21).keys()].join()}`,
  ])('in %s are not exact', (query) => {
    expect(criteriaOf(query)).toEqual([])
  })

  it.each([
    ['urn:x|y', 'z', ['urn:x\\|y|z', 'z']],
    ['urn:x', 'y|Z', ['urn:x|y|z', 'y\\|z']],
    ['urn:x', 'İ,$', ['urn:x|İ\\,\\$', 'İ\\,\\$']],
  ])('in %s|%s are one identifier, which each search for it names', (system, value, searches) => {
    const [row, ...others] = identifiersOf('Patient', patientWith({ system, value }))
    expect(others).toEqual([])
    expect(searches.map((search) => criteriaOf(`identifier=${search}`))).toEqual([[[row]], [[{ value: row!.value }]]])
  })

  it('are all that the parameter identifier of any type selects', () => {
    const others = resourceTypes.filter((type) => findSearchParameter(type, 'identifier')?.valueTypes.some((each) => each !== 'Identifier'))
    expect(others).toEqual([])
  })
})
