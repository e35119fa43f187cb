/** Result of a match of many members: the stored resources, and the contents of the files of its job. */
import type { BaseUrls } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { recipientsOf } from '../consent/actors.ts'
import { npisOf } from '../consent/attestation.ts'
import { storedConsentOf } from '../consent/stored-consent.ts'
import type { PartyIdentifier } from '../elements.ts'
import { constrainedGroupOf, matchedGroupOf, notMatchedGroupOf } from '../groups/match-groups.ts'
import type { SentMember } from './bulk-input.ts'
import type { MatchContext } from './match-request.ts'
import type { MemberOutcome } from './member-outcomes.ts'

/** Job of a match. `id`: id of the job, and of the Group. */
export type MatchOwner = { readonly id: string; readonly tenant: string; readonly client: string; readonly baseUrl: string }

/** Resources with ids that a match stores. A resource that exists is not changed. */
export type FoundMatch = { readonly group: Resource; readonly consents: readonly Resource[] }

/** Groups of a match. The last two are absent if they have no member. */
export type MatchGroups = { readonly matched: Resource; readonly notMatched?: Resource; readonly constrained?: Resource }

/** Member of a request, with its outcome. */
export type DecidedMember = { readonly sent: SentMember; readonly outcome: MemberOutcome }

/** Returns the Groups. `id`: id of the Group of the members that were found. */
export function matchGroupsOf(members: readonly DecidedMember[], context: MatchContext, id: string, bases: BaseUrls): MatchGroups {
  const { kind, partner, settings, now } = context
  const identifier = context.identifiers?.[0] ?? askingOf(members, kind)
  const [own] = settings.payer
  const parties = {
    ...{ kind, now, bases, partner: { id: partner, identifier } },
    payer: { name: settings.organizationName, ...(own === undefined ? {} : { identifier: own }) },
  }
  const matched = members.flatMap(({ sent, outcome }) =>
    outcome.kind === 'match' ? [{ sent, patient: outcome.patient, until: outcome.until }] : [],
  )
  const others = (wanted: MemberOutcome['kind']) => members.flatMap(({ sent, outcome }) => (outcome.kind === wanted ? [{ sent }] : []))
  const [notMatched, constrained] = [others('nomatch'), others('consentconstraint')]
  return {
    matched: { ...matchedGroupOf({ ...parties, members: matched }), id },
    ...(notMatched.length === 0 ? {} : { notMatched: notMatchedGroupOf({ ...parties, members: notMatched }) }),
    ...(constrained.length === 0 ? {} : { constrained: constrainedGroupOf({ ...parties, members: constrained }) }),
  }
}

/** Returns the organization for which a client of this payer requests the match: the first organization in a Consent. */
const askingOf = (members: readonly DecidedMember[], kind: PartnerKind): PartyIdentifier =>
  members.flatMap(({ sent: { consent } }) => (kind === 'payer' ? recipientsOf(consent) : npisOf(consent.performer)))[0] ?? UNKNOWN

/** An identifier needs a value. */
const UNKNOWN: PartyIdentifier = { value: 'unknown' }

/** Returns the Consent to store for each member, in their order. It is undefined for a member that was not found. */
export const storedConsentsOf = (members: readonly DecidedMember[], partner: string, bases: BaseUrls): readonly (Resource | undefined)[] =>
  members.map(({ sent, outcome }) =>
    outcome.kind === 'match'
      ? storedConsentOf(sent.consent, { partner, patient: outcome.patient, sentPatient: sent.patient, bases })
      : undefined,
  )

/** Returns the Parameters around the Groups. http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-parameters-multi-member-match-bundle-out */
export const matchParametersOf = ({ matched, notMatched, constrained }: MatchGroups): Resource => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'MatchedMembers', resource: matched },
    ...(notMatched === undefined ? [] : [{ name: 'NonMatchedMembers', resource: notMatched }]),
    ...(constrained === undefined ? [] : [{ name: 'ConsentConstrainedMembers', resource: constrained }]),
  ],
})
