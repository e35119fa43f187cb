/**
 * Builds the Groups of a match: members that were found, that were not found, and without a permission. http://hl7.org/fhir/us/davinci-pdex
 */
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from '../../access/partner-mark.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { MATCH_RESULTS, MATCHED_GROUP, NOT_MATCHED_GROUP, OPT_OUT_GROUP, OPT_OUT_SCOPES } from '../codes.ts'
import type { PartyIdentifier } from '../elements.ts'
import { ContainedResources, type SentMember } from './contained-resources.ts'

/** Found member. `patient`: id of the stored Patient. */
export type MatchedMember = SentMember & {
  readonly patient: string
  /** Instant at which the permission ends, in milliseconds since 1970. */
  readonly until: number
}

/** Organization that a Group names. `name`: absent or empty: none. `identifier`: the first of its identifiers. */
export type Party = { readonly name?: string; readonly identifier: PartyIdentifier }

/** Parts that all Groups of a match have in common. */
export type MatchParties = {
  /** Partner that requested the match. `id`: id of its client. */
  readonly partner: Party & { readonly id: string }
  /** Kind of the partner. Absent: a payer. */
  readonly kind?: PartnerKind
  /** Payer that runs the server. `identifier`: absent if the settings name none; Consents of members then permit nothing. */
  readonly payer: Partial<Party>
  /** Instant of the match, in milliseconds since 1970. */
  readonly now: number
  readonly bases: BaseUrls
}

type GroupCode = { readonly code: string; readonly display: string }
const MATCH: GroupCode = { code: 'match', display: 'Matched' }
const NO_MATCH: GroupCode = { code: 'nomatch', display: 'Not Matched' }
const CONSTRAINED: GroupCode = { code: 'consentconstraint', display: 'Consent Constraint' }

/**
 * Returns the Group of the members that were found, without an id. It has one member for each sent Patient and Coverage. Members that were
 * sent with the same id must be the same Patient.
 */
export function matchedGroupOf({ members, ...parties }: MatchParties & { readonly members: readonly MatchedMember[] }): Resource {
  const { kind = 'payer', now, bases } = parties
  const contained = new ContainedResources(members, bases)
  const periodTo = (until: number): Element => ({ start: dayOf(now), end: new Date(until).toISOString() })
  return groupOf(parties, MATCH, MATCHED_GROUP[kind], {
    contained: contained.list,
    ...(members.length === 0 ? {} : { period: periodTo(Math.max(...members.map(({ until }) => until))) }),
    member: members.map((member) => ({
      entity: { extension: contained.extensionsOf(member), reference: `Patient/${member.patient}` },
      period: periodTo(member.until),
    })),
  })
}

type SentGroup = MatchParties & { readonly members: readonly SentMember[] }

/** Returns the Group of the members that were not found. Its members are the Patients that were sent. */
export const notMatchedGroupOf = ({ members, ...parties }: SentGroup): Resource =>
  groupOf(parties, NO_MATCH, NOT_MATCHED_GROUP[parties.kind ?? 'payer'], sentPartsOf(members, parties))

/** Returns the Group of the members without a permission. It names no reason. */
export const constrainedGroupOf = ({ members, ...parties }: SentGroup): Resource =>
  parties.kind === 'provider'
    ? groupOf(parties, CONSTRAINED, OPT_OUT_GROUP, { ...sentPartsOf(members, parties), value: OPTED_OUT })
    : groupOf(parties, CONSTRAINED, NOT_MATCHED_GROUP.payer, sentPartsOf(members, parties))

/** The profile of this Group requires a scope instead of the partner. */
const OPTED_OUT: Element = {
  valueCodeableConcept: { coding: [{ system: OPT_OUT_SCOPES, code: 'provider-specific', display: 'Provider-Specific Opt-Out' }] },
}

type GroupParts = {
  readonly contained: readonly Resource[]
  readonly member: readonly Element[]
  readonly period?: Element
  readonly value?: Element
}

function sentPartsOf(members: readonly SentMember[], { bases }: MatchParties): GroupParts {
  const contained = new ContainedResources(members, bases)
  return {
    contained: contained.list,
    member: members.map((member) => ({ entity: { extension: contained.extensionsOf(member), reference: contained.referenceOf(member) } })),
  }
}

function groupOf(
  { partner, payer, now }: MatchParties,
  result: GroupCode,
  profile: string,
  { contained, member, period = { start: dayOf(now) }, value = { valueReference: referenceTo(partner) } }: GroupParts,
): Resource {
  const code = { coding: [{ system: MATCH_RESULTS, ...result }] }
  return {
    resourceType: 'Group',
    meta: { profile: [profile] },
    ...(contained.length === 0 ? {} : { contained }),
    identifier: [{ system: PARTNER_MARK_SYSTEM, value: partnerMarkOf(partner.id) }],
    active: true,
    type: 'person',
    actual: true,
    code,
    quantity: member.length,
    managingEntity: referenceTo(payer),
    characteristic: [{ code, ...value, exclude: false, period }],
    ...(member.length === 0 ? {} : { member }),
  }
}

/** Adds a text to an empty Reference, because R4 requires an element. */
const referenceTo = ({ name = '', identifier }: Partial<Party>): Element =>
  identifier === undefined && name === ''
    ? { display: 'Payer' }
    : { ...(identifier === undefined ? {} : { identifier }), ...(name === '' ? {} : { display: name }) }

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10)
