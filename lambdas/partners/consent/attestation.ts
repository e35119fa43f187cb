/**
 * Judges the attestation by which a provider states that it treats a member.
 * http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/provider-treatment-relationship-consent
 */
import { parseDateRange } from '../../fhir/date-range.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import { NPI, PATIENT_PRIVACY } from '../codes.ts'
import { covers, endOf, hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'

/** Attestation that is in force. `until`: end of its period, in milliseconds since 1970; absent: none. */
export type Attestation = {
  /** NPIs of the providers that treat the member. */
  readonly providers: readonly PartyIdentifier[]
  /** NPIs of their organizations. */
  readonly organizations: readonly PartyIdentifier[]
  readonly until?: number
}

/** `now`: milliseconds since 1970. */
type Instant = { readonly now: number; readonly timeZone?: string }

/** Returns the attestation, or undefined if it breaks a rule. */
export function readAttestation(consent: Resource, { now, timeZone }: Instant): Attestation | undefined {
  const provision = isElement(consent.provision) ? consent.provision : {}
  const providers = npisOf(consent.performer)
  const isInForce =
    consent.status === 'active' &&
    hasCode(consent.scope, PATIENT_PRIVACY) &&
    isPast(consent.dateTime, now, timeZone) &&
    provision.type === 'permit' &&
    provision.period !== undefined &&
    covers(provision.period, now, timeZone)
  // guard: attestation-names-provider
  if (!isInForce || providers.length === 0) return undefined
  const until = endOf(provision.period, timeZone)
  return { providers, organizations: npisOf(consent.organization), ...(until === undefined ? {} : { until }) }
}

/** Returns the NPIs of the providers and of their organizations. */
export const partiesOf = ({ providers, organizations }: Attestation): readonly PartyIdentifier[] => [...providers, ...organizations]

const isPast = (dateTime: unknown, now: number, timeZone: string | undefined): boolean =>
  typeof dateTime === 'string' && (parseDateRange(dateTime, timeZone)?.low ?? Number.POSITIVE_INFINITY) <= now

/** Returns the valid NPIs in these References. */
export const npisOf = (references: unknown): readonly PartyIdentifier[] =>
  itemsOf(references)
    .flatMap(({ identifier }) => (isElement(identifier) ? identifierOf(identifier) : []))
    .filter(({ system, value }) => system === NPI && isNpi(value))

/** Whether the text has ten digits of which the last is the check digit. https://www.cms.gov/Regulations-and-Guidance/Administrative-Simplification/NationalProvIdentStand */
export function isNpi(text: string): boolean {
  if (!/^\d{10}$/.test(text)) return false
  // The prefix 80840 of health cards adds 24 to the sum of the digits.
  const sum = [...text].reduce((total, digit, i) => total + (i % 2 === 0 ? doubled(Number(digit)) : Number(digit)), 24)
  return sum % 10 === 0
}

const doubled = (digit: number): number => (digit > 4 ? 2 * digit - 9 : 2 * digit)
