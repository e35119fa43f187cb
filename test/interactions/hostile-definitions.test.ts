/** Definitions that nobody would write: each can be used, or it is said why not, and none takes more than its size is worth. */
import { describe, expect, it } from '@jest/globals'
import type { Profile } from '../../lambdas/fhir/profile/definition.ts'
import { LoadingLibrary } from '../../lambdas/fhir/profile/definitions/missing-definitions.ts'
import { UnusableDefinition } from '../../lambdas/fhir/profile/definitions/reduced-profile.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { contentOf } from '../../lambdas/interactions/validation/definition-reader.ts'

const many = <T>(count: number, each: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => each(i))
const URL = 'http://example.org/p'
const BASE = 'http://hl7.org/fhir/StructureDefinition/Patient'
const profile = (element: unknown, more: object = {}): Resource => ({
  resourceType: 'StructureDefinition', url: URL, type: 'Patient', kind: 'resource', derivation: 'constraint', baseDefinition: BASE,
  differential: { element }, ...more,
}) as Resource // biome-ignore format: one resource

/** Why it cannot be used. */
async function reasonOf(resource: Resource): Promise<string | undefined> {
  const content = contentOf(resource, 1)
  if (content === undefined || content instanceof UnusableDefinition) return content?.message
  const of = async (canonical: string) => (canonical === BASE ? undefined : (content as Profile))
  const known = new LoadingLibrary({ profile: of, valueSet: async () => undefined, codeSystem: async () => undefined })
  known.tree(URL)
  await known.load()
  return known.unusable(URL) ?? (known.tree(URL) === undefined ? 'no tree' : undefined)
}

const DEEP = 'Its elements are nested too deep'

describe('A profile', () => {
  it.each<readonly [what: string, element: unknown, reason: string | undefined]>([
    ['an endless path', [{ path: many(5_000, () => 'a').join('.') }], DEEP],
    ['an endless id', [{ id: many(5_000, () => 'a').join('.'), path: 'Patient', min: 1 }], DEEP],
    ['endless nested slices', [{ id: `Patient.name:${many(5_000, () => 'a').join('/')}`, path: 'Patient.name', min: 1 }], DEEP],
    ['endless slice names', [{ path: 'Patient.name', sliceName: many(5_000, () => 'a').join('/'), min: 1 }], DEEP],
    ['too many elements', many(30_001, (i) => ({ id: `Patient.e${i}`, path: `Patient.e${i}`, min: 1 })), 'It has more than 30000 elements'],
    ['many elements', many(10_000, (i) => ({ id: `Patient.e${i}`, path: `Patient.e${i}`, min: 1 })), undefined],
    ['elements without a path', [{}, { id: '', path: '' }, { path: null, min: 1 }, { id: ':.:', path: '::', max: '1' }], undefined],
    [
      'names of object members',
      [{ id: '__proto__.constructor:toString', path: '__proto__.constructor', min: 1, type: [{ code: '__proto__' }] }],
      undefined,
    ],
    [
      'a choice of choices',
      [{ id: 'Patient.deceased[x]:deceasedBoolean[x]:x.value[x][x]', path: 'Patient.deceased[x]', max: '0' }],
      undefined,
    ],
    ['a reference to itself', [{ id: 'Patient', path: 'Patient', contentReference: '#Patient' }], undefined],
    ['a malformed rule', [{ path: 'Patient', constraint: [{ key: [], severity: {}, human: 1, expression: 'a' }] }], undefined],
  ])('is used, or unusable with its reason: %s', async (_, element, reason) => {
    expect(await reasonOf(profile(element))).toBe(reason)
  })

  it.each<readonly [type: string, more: object, reason: string]>([
    ['__proto__', {}, 'R4 has no type __proto__'],
    ['constructor', {}, 'R4 has no type constructor'],
    ['Patient', { differential: { element: {} } }, 'It has neither a snapshot nor a differential'],
    ['Patient', { baseDefinition: URL }, `${URL} differs from itself`],
    ['Patient', { url: { a: 1 } }, 'It has no url or type'],
  ])('is unusable for type %s with %j', async (type, more, reason) => {
    expect(await reasonOf(profile([{ path: 'Patient.name', min: 1 }], { type, ...more }))).toBe(reason)
  })
})

it('repeated codes do not collect the parents of each other', () => {
  const concept = many(30_000, (i) => ({ code: `p${i}`, concept: [{ code: 'a' }, { code: '__proto__' }] }))
  const { codes } = contentOf({ resourceType: 'CodeSystem', url: URL, content: 'complete', concept } as unknown as Resource, 1) as {
    readonly codes: Readonly<Record<string, readonly string[]>>
  }
  expect([codes.a!.length, codes.p7, Object.hasOwn(codes, '__proto__')]).toEqual([30_000, [], true])
})
