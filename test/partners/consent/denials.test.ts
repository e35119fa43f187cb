/** Denials of a member that the payer stores. */
import { describe, expect, it } from '@jest/globals'
import { mayDeny } from '../../../lambdas/partners/consent/denials.ts'
import { deniesPayers } from '../../../lambdas/partners/consent/permitted-members.ts'
import { matchExample } from '../../fixtures/payer/match-examples.ts'
import { codeableConceptOf, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { memberStoreOf } from '../member-store.ts'

const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'
const NOW = Date.parse('2026-01-15T12:00:00Z')
const purposeOf = (code: string): Tree => ({ category: [codeableConceptOf(code, `${PDEX}/CodeSystem/pdex-consent-api-purpose`)] })

const denies = async (...stored: readonly Tree[]): Promise<boolean> => deniesPayers(await memberStoreOf(stored), '1', NOW)

/** Denial of Patient/1 for no certain interface. */
const denial = (fields: Tree = {}, provision: Tree = {}): Tree => ({
  ...matchExample('no-consent-1'),
  category: [codeableConceptOf('IDSCL', 'http://terminology.hl7.org/CodeSystem/v3-ActCode')],
  provision: { type: 'deny', ...provision },
  ...fields,
})

/** Opt-out Group of PDex's example, of which Patient/1 is a member. */
function optOut(scope: string | undefined, fields: Tree = {}, member: Tree = {}, characteristic: Tree = {}): Tree {
  const group = { ...matchExample('member-opt-out-group-001'), ...fields }
  group.meta ??= { profile: [`${PDEX}/StructureDefinition/pdex-member-opt-out`] }
  group.member = [{ ...group.member[0], ...member }]
  const value = scope === undefined ? { text: 'all' } : codeableConceptOf(scope, `${PDEX}/CodeSystem/opt-out-scope`)
  group.characteristic = [{ ...group.characteristic[0], valueCodeableConcept: value, ...characteristic }]
  return group
}

describe('a member denies', () => {
  it.each<[what: string, ...stored: Tree[]]>([
    ['an active denial', denial()],
    ['a denial to payers', denial(purposeOf('payer-to-payer'))],
    ['a denial in its period', denial({}, { period: { start: '2026-01-15', end: '2026-01-15' } })],
    ['a denial beside a permission', { ...denial({}, { type: 'permit' }), id: 'permit' }, denial()],
    ['a global opt-out', optOut('global')],
    ['an opt-out of payers', optOut('payer-specific')],
    ['an opt-out by purpose', optOut('purpose-specific')],
    ['an opt-out without a scope', optOut(undefined)],
  ])('with %s', async (_, ...stored) => expect(await denies(...stored)).toBe(true))

  it('with a denial or opt-out in a record that was replaced', async () => {
    const replaced = (id: string, by: string): Tree => ({
      resourceType: 'Patient',
      id,
      link: [{ type: 'replaced-by', other: referenceTo(`Patient/${by}`) }],
    })
    const records = [{ resourceType: 'Patient', id: '1' }, replaced('2', '1'), replaced('3', '2')]
    expect(await denies(...records, denial({ patient: referenceTo('Patient/3') }))).toBe(true)
    expect(await denies(...records, optOut('global', {}, { entity: referenceTo('Patient/2') }))).toBe(true)
  })

  it.each(['replaced-by', 'replaces'])('with a denial in a merged record, by a link of type %s', async (type) => {
    const linking = (id: string, other: string): Tree => ({
      resourceType: 'Patient',
      id,
      link: [{ type, other: referenceTo(`Patient/${other}`) }],
    })
    const inOther = denial({ patient: referenceTo('Patient/2') })
    expect(await denies({ resourceType: 'Patient', id: '1' }, linking('2', '1'), inOther)).toBe(true)
    expect(await denies(linking('1', '2'), { resourceType: 'Patient', id: '2' }, inOther)).toBe(true)
  })

  it('with more replaced records than are read', async () => {
    const link = [{ type: 'replaced-by', other: referenceTo('Patient/1') }]
    expect(await denies(...Array.from({ length: 1_001 }, (_, i) => ({ resourceType: 'Patient', id: `r${i}`, link })))).toBe(true)
  })

  it('with more Consents than are read', async () => {
    expect(await denies(...Array.from({ length: 1_001 }, (_, i) => denial({ id: `c${i}` }, { type: 'permit' })))).toBe(true)
  })
})

describe('a member does not deny', () => {
  it.each<[what: string, ...stored: Tree[]]>([
    ['nothing stored'],
    ['a permission', denial({}, { type: 'permit' })],
    ['an inactive denial', denial({ status: 'inactive' })],
    ['a denial of another member', denial({ patient: referenceTo('Patient/2') })],
    [
      'a denial in a record of a relative',
      { resourceType: 'Patient', id: '2', link: [{ type: 'seealso', other: referenceTo('Patient/1') }] },
      denial({ patient: referenceTo('Patient/2') }),
    ],
    ['a denial to providers, as in the example of PDex', matchExample('no-consent-1')],
    ['a denial that ended', denial({}, { period: { end: '2026-01-14' } })],
    ['a denial that begins later', denial({}, { period: { start: '2026-01-16' } })],
    ['an opt-out of providers, as in the example of PDex', optOut('provider-specific')],
    ['an opt-out of a category of providers', optOut('provider-category')],
    ['an inactive Group', optOut('global', { active: false })],
    ['a Group of another profile', optOut('global', { meta: { profile: ['http://example.org/group'] } })],
    ['a Group of others', optOut('global', {}, { entity: referenceTo('Patient/2') })],
    ['an inactive member', optOut('global', {}, { inactive: true })],
    ['a member whose period ended', optOut('global', {}, { period: { end: '2026-01-14' } })],
    ['an opt-out that begins later', optOut('global', {}, {}, { period: { start: '2026-02' } })],
  ])('with %s', async (_, ...stored) => expect(await denies(...stored)).toBe(false))
})

it.each([
  ['denies', '{"provision":{"type":"deny"}}', true],
  ['denies in an escaped text', '{"provision":{"type":"\\u0064eny"}}', true],
  ['permits', '{"provision":{"type":"permit"},"id":"deny-1"}', false],
])('a Consent that %s is parsed or not', (_, body, isRead) => expect(mayDeny(Buffer.from(body))).toBe(isRead))
