/**
 * `Patient/$member-match` of another payer: finds the member that it names, if the member consented. Stores the Consent, and a Group with the
 * member, which the payer may export. https://hl7.org/fhir/us/davinci-hrex/OperationDefinition-member-match.html
 */
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Treatment } from '../../partners/bulk/match-request.ts'
import { recipientsOf } from '../../partners/consent/actors.ts'
import { consentFaultOf, permissionOf, type SensitiveLabels } from '../../partners/consent/payer-consent.ts'
import { deniesPayers } from '../../partners/consent/permitted-members.ts'
import { storedConsentOf } from '../../partners/consent/stored-consent.ts'
import { matchedGroupOf } from '../../partners/groups/match-groups.ts'
import type { MatchLimits } from '../../partners/guesses/match-limits.ts'
import { findMember } from '../../partners/match/find-member.ts'
import { consentNotComplied, memberAnswerOf, noMemberMatched } from '../../partners/match/match-answer.ts'
import { type MemberInput, memberInputOf } from '../../partners/match/member-input.ts'
import { type MemberData, readCurrent } from '../../partners/member-data.ts'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { yieldIfDue } from '../time-slices.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'
import type { WritePorts } from '../writing/write-loop.ts'
import { type Requester, requesterOf } from './match-requester.ts'
import type { RowPorts } from './match-rows.ts'
import { storeSmallMatch } from './match-store.ts'
import { checkParameters } from './operation-input.ts'
import type { RecordingMatch } from './recorded-match.ts'

/** Settings of matches. `payer`: identifiers of the payer that runs the server. */
export type MatchChoices = {
  readonly payer: readonly IdentifierText[]
  readonly organizationName: string
  readonly sensitiveLabels: SensitiveLabels
  /** Maximum members of a bulk request. */
  readonly maxMatchMembers: number
  /** Maximum days for which a member stays in the Group of another payer. The member leaves earlier if the Consent ends earlier. */
  readonly payerGroupDays: number
  /** Maximum days for which a member stays in the Group of a provider. */
  readonly providerGroupDays: number
  /** Whether a result names the members who denied or opted out. */
  readonly reportOptOut: boolean
  readonly treatment: Treatment
}

export type MemberMatchPorts = WritePorts & {
  readonly choices: MatchChoices
  readonly exports: RowPorts
  readonly matchLimits: Pick<MatchLimits, 'check' | 'limit'>
}

const DAY = 24 * 60 * 60 * 1_000

/**
 * Returns 200 with the identifier and the id of the member. Throws FhirError 422 if no member, several, or one who denied is found, and 403 for
 * a client that is no payer. A Consent that was stored by an earlier match counts as it is now: the member may have ended it.
 */
export const memberMatch =
  (ports: MemberMatchPorts): RecordingMatch =>
  async (request, record) => {
    if (request.type !== 'Patient') throw fhirError(404, 'not-supported', 'Members are matched by Patient/$member-match')
    checkParameters(request.parameters, [])
    const partner = requesterOf(request, 'member-match')
    // A client of this payer may read all members, so guesses gain it nothing.
    const limits = partner.identifiers === undefined ? undefined : ports.matchLimits
    await limits?.check(request.client)
    const input = await memberInputOf(request.resource, { needsConsent: true, structureIssuesOf })
    const now = ports.clock.now()
    const { reading } = request
    const { consent, coverage, patient: sent } = input
    const context = { ...permissionContextOf(ports.choices, reading, partner), now }
    const permittedUntil = (each: Resource): number | undefined => permissionOf(each, context)
    // It is judged before the match, so that a wrong one reveals nothing of members.
    const asked = permittedUntil(consent!.resource)
    // guard: match-needs-consent
    if (asked === undefined) throw consentNotComplied(consentFaultOf(consent!.resource, context))
    const data = { tenant: request.tenant, reading, index: ports.latest(), heads: ports.heads, pause: yieldIfDue }
    const find = async () => {
      const patient = await memberOf(data, input, now, ports.choices)
      const answer = memberAnswerOf(patient)
      const owner = { partner: request.client, patient: patient.id!, sentPatient: sent.resource, bases: reading }
      const own = storedConsentOf(consent!.resource, owner)
      const [kept] = await readCurrent(data, 'Consent', [own.id])
      const left = kept === undefined ? asked : permittedUntil(kept)
      // guard: revoked-consent-permits-nothing
      if (left === undefined) throw noMemberMatched('denied')
      return { patient, answer, own, left }
    }
    const store = async ({ patient, answer, own, left }: Awaited<ReturnType<typeof find>>) => {
      const until = Math.min(asked, left)
      const sentPair = { patient: sent.resource, coverage: coverage.resource }
      const [payer] = ports.choices.payer
      const [identifier] = partner.identifiers ?? recipientsOf(consent!.resource)
      const group = matchedGroupOf({
        ...{ now, bases: reading, members: [{ patient: patient.id!, sent: sentPair, until }] },
        partner: { id: request.client, identifier: identifier! },
        payer: { name: ports.choices.organizationName, identifier: payer! },
      })
      const id = ports.clock.newId()
      const stored = storeSmallMatch({ ...ports, rows: ports.exports.rows }, request, {
        group: { ...group, id },
        consents: [own],
      })
      const recorded = record(`Patient/${patient.id}`, [`Group/${id}`, `Consent/${own.id}`])
      // They are flushed at the same time. A match that fails may have a record, but none that is answered lacks it.
      await forEachInParallel([stored, recorded], 2, (each) => each)
      return { status: 200, body: answer, about: [`Patient/${patient.id}`], written: await stored }
    }
    return limits === undefined ? store(await find()) : limits.limit(request.client, input.person, find, store)
  }

/** Returns the context in which a Consent is judged, without the instant. */
const permissionContextOf = (
  { payer, sensitiveLabels, payerGroupDays }: MatchChoices,
  { timeZone }: SearchContext,
  { identifiers }: Requester,
) => ({
  ...{ payer, sensitiveLabels, longest: payerGroupDays * DAY },
  ...(identifiers === undefined ? {} : { recipient: identifiers }),
  ...(timeZone === undefined ? {} : { timeZone }),
})

async function memberOf(
  data: MemberData,
  { person }: MemberInput,
  now: number,
  { reportOptOut }: Pick<MatchChoices, 'reportOptOut'>,
): Promise<Resource> {
  const found = await findMember(data, person)
  if (found.kind !== 'match') throw noMemberMatched(found.kind === 'none' ? 'no match' : 'several candidates')
  // guard: denial-of-member-counts
  if (await deniesPayers(data, found.patient.id!, now)) throw reportOptOut ? consentNotComplied() : noMemberMatched('denied')
  return found.patient
}
