/** The values of a resource are taken up with work that grows with their number, not with its square: these would take minutes. */
import { expect, it } from '@jest/globals'
import { extract } from '../../lambdas/search/extract.ts'

const MANY = 100_000
const VERSION = { tenant: 't', id: '1', versionId: 1, lastUpdated: 1, deleted: false, compartments: [], body: new Uint8Array() }
const many = <T>(each: (i: number) => T): readonly T[] => Array.from({ length: MANY }, (_, i) => each(i))
const documentOf = (resource: { readonly resourceType: string }) => extract({ ...VERSION, type: resource.resourceType }, resource)

it('100,000 identifiers, each once however often it is there', () => {
  const identifier = [...many((i) => ({ system: 's', value: `${i}` })), ...many((i) => ({ system: 's', value: `${i}` }))]
  const { keys, groups } = documentOf({ resourceType: 'Patient', identifier } as never)
  expect(keys['identifier:code']).toHaveLength(MANY)
  expect(new Set(keys['identifier:code']).size).toBe(MANY)
  expect(groups['identifier:code']).toHaveLength(MANY)
})

it('100,000 codes of one concept, and of components', () => {
  const code = { coding: many((i) => ({ system: 's', code: `c${i}`, display: `d${i}` })) }
  const component = many((i) => ({ code: { coding: [{ system: 's', code: `c${i}` }] }, valueString: `v${i}` }))
  const { keys } = documentOf({ resourceType: 'Observation', code, component } as never)
  expect([keys['code:code']?.length, keys['code:text']?.length, keys['combo-code:code']?.length]).toEqual([MANY, MANY, MANY])
})

it('a key stands once, whether few or many are there', () => {
  for (const count of [3, 49, 50, 51, 52, 60]) {
    const values = Array.from({ length: count }, (_, i) => ({ system: 's', value: `${i}` }))
    const { keys } = documentOf({ resourceType: 'Patient', identifier: [...values, ...values, ...values] } as never)
    expect([keys['identifier:code']?.length, new Set(keys['identifier:code']).size]).toEqual([count, count])
  }
})
