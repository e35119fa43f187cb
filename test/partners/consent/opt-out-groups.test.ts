/** Opt-out Groups that are read for few Patients, in parts, and for many Patients, as a whole. Both find the members of the parsed Group. */
import { describe, expect, it } from '@jest/globals'
import { OptOutGroups } from '../../../lambdas/partners/consent/opt-out-groups.ts'
import type { MemberData } from '../../../lambdas/partners/member-data.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { codeableConceptOf, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { BASE_URL } from '../member-store.ts'

const NOW = Date.parse('2026-02-15T12:00:00Z')
const SCOPES = 'http://hl7.org/fhir/us/davinci-pdex/CodeSystem/opt-out-scope'

/** Ids of Patients that no Group has. With them, a question is about many Patients. */
const STRANGERS = Array.from({ length: 30 }, (_, i) => `stranger-${i}`)

/** Data with these Groups, as JSON. Every search finds all of them. */
const dataOf = (...groups: readonly string[]): MemberData => {
  const hits = groups.map((_, i) => ({ type: 'Group', id: String(i) }))
  const heads: MemberData['heads'] = async (keys) =>
    keys.map(({ id }) => versionOf(writeOf(resourceKeyOf('t', 'Group', id), { body: groups[Number(id)]! })))
  const index = { find: async () => ({ hits, more: false }), distinct: async () => [] } as unknown as MemberData['index']
  return { tenant: 't', reading: { baseUrl: BASE_URL }, index, heads }
}

/** Returns which of the ids are members. Asks for them together, alone, and among many. */
async function foundIn(data: MemberData, ids: readonly string[]): Promise<readonly string[]> {
  const ask = async (asked: readonly string[], groups = new OptOutGroups(data, 'payer', NOW)) =>
    [...(await groups.find(asked, () => undefined))].toSorted()
  const groups = new OptOutGroups(data, 'payer', NOW)
  const among = await ask([...ids, ...STRANGERS], groups)
  expect(await ask(ids)).toEqual(among)
  expect((await Promise.all(ids.map((id) => ask([id])))).flat().toSorted()).toEqual(among)
  expect(await ask(ids, groups)).toEqual(among)
  return among
}

const groupOf = (member: unknown, fields: Tree = {}): Tree => ({ resourceType: 'Group', id: 'g', active: true, member, ...fields })
const memberOf = (reference: string, fields: Tree = {}): Tree => ({ entity: referenceTo(reference), ...fields })
const scopeOf = (code: string): Tree => ({ characteristic: [{ valueCodeableConcept: codeableConceptOf(code, SCOPES) }] })
const isFound = async (...groups: readonly (Tree | string)[]): Promise<boolean> => {
  const texts = groups.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  return (await foundIn(dataOf(...texts), ['ann'])).length > 0
}

const ANN = memberOf('Patient/ann')
const ESCAPED = JSON.stringify(groupOf([ANN]))

describe('a Patient opted out', () => {
  it.each<[what: string, ...groups: (Tree | string)[]]>([
    ['by a relative reference', groupOf([ANN])],
    ['by a URL of this server', groupOf([memberOf(`${BASE_URL}/Patient/ann`)])],
    ['by a reference with a version', groupOf([memberOf('Patient/ann/_history/3')])],
    ['by a URL with a version', groupOf([memberOf(`${BASE_URL}/Patient/ann/_history/3`)])],
    ['by a name with an escaped slash', ESCAPED.replace('Patient/ann', 'Patient\\/ann')],
    ['by a name with an escaped letter', ESCAPED.replace('Patient/ann', '\\u0050atient/\\u0061nn')],
    ['in an element whose name has escapes', ESCAPED.replace('"member"', '"m\\u0065mber"')],
    ['in an entity whose name has escapes', ESCAPED.replace('"entity"', '"\\u0065ntity"')],
    ['in JSON with white space', JSON.stringify(groupOf([memberOf('Patient/other'), ANN]), null, 2)],
    ['in a Group without `active`', groupOf([ANN], { active: undefined })],
    ['in a Group whose scope follows the members', groupOf([ANN], scopeOf('global'))],
    ['in a period that has not ended', groupOf([{ ...ANN, period: { start: '2026-01-01', end: '2026-02-15' } }])],
    ['as a member that is not inactive', groupOf([{ ...ANN, inactive: false }])],
    ['as a member a second time', groupOf([{ ...ANN, inactive: true }, ANN])],
    ['in one of several Groups', groupOf([]), groupOf([ANN], { active: false }), groupOf([memberOf('Patient/other'), ANN])],
  ])('%s', async (_, ...groups) => expect(await isFound(...groups)).toBe(true))
})

describe('a Patient did not opt out', () => {
  it.each<[what: string, ...groups: (Tree | string)[]]>([
    ['by another element', groupOf([memberOf('Patient/other')], { managingEntity: referenceTo('Patient/ann') })],
    ['by an element of a member', groupOf([memberOf('Patient/other', { extension: [{ valueReference: referenceTo('Patient/ann') }] })])],
    ['by a contained Group', groupOf([memberOf('Patient/other')], { contained: [groupOf([ANN])] })],
    ['by a text', groupOf([{ entity: { display: '{"reference":"Patient/ann"}' } }])],
    ['by a longer id', groupOf([memberOf('Patient/ann-2'), memberOf('Patient/ann.2')])],
    ['by a URL of another server', groupOf([memberOf('https://other.example/fhir/Patient/ann')])],
    ['by another type', groupOf([memberOf('RelatedPerson/ann'), memberOf('XPatient/ann')])],
    ['as an inactive member', groupOf([{ ...ANN, inactive: true }])],
    ['as an inactive member in JSON with escapes', JSON.stringify(groupOf([{ ...ANN, inactive: true }])).replace('Patient/', 'Patient\\/')],
    ['in a period that ended', groupOf([{ ...ANN, period: { end: '2026-02-14' } }])],
    ['in a period that begins later', groupOf([{ ...ANN, period: { start: '2026-02-16' } }])],
    ['in a Group that is not active', groupOf([ANN], { active: false })],
    ['in a Group of another scope', groupOf([ANN], scopeOf('provider-specific'))],
    ['in a Group without members', groupOf(undefined), groupOf([])],
    ['in a member that is no array', groupOf(ANN), groupOf('Patient/ann')],
  ])('%s', async (_, ...groups) => expect(await isFound(...groups)).toBe(false))
})

/** Members, each with whether it opts the Patient out. */
const FORMS: readonly ((id: string) => readonly [member: Tree, isOptOut: boolean])[] = [
  (id) => [memberOf(`Patient/${id}`), true],
  (id) => [memberOf(`${BASE_URL}/Patient/${id}`, { inactive: false, period: { start: '2026-01-01' } }), true],
  (id) => [memberOf(`Patient/${id}/_history/2`, { extension: [{ url: 'http://example.org/e', valueString: '"}]},{[ä€\\' }] }), true],
  (id) => [memberOf(`Patient/${id}`, { inactive: true }), false],
  (id) => [memberOf(`Patient/${id}`, { period: { end: '2025-12-31' } }), false],
  (id) => [memberOf(`Patient/${id}0`, { extension: [{ valueReference: referenceTo(`Patient/${id}`) }] }), false],
  (id) => [memberOf(`Practitioner/${id}`), false],
]

/** Writes the same JSON otherwise. */
const WRITTEN: readonly ((tree: Tree) => string)[] = [
  (tree) => JSON.stringify(tree),
  (tree) => JSON.stringify(tree, null, 2),
  (tree) => JSON.stringify(tree).replaceAll('/', '\\/'),
  (tree) => JSON.stringify(tree).replaceAll(/Patient\/\w/g, (name) => `Patient/\\u00${name.charCodeAt(8).toString(16)}`),
]

it('both ways find the members of generated Groups', async () => {
  const { below, pick } = createPrintedRandom('generated opt-out Groups')
  for (let i = 0; i < caseCountOf(10, 200); i++) {
    const optedOut = new Set<string>()
    const ids = Array.from({ length: 6 }, (_, of) => `p-${of}`)
    const groups = Array.from({ length: 1 + below(3) }, () => {
      // Several slices of 64 kB.
      const member = Array.from({ length: 1_000 + below(2_000) }, (_, of) => memberOf(`Patient/m-${of}`))
      const isActive = below(4) > 0
      for (const id of ids.filter(() => below(3) === 0)) {
        const [own, isOptOut] = pick(FORMS)(id)
        member.splice(below(member.length + 1), 0, own)
        if (isOptOut && isActive) optedOut.add(id)
      }
      return pick(WRITTEN)(groupOf(member, { active: isActive, ...(below(2) === 0 ? scopeOf('global') : {}) }))
    })
    expect(await foundIn(dataOf(...groups), ids)).toEqual([...optedOut].toSorted())
  }
})

describe('a Group of 20,000 members', () => {
  const members = Array.from({ length: 20_000 }, (_, i) => memberOf(`Patient/m-${i}`))

  it('is parsed for one Patient only in the part that names it', async () => {
    const data = dataOf(JSON.stringify(groupOf(members)))
    const parsed: number[] = []
    const parse = JSON.parse
    JSON.parse = (text: string) => {
      parsed.push(text.length)
      return parse(text)
    }
    try {
      expect([...(await new OptOutGroups(data, 'payer', NOW).find(['m-15000'], () => undefined))]).toEqual(['m-15000'])
    } finally {
      JSON.parse = parse
    }
    expect(parsed.length).toBe(2)
    expect(Math.max(...parsed)).toBeLessThan(66_000)
  })
})
