/** Request of a match of many members, as its job stores it. */
import type { PartnerKind } from '../../ports/rows/clients.ts'
import type { SensitiveLabels } from '../consent/payer-consent.ts'
import type { PartyIdentifier } from '../elements.ts'

export type Treatment = 'attested' | 'listed'

/** Settings of a match. They stay as they were at the kick-off. */
export type MatchSettings = {
  /** Identifiers of the payer that runs the server. */
  readonly payer: readonly PartyIdentifier[]
  readonly organizationName: string
  readonly sensitiveLabels: SensitiveLabels
  /** Maximum milliseconds for which a member stays in the Group of matched members. */
  readonly longest: number
  /** Whether the result names the members who denied or opted out. */
  readonly reportOptOut: boolean
  /** `attested`: the attestation of a provider is enough. `listed`: a Group of the payer must also say that the provider treats the member. */
  readonly treatment: Treatment
}

export type MatchRequest = {
  /** Kind of the partner that the operation is for. */
  readonly kind: PartnerKind
  /** Identifiers of the partner. Absent for a client of this payer: the organization in each Consent applies instead. */
  readonly identifiers?: readonly PartyIdentifier[]
  readonly members: number
  readonly settings: MatchSettings
}

/** Running match. */
export type MatchContext = MatchRequest & {
  /** Id of the requesting client. */
  readonly partner: string
  /** Instant of the kick-off, in milliseconds since 1970. */
  readonly now: number
}
