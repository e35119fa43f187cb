/** A large resource is checked in pieces, between which other work runs, whatever its nesting and its profiles. */
import { afterEach, expect, it, jest } from '@jest/globals'
import { LoadingLibrary } from '../../../lambdas/fhir/profile/definitions/missing-definitions.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { PROFILE_URL, type ProfileElement, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import { countTurnsDuring } from '../../fixtures/turns.ts'

const OTHER = 'http://example.org/other'
const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
const ITEMS = 20_000
const identifiers = many(ITEMS, (i) => ({ system: `x${i}` }))
const patient: Resource = { resourceType: 'Patient', identifier: identifiers }
const parameters: Resource = {
  resourceType: 'Parameters',
  parameter: [{ name: 'a', part: many(ITEMS, () => ({ name: 'b', valueCoding: {} })) }],
}
const entries = (resource: object): Resource => ({ resourceType: 'Bundle', type: 'collection', entry: [{ fullUrl: 'urn:a', resource }] })
const referring: Resource = {
  resourceType: 'Patient',
  contained: [{ ...patient, id: 'a' }],
  link: [{ type: 'seealso', other: { reference: '#a' } }],
}
const sliced = (discriminator: readonly object[]): ProfileElement[] => [
  { id: 'Patient.identifier', slicing: { discriminator, rules: 'open' } },
  { id: 'Patient.identifier:a', max: '1' },
  { id: 'Patient.identifier:a.system', fixedUri: 'a' },
]
const constraint = many(ITEMS / 100, (i) => ({
  key: `k${i}`,
  severity: 'error',
  human: 'x',
  expression: `identifier.where(system = 's${i}').empty()`,
}))
const other = profile([{ id: 'Patient.identifier.system', min: 1 }], 'differential', OTHER)

/** Advances the clock by 25 ms at each reading, so that every piece uses up its time. */
async function everyPieceIsLong(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
  let now = performance.now()
  jest.spyOn(performance, 'now').mockImplementation(() => {
    now += 25
    return now
  })
}

// biome-ignore format: a table
it.each<readonly [what: string, resource: Resource, definitions: readonly Resource[], pieces: number]>([
  ['every element', parameters, [], 10],
  ['each item of an element', patient, [profile([{ id: 'Patient.identifier.system', maxLength: 9 }])], 20],
  ['slices by a value', patient, [profile(sliced([{ type: 'value', path: 'system' }]))], 50],
  ['slices by a profile', { resourceType: 'Patient', identifier: identifiers }, [profile([
    { id: 'Patient.identifier', slicing: { discriminator: [{ type: 'profile', path: '$this' }], rules: 'open' } },
    { id: 'Patient.identifier:a', type: [{ code: 'Identifier', profile: [OTHER] }] },
  ]), profile([{ id: 'Identifier.value', min: 1 }], 'differential', OTHER)], 60],
  ['slices without a discriminator', patient, [profile(sliced([]))], 40],
  ['a profile of an entry', entries(patient), [profile([{ id: 'Bundle.entry.resource', type: [{ code: 'Patient', profile: [OTHER] }] }]), other], 30],
  ['a profile of a reference target', referring, [profile([{ id: 'Patient.link.other', type: [{ code: 'Reference', targetProfile: [OTHER] }] }]), other], 30],
  ['rules', { resourceType: 'Patient', identifier: identifiers.slice(0, ITEMS / 10) }, [profile([{ id: 'Patient', constraint }])], 20],
])('other work runs during the check of %s', async (_what, resource, definitions, pieces) => {
  await everyPieceIsLong()
  const find = profileCheckerOf(definitions)
  const check = () => find(resource, definitions.length === 0 ? [] : [PROFILE_URL])
  // The first check loads the definitions.
  await check()
  expect(await countTurnsDuring(check)).toBeGreaterThan(pieces)
})

afterEach(() => void jest.restoreAllMocks())

it('an element with a content reference to itself is checked once', async () => {
  const find = profileCheckerOf([
    profile([
      { id: 'Patient', contentReference: '#Patient' },
      { id: 'Patient.name', min: 1 },
    ]),
  ])
  expect((await find({ resourceType: 'Patient' }, [PROFILE_URL])).issues).toContainEqual(
    expect.objectContaining({ text: `name is required (${PROFILE_URL})` }),
  )
})

it('concurrent checks load their own definitions and see those that others loaded', async () => {
  const found = { url: OTHER, include: [] }
  const known = new LoadingLibrary({ profile: async () => undefined, valueSet: async () => found, codeSystem: async () => undefined })
  const [one, other] = [known.forCheck(), known.forCheck()]
  for (const each of [one, other]) expect(each.valueSet(OTHER)).toBeUndefined()
  expect(await one.load()).toBe(1)
  expect(other.valueSet(OTHER)).toBe(found)
  expect([await other.load(), await other.load(), known.isWanting()]).toEqual([1, 0, false])
})

it('a concurrent small check does not affect a large one', async () => {
  const elements = [{ id: 'Patient.identifier.type', binding: { strength: 'required', valueSet: 'http://example.org/v' } }]
  const include = [{ system: 's', concept: [{ code: 'a' }] }]
  const find = profileCheckerOf([profile(elements), { resourceType: 'ValueSet', url: 'http://example.org/v', compose: { include } }])
  const coded = { type: { coding: [{ system: 's', code: 'b' }] } }
  // Everything except the value set is loaded.
  await find({ resourceType: 'Patient' }, [PROFILE_URL])
  await find({ resourceType: 'Patient', identifier: [coded] }, [])
  await everyPieceIsLong()
  const both = [[coded, ...identifiers], [coded]].map((identifier) => find({ resourceType: 'Patient', identifier }, [PROFILE_URL]))
  for (const { issues } of await Promise.all(both))
    expect(issues).toContainEqual(expect.objectContaining({ severity: 'error', code: 'code-invalid' }))
})
