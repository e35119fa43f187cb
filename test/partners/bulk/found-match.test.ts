/** Groups that a match gives, by the profiles of PDex. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { structureIssuesOf } from '../../../lambdas/interactions/validation/structure-findings.ts'
import { bulkInputOf } from '../../../lambdas/partners/bulk/bulk-input.ts'
import { matchGroupsOf, matchParametersOf, storedConsentsOf } from '../../../lambdas/partners/bulk/found-match.ts'
import type { MatchContext } from '../../../lambdas/partners/bulk/match-request.ts'
import { outcomesOf } from '../../../lambdas/partners/bulk/member-outcomes.ts'
import type { PartyIdentifier } from '../../../lambdas/partners/elements.ts'
import { MATCH_DEFINITIONS, matchExample } from '../../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { BASE_URL, coverageOf, memberStoreOf } from '../member-store.ts'

const PDEX = 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition'
const NPI = 'http://hl7.org/fhir/sid/us-npi'
const find = profileCheckerOf(MATCH_DEFINITIONS)
const bases = { baseUrl: BASE_URL }

/** Settings of the old payer, at an instant that the Consents of the example cover. */
const contextOf = (
  kind: MatchContext['kind'],
  identifiers: readonly PartyIdentifier[],
  day: string,
  reportOptOut = true,
): MatchContext => ({
  ...{ kind, identifiers, members: 0, partner: 'partner', now: Date.parse(`${day}T12:00:00Z`) },
  settings: {
    ...{ payer: [{ system: NPI, value: '9876543210' }], organizationName: 'Old Health Plan', sensitiveLabels: 'none' },
    ...{ longest: 86_400_000, reportOptOut, treatment: 'attested' },
  },
})

const NEW_PAYER: readonly PartyIdentifier[] = [{ system: NPI, value: '0123456789' }]
const PROVIDER: readonly PartyIdentifier[] = [
  { system: NPI, value: '1234567893' },
  { system: NPI, value: '1982947230' },
]

/** Returns the stored records of the members in a request. */
const recordsOf = (body: Tree): readonly Tree[] =>
  body.parameter.flatMap(({ part }: Tree, i: number) => {
    const [{ resource: sent }, { resource: coverage }] = part
    return [patient(`own${i}`, { ...sent, id: `own${i}` }), coverageOf(`c${i}`, `own${i}`, { subscriberId: coverage.subscriberId })]
  })

async function groupsOf(body: Tree, context: MatchContext, stored: readonly Tree[] = recordsOf(body)) {
  const sent = await bulkInputOf(body, { structureIssuesOf, limit: 2_000, pause: () => undefined })
  const outcomes = await outcomesOf(await memberStoreOf(stored), sent, context)
  const members = sent.map((each, i) => ({ sent: each, outcome: outcomes[i]! }))
  return { groups: matchGroupsOf(members, context, 'job', bases), consents: storedConsentsOf(members, 'partner', bases) }
}

const denialOf = (id: string): Tree => ({
  ...{ resourceType: 'Consent', id: 'denial', status: 'active', patient: { reference: `Patient/${id}` } },
  provision: { type: 'deny' },
})

async function expectValid(group: Tree | undefined, profile: string): Promise<void> {
  expect([group?.meta.profile, validate(group as never)]).toEqual([[`${PDEX}/${profile}`], []])
  expect(await findErrors(find, group as never, `${PDEX}/${profile}`)).toEqual([])
}

describe('the example of a request of a payer', () => {
  it('has a member that is found', async () => {
    const body = matchExample('payer-multi-member-match-in')
    const { groups, consents } = await groupsOf(body, contextOf('payer', NEW_PAYER, '2024-01-15'))
    expect(groups.matched.member).toEqual([expect.objectContaining({ entity: expect.objectContaining({ reference: 'Patient/own0' }) })])
    expect([groups.notMatched, groups.constrained, consents.length]).toEqual([undefined, undefined, 1])
    await expectValid(groups.matched, 'pdex-member-match-group')
  })

  it('has a member that is not found at another payer, and one that is constrained after the Consent', async () => {
    const body = matchExample('payer-multi-member-match-in')
    const { groups } = await groupsOf(body, contextOf('payer', NEW_PAYER, '2024-01-15'), [])
    await expectValid(groups.notMatched, 'pdex-member-no-match-group')
    const { groups: late } = await groupsOf(body, contextOf('payer', NEW_PAYER, '2024-06-01'))
    await expectValid(late.constrained, 'pdex-member-no-match-group')
    expect(matchParametersOf(late).parameter).toEqual([
      { name: 'MatchedMembers', resource: late.matched },
      { name: 'ConsentConstrainedMembers', resource: late.constrained },
    ])
  })
})

describe('the example of a request of a provider', () => {
  // The NPIs of the second attestation have wrong check digits.
  it('has a member that is found, and one with an attestation of an invalid provider', async () => {
    const body = matchExample('provider-member-match-request-001')
    const { groups } = await groupsOf(body, contextOf('provider', PROVIDER, '2025-01-15'))
    expect((groups.matched.member as Tree[]).map(({ entity }) => entity.reference)).toEqual(['Patient/own0'])
    expect((groups.notMatched!.member as Tree[]).map(({ entity }) => entity.reference)).toEqual(['#patient-prov-002'])
    await expectValid(groups.matched, 'pdex-provider-member-match')
    await expectValid(groups.notMatched, 'pdex-provider-member-no-match')
  })

  it('has a member that is constrained after an opt-out, if the settings report it', async () => {
    const body = matchExample('provider-member-match-request-001')
    const { groups } = await groupsOf(body, contextOf('provider', PROVIDER, '2025-01-15'), [...recordsOf(body), denialOf('own0')])
    expect((groups.constrained!.member as Tree[]).map(({ entity }) => entity.reference)).toEqual(['#patient-prov-001'])
    await expectValid(groups.constrained, 'pdex-member-opt-out')
  })
})

it('a Group of a payer without an identifier and a name is valid R4', async () => {
  const body = matchExample('provider-member-match-request-001')
  const context = contextOf('provider', PROVIDER, '2025-01-15')
  const { groups } = await groupsOf(body, { ...context, settings: { ...context.settings, payer: [], organizationName: '' } })
  expect(groups.matched.managingEntity).toEqual({ display: 'Payer' })
  await expectValid(groups.matched, 'pdex-provider-member-match')
})

describe('the result for a member with an opt-out', () => {
  it.each<[kind: MatchContext['kind'], id: string, identifiers: readonly PartyIdentifier[], day: string]>([
    ['payer', 'payer-multi-member-match-in', NEW_PAYER, '2024-01-15'],
    ['provider', 'provider-member-match-request-001', PROVIDER, '2025-01-15'],
  ])('has the same bytes as for a stranger: %s', async (kind, id, identifiers, day) => {
    const body = matchExample(id)
    const context = contextOf(kind, identifiers, day, false)
    const records = recordsOf(body)
    const [denied, stranger] = [
      await groupsOf(body, context, [...records, denialOf('own0')]),
      await groupsOf(body, context, records.slice(2)),
    ]
    expect(JSON.stringify(denied)).toBe(JSON.stringify(stranger))
    expect(denied.groups.notMatched).toBeDefined()
  })
})
