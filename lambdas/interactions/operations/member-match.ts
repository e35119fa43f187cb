/**
 * `Patient/$member-match` of another payer: finds the member that it names, if the member consented. Stores the Consent, and a Group with the
 * member, which the payer may export. https://hl7.org/fhir/us/davinci-hrex/OperationDefinition-member-match.html
 */
import { WHOLE_ACCESS } from '../../access/access.ts'
import { isWholeTenant } from '../../access/rules.ts'
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { recipientsOf } from '../../partners/consent/actors.ts'
import { judgePayerConsent, type SensitiveLabels } from '../../partners/consent/payer-consent.ts'
import { deniesPayers } from '../../partners/consent/permitted-members.ts'
import { storedConsentIdOf, storedConsentOf } from '../../partners/consent/stored-consent.ts'
import { matchedGroupOf } from '../../partners/groups/matched-group.ts'
import { findMember } from '../../partners/match/find-member.ts'
import { consentNotComplied, memberAnswerOf, noMemberMatched } from '../../partners/match/match-answer.ts'
import { type MemberInput, memberInputOf } from '../../partners/match/member-input.ts'
import { type MemberData, readCurrent } from '../../partners/member-data.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { forbidden } from '../forbidden.ts'
import type { FhirRequest, Interaction, WrittenVersion } from '../interaction.ts'
import { structureIssuesOf } from '../validation/structure-findings.ts'
import { prepareVersion } from '../writing/next-version.ts'
import { attemptPortsOf, MAX_WRITE_ATTEMPTS, type PreparedWrite, tooManyConflicts, type WritePorts } from '../writing/write-loop.ts'
import { checkParameters } from './operation-input.ts'

/** Settings of matches. `payer`: identifiers of the payer that runs the server. */
export type MatchChoices = {
  readonly payer: readonly IdentifierText[]
  readonly organizationName: string
  readonly sensitiveLabels: SensitiveLabels
}

export type MemberMatchPorts = WritePorts & { readonly choices: MatchChoices }

/** Longest period of a matched Group, in milliseconds. A Consent that ends earlier ends it earlier. */
const LONGEST_PERIOD = 366 * 24 * 60 * 60 * 1_000

/**
 * Returns 200 with the identifier and the id of the member. Throws FhirError 422 if no member, several, or one who denied is found, and 403 for
 * a client that is no payer. A Consent that was stored by an earlier match counts as it is now: the member may have ended it.
 */
export const memberMatch =
  (ports: MemberMatchPorts): Interaction =>
  async (request) => {
    if (request.type !== 'Patient') throw fhirError(404, 'not-supported', 'Members are matched by Patient/$member-match')
    checkParameters(request.parameters, [])
    const partner = partnerOf(request)
    const input = await memberInputOf(request.resource, { needsConsent: true, structureIssuesOf })
    const now = ports.clock.now()
    const { reading } = request
    const { consent, coverage, patient: sent } = input
    const permittedUntil = (each: Resource): number | undefined => permissionOf(each, ports.choices, reading, partner, now)
    // It is judged before the match, so that a wrong one reveals nothing of members.
    const asked = permittedUntil(consent!.resource)
    // guard: match-needs-consent
    if (asked === undefined) throw consentNotComplied()
    const data = { tenant: request.tenant, reading, index: ports.latest(), heads: ports.heads }
    const patient = await memberOf(data, input, now)
    const answer = memberAnswerOf(patient)
    const owner = { partner: request.client, patient: patient.id!, sentPatient: sent.resource, bases: reading }
    const own = storedConsentOf(consent!.resource, owner)
    const [kept] = await readCurrent(data, 'Consent', [storedConsentIdOf(own)])
    const left = kept === undefined ? asked : permittedUntil(kept)
    // guard: revoked-consent-permits-nothing
    if (left === undefined) throw noMemberMatched()
    const until = Math.min(asked, left)
    const sentPair = { patient: sent.resource, coverage: coverage.resource }
    const [payer] = ports.choices.payer
    const [identifier] = partner.identifiers ?? recipientsOf(consent!.resource)
    const group = matchedGroupOf({
      ...{ now, bases: reading, members: [{ patient: patient.id!, sent: sentPair, until }] },
      partner: { id: request.client, identifier: identifier! },
      payer: { name: ports.choices.organizationName, identifier: payer! },
    })
    const written = await store(ports, request, group, own)
    return { status: 200, body: answer, about: [`Patient/${patient.id}`], written }
  }

/** Organization that requests a match. `identifiers`: absent for a client of this payer; the recipient in the Consent counts instead. */
type Requester = { readonly identifiers?: readonly IdentifierText[] }

function partnerOf({ access }: FhirRequest): Requester {
  // guard: match-by-payer
  if (access.partner?.partner.kind === 'payer') return access.partner.partner
  // guard: match-by-whole-access
  if (access.partner === undefined && isWholeTenant(access, 'r') && isWholeTenant(access, 's')) return {}
  throw forbidden(
    'Members are matched by a payer that is registered as a partner (`fhir partner add`), or by a client that may read all data. Nothing was matched',
  )
}

/** Returns until when the Consent permits the disclosure, or undefined if it does not. */
function permissionOf(
  consent: Resource,
  { payer, sensitiveLabels }: MatchChoices,
  { timeZone }: SearchContext,
  { identifiers }: Requester,
  now: number,
): number | undefined {
  const recipient = identifiers ?? recipientsOf(consent)
  const zone = timeZone === undefined ? {} : { timeZone }
  const verdict = judgePayerConsent(consent, { now, ...zone, recipient, payer, sensitiveLabels })
  return verdict.isCompliedWith ? Math.min(verdict.until ?? Number.POSITIVE_INFINITY, now + LONGEST_PERIOD) : undefined
}

async function memberOf(data: MemberData, { person }: MemberInput, now: number): Promise<Resource> {
  const found = await findMember(data, person)
  // guard: denial-of-member-counts
  if (found.kind !== 'match' || (await deniesPayers(data, found.patient.id!, now))) throw noMemberMatched()
  return found.patient
}

/** Stores the Group and the Consent in one commit. A Consent that is stored already is not stored again. */
async function store(
  ports: MemberMatchPorts,
  request: FhirRequest,
  group: Resource,
  consent: Resource,
): Promise<readonly WrittenVersion[]> {
  const { tenant } = request
  const groupKey = { tenant, type: 'Group', id: ports.clock.newId() }
  const consentKey = { tenant, type: 'Consent', id: storedConsentIdOf(consent) }
  // The partner may not write these types. The server stores what it found for it.
  const asServer: FhirRequest = { ...request, access: WHOLE_ACCESS, interaction: 'create' }
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const prepare = async (key: ResourceKey, resource: Resource): Promise<readonly PreparedWrite[]> => {
      const [head] = await ports.heads([key])
      if (head !== undefined && ('damage' in head || !head.deleted)) return []
      return [await prepareVersion(attemptPortsOf(ports), asServer, { kind: 'target', key }, head, { ...resource, id: key.id })]
    }
    const prepared = [...(await prepare(groupKey, group)), ...(await prepare(consentKey, consent))]
    const result = await ports.writer.commit(
      prepared.map(({ write }) => write),
      [],
      asServer,
    )
    if (result.kind === 'committed') return prepared.flatMap(({ response }) => response.written ?? [])
  }
  throw tooManyConflicts()
}
