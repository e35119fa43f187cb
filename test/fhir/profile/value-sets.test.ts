/** Membership of a code in a value set: case, the version of the code system, and the expansion. https://hl7.org/fhir/R4/valueset.html */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { PROFILE_URL, profile, profileCheckerOf } from '../../fixtures/profiles/checking.ts'

const set = (url: string, more: object): Resource => ({ resourceType: 'ValueSet', url, ...more })
const SYSTEM = {
  resourceType: 'CodeSystem',
  url: 's',
  content: 'complete',
  concept: [{ code: 'a', concept: [{ code: 'b' }] }, { code: 'c' }],
}
const coded = (code: string, system = 's'): Resource => ({
  resourceType: 'Observation',
  valueCodeableConcept: { coding: [{ system, code }] },
})

/** Returns `in`, `out` or `unknown` for a code that is bound to the value set. */
async function found(definitions: readonly Resource[], code: string, system = 's'): Promise<string> {
  const bound = profile([{ id: 'Observation.value[x]', binding: { strength: 'required', valueSet: 'bound' } }])
  const { issues } = await profileCheckerOf([bound, ...definitions])(coded(code, system), [PROFILE_URL])
  const told = issues.filter(({ text }) => text.includes('value set'))
  return told.length === 0 ? 'in' : told.map(({ severity }) => (severity === 'error' ? 'out' : 'unknown')).join()
}

const CONCEPTS = [{ code: 'Top', concept: [{ code: 'Low' }] }, { code: 'Other' }]
const filtered = (op: string, value: string) => [{ system: 's', filter: [{ property: 'concept', op, value }] }]

/** https://hl7.org/fhir/R4/codesystem-definitions.html#CodeSystem.caseSensitive */
describe('a code in another case than in the value set', () => {
  const many = Array.from({ length: 20 }, (_, i) => ({ code: `C${i}` }))
  const one = [{ system: 's', concept: [{ code: 'Top' }] }]
  const rows: readonly (readonly [string, object, string, string])[] = [
    ['is in', { include: one }, 'tOP', 'in'],
    ['is in, of many', { include: [{ system: 's', concept: [...many, { code: 'Top' }] }] }, 'TOP', 'in'],
    ['is out where there is no such one', { include: one }, 'LOW', 'out'],
    ['is excluded', { include: [{ system: 's' }], exclude: one }, 'TOP', 'out'],
    ['is named by a filter', { include: filtered('=', 'top') }, 'Top', 'in'],
    ['is what a filter asks for', { include: filtered('is-a', 'TOP') }, 'top', 'in'],
    ['is below what a filter asks for', { include: filtered('descendent-of', 'TOP') }, 'low', 'in'],
    ['is not below it', { include: filtered('is-a', 'TOP') }, 'OTHER', 'out'],
  ]
  const system = (more: object): Resource => ({ ...SYSTEM, concept: CONCEPTS, ...more })

  it.each(rows)('%s: %j has %s', async (_what, compose, code, expected) => {
    const bound = set('bound', { compose })
    expect(await found([system({ caseSensitive: false }), bound], code)).toBe(expected)
    expect(await found([system({}), bound], code)).toBe(expected)
  })

  it.each([
    ['is case-sensitive', [system({ caseSensitive: true })]],
    ['has codes that differ only by case', [system({ concept: [{ code: 'Top' }, { code: 'TOP' }] })]],
    ['is not loaded', []],
  ])('is out if the code system %s', async (_what, systems) => {
    const bound = set('bound', { compose: { include: one } })
    expect(await found([...systems, bound], 'TOP')).toBe('out')
    expect(await found([...systems, bound], 'Top')).toBe('in')
  })

  it('is in for code systems of R4 that ignore case', async () => {
    const emergency = 'http://terminology.hl7.org/CodeSystem/v2-0131'
    const bound = set('bound', { compose: { include: [{ system: emergency, concept: [{ code: 'C' }] }] } })
    expect([await found([bound], 'c', emergency), await found([bound], 'E', emergency)]).toEqual(['in', 'out'])
    const type = 'http://terminology.hl7.org/CodeSystem/v2-0203'
    const types = set('bound', { compose: { include: [{ valueSet: ['http://hl7.org/fhir/ValueSet/identifier-type'] }] } })
    expect([await found([types], 'dl', type), await found([types], 'dlx', type)]).toEqual(['in', 'out'])
  })
})

/** https://hl7.org/fhir/R4/valueset-definitions.html#ValueSet.compose.include.version */
describe('a value set with a version of a code system', () => {
  const system: Resource = { ...SYSTEM, version: '2', concept: CONCEPTS }
  const pinned = (version: string) => ({ ...filtered('is-a', 'Top')[0], version })

  it.each([
    ['2', 'in', 'out'],
    ['1', 'unknown', 'unknown'],
    ['*', 'in', 'out'],
  ])('is decided only if that version is loaded: %s', async (version, low, other) => {
    const bound = set('bound', { compose: { include: [pinned(version)] } })
    expect([await found([system, bound], 'Low'), await found([system, bound], 'Other')]).toEqual([low, other])
    const without = set('bound', { compose: { include: [{ system: 's' }], exclude: [pinned(version)] } })
    const turned: Readonly<Record<string, string>> = { in: 'out', out: 'in', unknown: 'unknown' }
    expect([await found([system, without], 'Low'), await found([system, without], 'Other')]).toEqual([turned[low], turned[other]])
  })

  it('reports the version that is missing', async () => {
    const bound = set('bound', { compose: { include: [pinned('1')] } })
    const find = profileCheckerOf([
      profile([{ id: 'Observation.value[x]', binding: { strength: 'required', valueSet: 'bound' } }]),
      system,
      bound,
    ])
    const { issues } = await find(coded('Low'), [PROFILE_URL])
    expect(issues.map(({ text }) => text)).toContain(
      'Whether the code is in the value set bound is not known: the code system s|1 is not loaded',
    )
  })

  it('needs no loaded version for listed codes and whole systems', async () => {
    const listed = set('bound', { compose: { include: [{ system: 's', version: '1', concept: [{ code: 'Top' }] }] } })
    expect([await found([system, listed], 'Top'), await found([system, listed], 'Low')]).toEqual(['in', 'out'])
    expect(await found([system, set('bound', { compose: { include: [{ system: 's', version: '1' }] } })], 'Low')).toBe('in')
  })
})

/** The rule and its exceptions are in lambdas/docs/conformance.md, under "Value sets". */
it('a value set with a whole system accepts any code of it, even unknown ones', async () => {
  const whole = set('bound', { compose: { include: [{ system: 's' }] } })
  expect([await found([SYSTEM, whole], 'a'), await found([SYSTEM, whole], 'none')]).toEqual(['in', 'in'])
  const interpretation = 'http://terminology.hl7.org/CodeSystem/v3-ObservationInterpretation'
  const own = set('bound', { compose: { include: [{ system: interpretation }] } })
  expect(await found([own], 'HIGH', interpretation)).toBe('in')
})

describe('an expansion', () => {
  const contains = [{ system: 's', code: 'a' }]
  const undecided = [{ system: 's', filter: [{ property: 'colour', op: '=', value: 'red' }] }]
  const extension = (name: string, valueBoolean: boolean) => [
    { url: `http://hl7.org/fhir/StructureDefinition/valueset-${name}`, valueBoolean },
  ]
  it.each([
    ['decides where a filter does not', { include: undecided }, { contains }, ['in', 'out']],
    ['decides where a value set does not', { include: [{ valueSet: ['nowhere'] }] }, { contains }, ['in', 'out']],
    ['decides where an exclusion does not', { include: [{ system: 's' }], exclude: undecided }, { contains }, ['in', 'out']],
    ['is ignored where filters decide', { include: filtered('=', 'b') }, { contains }, ['out', 'in']],
    ['decides only the codes in it if it is partial', { include: undecided }, { total: 9, contains }, ['in', 'unknown']],
    ['is partial if it is unclosed', { include: undecided }, { extension: extension('unclosed', true), contains }, ['in', 'unknown']],
    ['is partial if it was too costly', { include: undecided }, { extension: extension('toocostly', true), contains }, ['in', 'unknown']],
    ['is complete if it is not unclosed', { include: undecided }, { extension: extension('unclosed', false), contains }, ['in', 'out']],
    ['decides nothing if it is empty', { include: undecided }, { contains: [] }, ['unknown', 'unknown']],
  ])('%s', async (_what, compose, expansion, expected) => {
    const bound = set('bound', { compose, expansion })
    expect([await found([SYSTEM, bound], 'a'), await found([SYSTEM, bound], 'b')]).toEqual(expected)
  })
})
