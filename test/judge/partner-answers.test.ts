/**
 * Each example request of HRex and PDex is accepted, and gets its example response. The responses conform to their profiles by the
 * judgement of this server and of HAPI's validator.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import type { Tree } from '../api/server.ts'
import { missingJavaReason } from '../engines/java.ts'
import { MATCH_DEFINITIONS, matchExample } from '../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../fixtures/profiles/checking.ts'
import { bulkMatchOf, HREX, type JudgedResource, type MatchedExample, memberMatchOf, PDEX, recordOf } from '../partners/guide-exchanges.ts'
import { coverageOf } from '../partners/member-store.ts'
import { runHapi, type Verdict } from './hapi.ts'
import { hapiPackageOf } from './own-package.ts'

const reason = missingJavaReason()
if (reason !== undefined) process.stderr.write(`HAPI's validator does not judge answers to partners: ${reason}\n`)

const [ONE, PROVIDER] = ['member-match-in', 'member-match-in-provider']
const ONE_RESPONSE = matchExample('member-match-out')
const MANY = matchExample('payer-multi-member-match-in')
const MANY_RESPONSE = matchExample('payer-multi-member-match-out')
const TREATED = matchExample('provider-member-match-request-001')
const [IN_2024, IN_2025] = ['2024-01-15T12:00:00Z', '2025-01-15T12:00:00Z']

/** Returns the stored Patient and Coverage of the member in the examples of HRex. */
function memberOfHrex(): readonly Tree[] {
  const [{ resource: sent }] = matchExample(ONE).parameter
  const [{ valueIdentifier }] = ONE_RESPONSE.parameter
  const card = { identifier: [{ system: 'http://example.org/old-payer', value: 'DH10001235' }] }
  return [{ ...sent, id: 'pat1', identifier: [valueIdentifier] }, coverageOf('c', 'pat1', card)]
}

/** Members of the response to a payer. `own`: id of the stored Patient. The request of the guide names one of them, so the others get its card and Consent. */
const FOUR: readonly { readonly own?: string; readonly sent: Tree }[] = MANY_RESPONSE.parameter.flatMap(({ name, resource }: Tree) =>
  resource.contained.map((patient: Tree, i: number) => {
    const [, { resource: coverage }, { resource: consent }] = structuredClone(MANY.parameter[0].part)
    if (name === 'ConsentConstrainedMembers') consent.status = 'rejected'
    coverage.subscriberId = `card-${patient.id}`
    coverage.identifier[0].value = `card-${patient.id}`
    const parts = { MemberPatient: patient, CoverageToMatch: coverage, Consent: consent }
    return {
      ...(name === 'MatchedMembers' ? { own: resource.member[i].entity.reference.split('/')[1] } : {}),
      sent: { name: 'MemberBundle', part: Object.entries(parts).map(([part, each]) => ({ name: part, resource: each })) },
    }
  }),
)

/** Stored records of the two members that a provider treats. */
const TREATED_RECORDS: readonly Tree[] = TREATED.parameter.flatMap((each: Tree, i: number) => recordOf(`payer-member-00${i + 1}`, each))

/** Request of a provider in which the second attestation has the valid NPI of the first. */
function correctedRequest(): Tree {
  const corrected = structuredClone(TREATED)
  const [first, second] = corrected.parameter.map(({ part }: Tree) => part[2].resource)
  second.performer = first.performer
  return corrected
}

const optOut = (): Tree => ({
  ...matchExample('member-opt-out-group-001'),
  meta: { profile: [`${PDEX}/pdex-member-opt-out`] },
  member: [{ entity: { reference: 'Patient/payer-member-002' } }],
})

type Answer = Awaited<ReturnType<typeof memberMatchOf>>

const single: Answer[] = []
let stranger: Answer
let [alone, four, treated, optedOut]: readonly MatchedExample[] = []

beforeAll(async () => {
  for (const id of [ONE, PROVIDER]) single.push(await memberMatchOf(id, memberOfHrex()))
  stranger = await memberMatchOf(ONE, [])
  alone = await bulkMatchOf('payer', IN_2024, MANY, recordOf('1001', MANY.parameter[0]))
  const stored = FOUR.flatMap(({ own, sent }) => (own === undefined ? [] : recordOf(own, sent)))
  four = await bulkMatchOf('payer', IN_2024, { ...MANY, parameter: FOUR.map(({ sent }) => sent) }, stored)
  treated = await bulkMatchOf('provider', IN_2025, TREATED, TREATED_RECORDS)
  optedOut = await bulkMatchOf('provider', IN_2025, correctedRequest(), [...TREATED_RECORDS, optOut()])
}, 120_000)

const entitiesOf = ({ member }: Tree): readonly Tree[] => member.map(({ entity }: Tree) => entity)
const referencesOf = ({ groups }: MatchedExample) =>
  Object.fromEntries(Object.entries(groups).map(([code, group]) => [code, entitiesOf(group).map(({ reference }) => reference)]))

describe('$member-match, as the examples of HRex request it,', () => {
  it('finds the member of the response', () => {
    const [{ valueIdentifier }] = ONE_RESPONSE.parameter
    const parameter = [
      { name: 'MemberIdentifier', valueIdentifier },
      { name: 'MemberId', valueReference: { reference: 'Patient/pat1' } },
    ]
    expect(single).toEqual([ONE, PROVIDER].map(() => ({ status: 200, body: { resourceType: 'Parameters', parameter } })))
  })

  it('finds no member of another payer', () => {
    expect([stranger.status, stranger.body.issue[0].code]).toEqual([422, 'not-found'])
  })
})

describe('$bulk-member-match, as the example of PDex requests it,', () => {
  it('finds the member', () => expect(referencesOf(alone!)).toEqual({ match: ['Patient/1001'] }))

  it('finds, does not find and constrains the members of the response', () => {
    for (const { resource } of MANY_RESPONSE.parameter) {
      const { contained, code, managingEntity, ...group } = four!.groups[resource.code.coding[0].code]!
      expect([contained, code, managingEntity.identifier, entitiesOf(group)]).toEqual([
        ...[resource.contained, resource.code, resource.managingEntity.identifier],
        entitiesOf(resource),
      ])
    }
  })
})

describe('$provider-member-match, as the example of PDex requests it,', () => {
  it('finds the first member, but not the second with the invalid NPI', () =>
    expect(referencesOf(treated!)).toEqual({ match: ['Patient/payer-member-001'], nomatch: ['#patient-prov-002'] }))

  it('constrains the second member after an opt-out, if the NPI is valid', () =>
    expect(referencesOf(optedOut!)).toEqual({ match: ['Patient/payer-member-001'], consentconstraint: ['#patient-prov-002'] }))
})

/** Returns all that partners send and receive, with the profiles of the guides. */
function judgedResources(): readonly JudgedResource[] {
  const [oneIn, oneOut] = ['in', 'out'].map((end) => `${HREX}/hrex-parameters-member-match-${end}`)
  return [
    ...[ONE, PROVIDER].flatMap((id, i): readonly JudgedResource[] => [
      { title: id, resource: matchExample(id), profile: oneIn! },
      { title: `response to ${id}`, resource: single[i]!.body, profile: oneOut! },
    ]),
    { title: 'request of a payer', resource: MANY, profile: `${PDEX}/pdex-parameters-multi-member-match-bundle-in` },
    { title: 'request of a provider', resource: TREATED, profile: `${PDEX}/provider-parameters-multi-member-match-bundle-in` },
    ...[alone, four, treated, optedOut].flatMap((each) => each!.judged),
  ]
}

async function verdictsOf(resources: readonly JudgedResource[]): Promise<readonly Verdict[]> {
  const requests = resources.map(({ resource, profile }) => ({ text: JSON.stringify(resource), profile, isTold: true as const }))
  return runHapi(requests, await hapiPackageOf('matches', MATCH_DEFINITIONS))
}

describe('Each resource of an exchange', () => {
  it('conforms to its profile', async () => {
    const find = profileCheckerOf(MATCH_DEFINITIONS)
    const all = judgedResources()
    expect(all).toHaveLength(18)
    for (const { title, resource, profile } of all)
      expect([title, validate(resource as never), await findErrors(find, resource as never, profile)]).toEqual([title, [], []])
  })

  const judging = reason === undefined ? it : it.skip
  judging(
    'conforms to its profile, as HAPI judges',
    async () => {
      const all = judgedResources()
      const response = all.find(({ title }) => title === `response to ${ONE}`)!
      const broken = { ...response, resource: { ...response.resource, parameter: response.resource.parameter.slice(1) } }
      const [rejected, ...verdicts] = await verdictsOf([broken, ...all])
      expect(rejected).toEqual([expect.stringContaining('MemberIdentifier')])
      expect(all.map(({ title }, i) => [title, verdicts[i]])).toEqual(all.map(({ title }) => [title, []]))
    },
    600_000,
  )
})
