/** Profiles that need unlimited work: each check ends with a finding about it, and a tenth of the work is checked completely. */
import { expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { PROFILE_URL, type ProfileElement, profile, profileCheckerOf, R4_CANONICAL_BASE } from '../../fixtures/profiles/checking.ts'

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const patient = (more: object): Resource => ({ resourceType: 'Patient', ...more })
const identifiers = (count: number): Resource => patient({ identifier: many(count, (i) => ({ system: `x${i}` })) })
const names = (count: number, name: object): Resource => patient({ name: many(count, () => name) })
const value = (path: string) => ({ type: 'value', path })
const sliced = (count: number, discriminator: readonly object[]): ProfileElement[] => [
  { id: 'Patient.identifier', slicing: { discriminator, rules: 'open' } },
  ...many(count, (i): ProfileElement[] => [
    { id: `Patient.identifier:s${i}`, max: '1' },
    { id: `Patient.identifier:s${i}.system`, fixedUri: `s${i}` },
  ]).flat(),
]
const constrained = (id: string, count: number, expression: (i: number) => string): ProfileElement[] => [
  { id, constraint: many(count, (i) => ({ key: `k${i}`, severity: 'error', human: 'Said', expression: expression(i) })) },
]
const bound = [{ id: 'Patient.communication.language', binding: { strength: 'extensible', valueSet: 'http://example.org/v' } }]
const spoken = (count: number): Resource =>
  patient({ communication: many(count, (i) => ({ language: { coding: [{ system: 's', code: `c${i}` }] } })) })
const valueSet = (include: readonly object[]): Resource => ({ resourceType: 'ValueSet', url: 'http://example.org/v', compose: { include } })
const extension = { ...profile([{ id: 'Extension.url', fixedUri: PROFILE_URL }]), kind: 'complex-type', type: 'Extension' }

/** `size` scales the resource and the profile. */
// biome-ignore format: a table
const ROWS: readonly (readonly [string, (size: number) => readonly [Resource, readonly Resource[]]])[] = [
  ['slices', (size) => [identifiers(300 * size), [profile(sliced(300 * size, [value('system')]))]]],
  ['discriminators', (size) => [identifiers(20 * size), [profile(sliced(20, many(1_000 * size, () => value('assigner'))))]]],
  ['steps of a discriminator', (size) => [identifiers(50 * size), [profile(sliced(20, [value(many(1_000 * size, () => 'assigner').join('.'))]))]]],
  ['slices without a discriminator', (size) => [identifiers(300 * size), [profile(sliced(300 * size, []))]]],
  ['a pattern of many parts', (size) => [names(20, { given: many(800 * size, String) }), [profile([{ id: 'Patient.name', patternHumanName: { given: many(800 * size, (i) => `${800 * size - 1 - i}`) } }])]]],
  ['a fixed value of many parts', (size) => [names(90 * size, { given: ['x'] }), [profile([{ id: 'Patient.name', fixedHumanName: { given: many(20_000 * size, String) } }])]]],
  ['constraints', (size) => [names(400 * size, { text: 'x' }), [profile(constrained('Patient.name', 400 * size, (i) => `text.exists() or ${i} = 1`))]]],
  ['criteria of constraints', (size) => [names(50, { given: many(100 * size, String) }), [profile(constrained('Patient.name', 100 * size, () => many(4, (i) => `given.where($this = 'x${i}' and $this != 'y').empty()`).join(' and ')))]]],
  ['constraints on long texts', (size) => [names(1, { text: 'a '.repeat(100_000), family: 'b '.repeat(100_000) }), [profile(constrained('Patient.name', 100 * size, (i) => `text !~ family or ${i} = 1`))]]],
  ['parts of a value set', (size) => [spoken(100 * size), [profile(bound), valueSet(many(1_000 * size, (i) => ({ system: `s${i}`, concept: [{ code: 'x' }] })))]]],
  ['filters of a value set', (size) => [spoken(100 * size), [profile(bound), valueSet([{ system: 's', filter: many(1_000 * size, () => ({ property: 'concept', op: 'in', value: many(100, String).join() })) }])]]],
  ['contexts of an extension', (size) => [patient({ extension: many(90 * size, () => ({ url: PROFILE_URL, valueString: 'x' })) }), [{ ...extension, context: many(2_000 * size, (i) => ({ type: 'element', expression: i === 0 ? 'Patient' : `Patient.x${i}` })) }]]],
  ['targets of references', (size) => [patient({ generalPractitioner: many(200 * size, () => ({ reference: 'Practitioner/1' })) }), [profile([{ id: 'Patient.generalPractitioner', type: [{ code: 'Reference', targetProfile: many(900 * size, (i) => `${R4_CANONICAL_BASE}${i === 0 ? 'Practitioner' : 'Organization'}`) }] }])]]],
]

it('the number of named definitions is limited', async () => {
  const named = (count: number): Resource =>
    patient({ extension: many(count, (i) => ({ url: `http://example.org/${i}`, valueString: 'x' })) })
  const costly = async (count: number, isEnforced: boolean): Promise<readonly string[]> => {
    const { issues } = await profileCheckerOf([])(named(count), [], { isEnforced })
    return issues.filter(({ code }) => code === 'too-costly').map(({ severity, expression }) => `${severity} ${expression}`)
  }
  expect(await costly(2_500, false)).toEqual(['warning Patient'])
  expect(await costly(2_600, true)).toEqual(['error Patient'])
  expect(await costly(1_500, true)).toEqual([])
})

it.each(ROWS)('the work for %s is limited', async (_name, made) => {
  const [[resource, definitions], [less, fewer]] = [made(1), made(0.1)]
  const costly = async (of: Resource, by: readonly Resource[]): Promise<readonly string[]> => {
    const { issues } = await profileCheckerOf(by)(of, [PROFILE_URL])
    return issues.filter(({ code }) => code === 'too-costly').map(({ severity, expression }) => `${severity} ${expression}`)
  }
  expect(await costly(resource, definitions)).toEqual(['error Patient'])
  expect(await costly(less, fewer)).toEqual([])
})

it('a large Bundle of minimal Patients with a profile is checked completely', async () => {
  const us = (name: string) => `http://hl7.org/fhir/us/core/StructureDefinition/us-core-${name}`
  const omb = (code: string) => ({ url: 'ombCategory', valueCoding: { system: 'urn:oid:2.16.840.1.113883.6.238', code } })
  const extensionOf = (name: string, code: string) => ({ url: us(name), extension: [omb(code), { url: 'text', valueString: 'x' }] })
  const extension = [extensionOf('race', '2106-3'), extensionOf('ethnicity', '2186-5')]
  const resource = {
    ...patient({ id: 'a', extension, meta: { profile: [us('patient')] } }),
    identifier: [{ system: 'urn:a', value: '1' }],
    name: [{ family: 'A', given: ['B'] }],
  }
  const entry = [...many(3_000, () => ({ resource: { ...resource, gender: 'female' } })), { resource }]
  const { issues } = await profileCheckerOf([])({ resourceType: 'Bundle', type: 'collection', entry }, [])
  expect(issues.filter(({ severity }) => severity === 'error')).toEqual([
    expect.objectContaining({ code: 'required', expression: 'Bundle.entry[3000].resource' }),
  ])
})
