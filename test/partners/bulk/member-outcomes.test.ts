/** Outcome of each member of a match. */
import { describe, expect, it } from '@jest/globals'
import { structureIssuesOf } from '../../../lambdas/interactions/validation/structure-findings.ts'
import { bulkInputOf } from '../../../lambdas/partners/bulk/bulk-input.ts'
import type { MatchContext } from '../../../lambdas/partners/bulk/match-request.ts'
import { issuesOf, outcomesOf } from '../../../lambdas/partners/bulk/member-outcomes.ts'
import { storedConsentOf } from '../../../lambdas/partners/consent/stored-consent.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { memberStoreOf } from '../member-store.ts'
import { ANN, attestation, BERT, bulkInput, matchInput, membersBundle, OTHER, OWN, type SentMember } from '../payer-exchange.ts'

const NOW = Date.parse('2026-06-01T12:00:00Z')
const MEMBERS: readonly Tree[] = membersBundle().entry.map(({ resource }: Tree) => resource)

const contextOf = (kind: MatchContext['kind'], settings: Partial<MatchContext['settings']> = {}): MatchContext => ({
  ...{ kind, identifiers: [OTHER], members: 0, partner: 'partner', now: NOW },
  settings: {
    ...{ payer: [OWN], organizationName: '', sensitiveLabels: 'none', longest: 86_400_000, reportOptOut: false, treatment: 'attested' },
    ...settings,
  },
})

const readInput = (body: Tree) => bulkInputOf(JSON.parse(JSON.stringify(body)), { structureIssuesOf, limit: 2_000, pause: () => undefined })

/** Returns `match ID`, or another outcome, of each member. */
async function outcomes(context: MatchContext, members: readonly SentMember[], stored: readonly Tree[] = []): Promise<readonly string[]> {
  const data = await memberStoreOf([...MEMBERS, ...stored])
  const found = await outcomesOf(data, await readInput(bulkInput(members)), context)
  return found.map((each) => (each.kind === 'match' ? `match ${each.patient}` : each.kind))
}

const denialOf = (patient: string, category?: Tree): Tree => ({
  ...matchInput(BERT).parameter[2].resource,
  id: `denial-${patient}`,
  patient: { reference: `Patient/${patient}` },
  provision: { type: 'deny' },
  ...category,
})

describe('the outcome of a member', () => {
  it('stays the same if the Consent of another member is bad', async () => {
    const members = [
      { member: ANN, consent: { status: 'rejected' } },
      { member: BERT },
      { member: { ...BERT, given: 'Bob' }, consent: { status: 'unknown' } },
    ]
    expect(await outcomes(contextOf('payer'), members)).toEqual(['consentconstraint', 'match bert', 'consentconstraint'])
  })

  it.each<[what: string, kind: MatchContext['kind'], reported: boolean, expected: string]>([
    ['payers by default', 'payer', false, 'nomatch'],
    ['payers with reports', 'payer', true, 'consentconstraint'],
    ['providers by default', 'provider', false, 'nomatch'],
    ['providers with reports', 'provider', true, 'consentconstraint'],
  ])('follows the settings after a denial, for %s', async (_, kind, reportOptOut, expected) => {
    const members = [ANN, BERT].map((member) => ({ member, ...(kind === 'provider' ? { consent: attestation() } : {}) }))
    expect(await outcomes(contextOf(kind, { reportOptOut }), members, [denialOf('bert')])).toEqual(['match ann', expected])
  })

  it('is no match if the stored Consent was ended', async () => {
    const [sent] = await readInput(bulkInput([{ member: ANN }]))
    const stored = storedConsentOf(sent!.consent, {
      ...{ partner: 'partner', patient: 'ann', sentPatient: sent!.patient },
      bases: { baseUrl: 'https://payer.example/fhir' },
    })
    expect(await outcomes(contextOf('payer'), [{ member: ANN }], [stored])).toEqual(['match ann'])
    expect(await outcomes(contextOf('payer'), [{ member: ANN }], [{ ...stored, status: 'inactive' }])).toEqual(['nomatch'])
  })

  it('has a reason for the operator, which its kind does not show', async () => {
    const strangers = [
      { ...BERT, given: 'Bob' },
      { ...ANN, card: 'W-0009' },
    ].map((member) => ({ member }))
    const members = [...strangers, { member: ANN }, { member: BERT }, { member: ANN, consent: { status: 'rejected' } }]
    const twin = { ...MEMBERS[0], id: 'twin' }
    const card = { ...MEMBERS[1], id: 'card', beneficiary: { reference: 'Patient/twin' } }
    const data = await memberStoreOf([...MEMBERS, twin, card, denialOf('bert')])
    const sent = [...(await readInput(bulkInput(members)))]
    const { birthDate: _, ...incomplete } = sent[3]!.patient
    const found = await outcomesOf(data, [...sent, { ...sent[3]!, patient: incomplete }], contextOf('payer'))
    expect(found).toEqual([
      { kind: 'nomatch', reason: 'no match' },
      { kind: 'nomatch', reason: 'no match' },
      { kind: 'nomatch', reason: 'several candidates' },
      { kind: 'nomatch', reason: 'denied' },
      { kind: 'consentconstraint', reason: 'consent not complied with', rule: 'status' },
      { kind: 'nomatch', reason: 'incomplete' },
    ])
  })

  it('has a reason for the operator if the provider is not listed, or its attestation is bad', async () => {
    const members = [attestation(), attestation({ status: 'draft' })].map((consent) => ({ member: ANN, consent }))
    const sent = await readInput(bulkInput(members))
    const found = await outcomesOf(await memberStoreOf(MEMBERS), sent, contextOf('provider', { treatment: 'listed' }))
    expect(found).toEqual([
      { kind: 'nomatch', reason: 'not treated' },
      { kind: 'nomatch', reason: 'consent not complied with', rule: 'status' },
    ])
  })

  it.each<[rule: string, fields: Tree]>([
    ['status', { status: 'inactive' }],
    ['scope', { scope: { coding: [{ code: 'research' }] } }],
    ['date', { dateTime: '2026-07-01' }],
    ['provision-type', { provision: { type: 'deny', period: { start: '2026-01-01' } } }],
    ['period', { provision: { type: 'permit' } }],
    ['performer', { performer: [{ identifier: { ...OTHER, value: '1234567890' } }] }],
    ['unknown-provider', { performer: [{ identifier: OWN }] }],
  ])('names the rule %s that an attestation breaks', async (rule, fields) => {
    const sent = await readInput(bulkInput([{ member: ANN, consent: attestation(fields) }]))
    const found = await outcomesOf(await memberStoreOf(MEMBERS), sent, contextOf('provider'))
    expect(found).toEqual([{ kind: 'nomatch', reason: 'consent not complied with', rule }])
  })

  it('is a match for a provider in the directory if its role is active', async () => {
    const doctor = { resourceType: 'Practitioner', id: 'doctor', active: true, identifier: [OWN] }
    const role = { resourceType: 'PractitionerRole', id: 'role', active: true, practitioner: { reference: 'Practitioner/doctor' } }
    const members = [{ member: ANN, consent: attestation({ performer: [{ identifier: OWN }] }) }]
    expect(await outcomes(contextOf('provider'), members, [doctor, role])).toEqual(['match ann'])
    for (const stored of [[], [doctor], [doctor, { ...role, active: false }], [{ ...doctor, active: false }, role]])
      expect(await outcomes(contextOf('provider'), members, stored)).toEqual(['nomatch'])
  })

  it('is no match if the member denies its data to the provider that the attestation names', async () => {
    const recipient = { role: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType', code: 'IRCP' }] } }
    const doctor = { resourceType: 'Practitioner', id: 'doctor', active: true, identifier: [OWN] }
    const role = { resourceType: 'PractitionerRole', id: 'role', active: true, practitioner: { reference: 'Practitioner/doctor' } }
    const members = [
      { member: ANN, consent: attestation({ performer: [{ identifier: OWN }] }) },
      { member: ANN, consent: attestation({ performer: [{ identifier: OWN }], organization: [{ identifier: OTHER }] }) },
      { member: ANN, consent: attestation() },
    ]
    for (const identifier of [OWN, { value: OWN.value }]) {
      const denial = denialOf('ann', { provision: { type: 'deny', actor: [{ ...recipient, reference: { identifier } }] } })
      expect(await outcomes(contextOf('provider'), members, [doctor, role, denial])).toEqual(['nomatch', 'nomatch', 'match ann'])
    }
  })

  it('is a match for a client of the payer whatever provider it names', async () => {
    const { identifiers: _, ...context } = contextOf('provider')
    expect(await outcomes(context, [{ member: ANN, consent: attestation({ performer: [{ identifier: OWN }] }) }])).toEqual(['match ann'])
  })
})

describe('the issues of a member', () => {
  it.each<[what: string, change: (parts: Tree) => unknown, expression: string]>([
    ['a birthDate without a day', ([patient]) => Object.assign(patient.resource, { birthDate: '1974-12' }), 'MemberPatient.birthDate'],
    ['no family', ([patient]) => Object.assign(patient.resource, { name: [{ given: ['Ann'] }] }), 'MemberPatient.name'],
    [
      'a family without letters',
      ([patient]) => Object.assign(patient.resource, { name: [{ family: '.', given: ['Ann'] }] }),
      'MemberPatient.name',
    ],
    ['no gender', ([patient]) => void delete patient.resource.gender, 'MemberPatient.gender'],
    ['no card', ([, coverage]) => void delete coverage.resource.identifier, 'CoverageToMatch'],
    ['a Consent that violates R4', ([, , consent]) => void delete consent.resource.scope, 'Consent'],
  ])('name the element and no value: %s', async (_, change, expression) => {
    const body = bulkInput([{ member: BERT }, { member: ANN }])
    change(body.parameter[1].part)
    const members = await readInput(body)
    const issues = issuesOf(members[1]!, 1)
    expect([issues[0]!.expression, issuesOf(members[0]!, 0)]).toEqual([`MemberBundle[1].${expression}`, []])
    expect(JSON.stringify(issues)).not.toMatch(/1974|Ann|W-0001/)
  })
})

describe('the input of many members', () => {
  it.each<[what: string, change: (body: Tree) => unknown, status: number, expression: string | undefined]>([
    ['no Parameters', () => ({ resourceType: 'Patient' }), 400, undefined],
    ['no MemberBundle', (body) => ({ ...body, parameter: undefined }), 400, 'Parameters.parameter'],
    ['another parameter', (body) => ({ ...body, parameter: [{ name: 'Other', valueString: 'a' }] }), 400, 'Parameters.parameter[0]'],
    [
      'a MemberBundle without parts',
      (body) => ({ ...body, parameter: [{ name: 'MemberBundle', valueString: 'a' }] }),
      400,
      'Parameters.parameter[0]',
    ],
    ['a part twice', ({ parameter: [a, b] }) => bodyOf(a, { ...b, part: [...b.part, b.part[0]] }), 400, 'Parameters.parameter[1].part[3]'],
    ['no Consent', ({ parameter: [a, b] }) => bodyOf(a, { ...b, part: b.part.slice(0, 2) }), 400, 'Parameters.parameter[1].part'],
    [
      'a Patient as Coverage',
      ({ parameter: [a] }) => bodyOf({ ...a, part: [a.part[0], { ...a.part[0], name: 'CoverageToMatch' }, a.part[2]] }),
      400,
      'Parameters.parameter[0].part[1]',
    ],
    ['an id with #', ({ parameter: [a] }) => bodyOf(withPatient(a, { id: '#1' })), 400, 'Parameters.parameter[0].part[0].resource.id'],
    [
      'two Patients with one id',
      ({ parameter: [a, b] }) => bodyOf(a, withPatient(b, { id: 'p0' })),
      400,
      'Parameters.parameter[0].part[0].resource',
    ],
    ['too many members', ({ parameter: [a, b] }) => bodyOf(a, b, a), 413, 'Parameters.parameter'],
  ])('is rejected: %s', async (_, change, status, expression) => {
    const body = JSON.parse(JSON.stringify(change(bulkInput([{ member: ANN }, { member: BERT }]))))
    const rejected = bulkInputOf(body, { structureIssuesOf, limit: 2, pause: () => undefined })
    await expect(rejected).rejects.toEqual(
      expect.objectContaining({
        status,
        issues: expect.arrayContaining([expect.objectContaining(expression === undefined ? {} : { expression })]),
      }),
    )
  })

  it('may have the same Patient with several Coverages', async () => {
    const [a, b] = bulkInput([{ member: ANN }, { member: ANN }]).parameter
    expect(await readInput(bodyOf(a, withPatient(b, { id: 'p0' })))).toHaveLength(2)
  })
})

const bodyOf = (...parameter: readonly Tree[]): Tree => ({ resourceType: 'Parameters', parameter })
const withPatient = (entry: Tree, fields: Tree): Tree => ({
  ...entry,
  part: entry.part.map((each: Tree) => (each.name === 'MemberPatient' ? { ...each, resource: { ...each.resource, ...fields } } : each)),
})
