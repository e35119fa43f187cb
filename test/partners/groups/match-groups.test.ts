/** The Group of matched members. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { type MatchedMember, matchedGroupOf } from '../../../lambdas/partners/groups/match-groups.ts'
import { MATCH_DEFINITIONS, matchExample } from '../../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { BASE_URL, coverageOf } from '../member-store.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi'
const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'
const NOW = Date.parse('2026-01-15T12:00:00Z')
const UNTIL = Date.parse('2026-06-01T00:00:00Z')
const find = profileCheckerOf(MATCH_DEFINITIONS)

function groupOf(...members: readonly MatchedMember[]): Tree {
  const partner = { id: 'new-payer', name: 'New Health Plan', identifier: { system: NPI, value: '0123456789' } }
  const payer = { name: 'Old Health Plan', identifier: { system: NPI, value: '9876543210' } }
  return matchedGroupOf({ members, partner, payer, now: NOW, bases: { baseUrl: BASE_URL } })
}

const memberOf = (own: string, sent: Tree, coverage: Tree = coverageOf('c', 'sent'), until = UNTIL): MatchedMember => ({
  patient: own,
  sent: { patient: sent, coverage },
  until,
})

const example = (): { readonly sent: Tree; readonly coverage: Tree } => {
  const [sent, coverage] = matchExample('payer-multi-member-match-in').parameter[0].part
  return { sent: sent.resource, coverage: coverage.resource }
}

async function expectValid(group: Tree): Promise<void> {
  expect(validate(group)).toEqual([])
  expect(await findErrors(find, group, `${PDEX}/StructureDefinition/pdex-member-match-group`)).toEqual([])
}

describe('the matched Group', () => {
  it('has the member, the sent Patient, the partner and the payer', async () => {
    const { sent, coverage } = example()
    const group = groupOf(memberOf('1001', sent, coverage))
    const code = { coding: [{ system: `${PDEX}/CodeSystem/PdexMultiMemberMatchResultCS`, code: 'match', display: 'Matched' }] }
    const period = { start: '2026-01-15', end: '2026-06-01T00:00:00.000Z' }
    const extension = [{ url: `${PDEX}/StructureDefinition/base-ext-match-parameters`, valueReference: { reference: '#patient-1' } }]
    expect(group).toEqual({
      resourceType: 'Group',
      meta: { profile: [`${PDEX}/StructureDefinition/pdex-member-match-group`] },
      contained: [sent],
      identifier: [{ system: 'urn:fhir-serverless:partner', value: 'new-payer' }],
      active: true,
      type: 'person',
      actual: true,
      code,
      quantity: 1,
      managingEntity: { identifier: { system: NPI, value: '9876543210' }, display: 'Old Health Plan' },
      characteristic: [
        { code, valueReference: { identifier: { system: NPI, value: '0123456789' }, display: 'New Health Plan' }, exclude: false, period },
      ],
      member: [{ entity: { extension, reference: 'Patient/1001' }, period }],
    })
    await expectValid(group)
  })

  it('is checked by a profile that the example of PDex meets and a spoiled Group does not', async () => {
    const group = groupOf(memberOf('1001', example().sent))
    const url = `${PDEX}/StructureDefinition/pdex-member-match-group`
    expect(await findErrors(find, matchExample('07e72a15407547bf9d03f522aa536a72.1'), url)).toEqual([])
    expect(await findErrors(find, { ...group, member: [{ entity: { reference: 'Patient/1' } }] }, url)).not.toEqual([])
    expect(await findErrors(find, { ...group, type: 'animal' }, url)).not.toEqual([])
  })

  it('lacks the elements of a sent Patient that R4 forbids in contained resources', async () => {
    const sent = patient('sent', {
      family: 'Person',
      meta: { profile: ['http://p'], versionId: '1', lastUpdated: '2020-01-01T00:00:00Z', security: [{ code: 'R' }], tag: [{ code: 't' }] },
      contained: [{ resourceType: 'Organization', id: 'o', name: 'O' }],
      managingOrganization: { reference: '#o' },
      generalPractitioner: [{ reference: '#o', display: 'Dr. A' }],
      telecom: [{ system: 'phone', value: '555' }],
    })
    const group = groupOf(memberOf('1', sent))
    const { contained, meta, managingOrganization, generalPractitioner, ...others } = sent
    expect(group.contained).toEqual([
      {
        ...others,
        meta: { profile: ['http://p'], tag: [{ code: 't' }] },
        managingOrganization: { display: 'Not included' },
        generalPractitioner: [{ display: 'Dr. A' }],
      },
    ])
    await expectValid(group)
  })

  it('names no own resource by a reference of the partner', async () => {
    const sent = patient('sent', {
      generalPractitioner: [
        { reference: 'Practitioner/1' },
        { reference: `${BASE_URL}/Practitioner/2` },
        { reference: 'http://other.example/Practitioner/3' },
      ],
    })
    const group = groupOf(memberOf('1', sent))
    const system = 'urn:fhir-serverless:sent-reference'
    expect(group.contained[0].generalPractitioner).toEqual([
      { identifier: { system, value: 'Practitioner/1' } },
      { identifier: { system, value: `${BASE_URL}/Practitioner/2` } },
      { reference: 'http://other.example/Practitioner/3' },
    ])
    await expectValid(group)
  })

  it('contains the Coverages of a Patient that was sent with several', async () => {
    const sent = patient('1', { family: 'Person' })
    const group = groupOf(
      memberOf('own', sent, { ...coverageOf('1', '1', { subscriberId: 'A' }), payor: [{ reference: 'Organization/1' }] }),
      memberOf('own', sent, coverageOf('1', '1', { subscriberId: 'B' }), UNTIL + 1),
      memberOf('other', patient('coverage-1')),
    )
    expect(
      group.contained.map(({ resourceType, id, subscriberId, beneficiary }: Tree) => [
        resourceType,
        id,
        subscriberId,
        beneficiary?.reference,
      ]),
    ).toEqual([
      ['Patient', '1', undefined, undefined],
      ['Coverage', 'coverage-2', 'A', '#1'],
      ['Coverage', 'coverage-3', 'B', '#1'],
      ['Patient', 'coverage-1', undefined, undefined],
    ])
    expect(
      group.member.map(({ entity }: Tree) => [
        entity.reference,
        ...entity.extension.map(({ valueReference }: Tree) => valueReference.reference),
      ]),
    ).toEqual([
      ['Patient/own', '#1', '#coverage-2'],
      ['Patient/own', '#1', '#coverage-3'],
      ['Patient/other', '#coverage-1'],
    ])
    expect([group.quantity, group.characteristic[0].period.end]).toEqual([3, '2026-06-01T00:00:00.001Z'])
    await expectValid(group)
  })

  it('gives an id to each Patient that was sent without one', async () => {
    const withoutId = (family: string): Tree => ({ resourceType: 'Patient', name: [{ family }] })
    const group = groupOf(memberOf('a', withoutId('A')), memberOf('b', withoutId('B')), memberOf('c', patient('patient-2')))
    expect(group.contained.map(({ id, name }: Tree) => [id, name?.[0].family])).toEqual([
      ['patient-1', 'A'],
      ['patient-3', 'B'],
      ['patient-2', undefined],
    ])
    await expectValid(group)
  })

  it('may have no member', async () => {
    const group = groupOf()
    expect([group.quantity, group.member, group.contained, group.characteristic[0].period]).toEqual([
      0,
      undefined,
      undefined,
      { start: '2026-01-15' },
    ])
    await expectValid(group)
  })

  it('has 2,000 members', () => {
    const group = groupOf(...Array.from({ length: 2_000 }, (_, i) => memberOf(`own${i}`, { resourceType: 'Patient' })))
    expect([group.member.length, new Set(group.contained.map(({ id }: Tree) => id)).size]).toEqual([2_000, 2_000])
  })
})
