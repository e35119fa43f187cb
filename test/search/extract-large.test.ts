/** The values of a resource are taken up with work that grows with their number, not with its square: these would take minutes. */
import { expect, it } from '@jest/globals'
import { extract, extractInPieces } from '../../lambdas/search/documents/extract.ts'
import { DocumentFields, namesOf } from '../../lambdas/search/fields.ts'

const MANY = 100_000
const VERSION = { tenant: 't', id: '1', versionId: 1, lastUpdated: 1, deleted: false, compartments: [], body: new Uint8Array() }
const many = <T>(each: (i: number) => T): readonly T[] => Array.from({ length: MANY }, (_, i) => each(i))
const documentOf = (resource: { readonly resourceType: string }) => extract({ ...VERSION, type: resource.resourceType }, resource)

it('100,000 repeated identifiers are extracted once each', () => {
  const identifier = [...many((i) => ({ system: 's', value: `${i}` })), ...many((i) => ({ system: 's', value: `${i}` }))]
  const { keys, groups } = documentOf({ resourceType: 'Patient', identifier } as never)
  expect(keys['identifier:code']).toHaveLength(MANY)
  expect(new Set(keys['identifier:code']).size).toBe(MANY)
  expect(groups['identifier:code']).toHaveLength(MANY)
})

it('100,000 codes of a concept and of components are extracted', () => {
  const code = { coding: many((i) => ({ system: 's', code: `c${i}`, display: `d${i}` })) }
  const component = many((i) => ({ code: { coding: [{ system: 's', code: `c${i}` }] }, valueString: `v${i}` }))
  const { keys } = documentOf({ resourceType: 'Observation', code, component } as never)
  expect([keys['code:code']?.length, keys['code:text']?.length, keys['combo-code:code']?.length]).toEqual([MANY, MANY, MANY])
})

it('a key appears once, for few and for many values', () => {
  for (const count of [3, 49, 50, 51, 52, 60]) {
    const values = Array.from({ length: count }, (_, i) => ({ system: 's', value: `${i}` }))
    const { keys } = documentOf({ resourceType: 'Patient', identifier: [...values, ...values, ...values] } as never)
    expect([keys['identifier:code']?.length, new Set(keys['identifier:code']).size]).toEqual([count, count])
  }
})

it('a resource with many codes is extracted in pieces with the same result', () => {
  const concept = Array.from({ length: 20_001 }, (_, i) => ({ code: `C${i % 20_000}` }))
  const resource = { resourceType: 'CodeSystem', status: 'active', concept } as never
  const pieces = extractInPieces({ ...VERSION, type: 'CodeSystem' }, resource)
  let steps = 0
  let piece = pieces.next()
  for (; piece.done !== true; piece = pieces.next()) steps++
  expect(steps).toBe(11)
  expect(piece.value).toEqual(documentOf(resource))
  const { keys, groups } = documentOf(resource)
  expect([keys.code?.length, keys['code:code']?.length, groups['code:code']?.length]).toEqual([20_000, 20_000, 20_000])
  expect(groups['code:system']).toBe(groups['code:code'])
  expect([...extractInPieces({ ...VERSION, type: 'Patient' }, { resourceType: 'Patient', active: true } as never)]).toEqual([])
})

it('equal codes appear once per system and per case, for few and for many', () => {
  for (const count of [3, 49, 60]) {
    const of = (system: string, text: string) => Array.from({ length: count }, (_, i) => ({ system, value: `${text}${i}` }))
    const identifier = [...of('s', 'a'), ...of('t', 'a'), ...of('s', 'A'), ...of('t', 'b'), { system: 's' }]
    const { keys, groups } = documentOf({ resourceType: 'Patient', identifier: [...identifier, ...identifier] } as never)
    expect(keys.identifier).toHaveLength(3 * count + 1)
    expect(keys['identifier:code']).toHaveLength(2 * count)
    expect([groups['identifier:code']?.length, groups['identifier:system']?.length]).toEqual([3 * count, 4 * count])
    for (const list of [...Object.values(keys), ...Object.values(groups)]) expect(new Set(list).size).toBe(list.length)
  }
})

it('group values of codes share one list until their systems differ', () => {
  const fields = new DocumentFields({})
  const names = namesOf('code')
  fields.group(names, 'a')
  expect(fields.groups['code:system']).toBe(fields.groups['code:code'])
  fields.group(names, 'b', 's|b')
  fields.group(names, 'a')
  expect(fields.groups).toEqual({ 'code:code': ['a', 'b'], 'code:system': ['a', 's|b'] })
})
