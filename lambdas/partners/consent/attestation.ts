/**
 * Judges the attestation by which a provider states that it treats a member.
 * http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/provider-treatment-relationship-consent
 */
import { parseDateRange } from '../../fhir/date-range.ts'
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import { NPI, PATIENT_PRIVACY } from '../codes.ts'
import { covers, endOf, hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'
import type { AttestationFault } from '../outcomes.ts'

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

const RULES: readonly (readonly [fault: AttestationFault, holds: (consent: Resource, instant: Instant) => boolean])[] = [
  ['status', ({ status }) => status === 'active'],
  ['scope', ({ scope }) => hasCode(scope, PATIENT_PRIVACY)],
  ['date', ({ dateTime }, { now, timeZone }) => isPast(dateTime, now, timeZone)],
  ['provision-type', (consent) => provisionOf(consent).type === 'permit'],
  ['period', (consent, { now, timeZone }) => isDuring(provisionOf(consent).period, now, timeZone)],
  ['performer', ({ performer }) => npisOf(performer).length > 0],
]

const provisionOf = ({ provision }: Resource): Element => (isElement(provision) ? provision : {})

const isDuring = (period: unknown, now: number, timeZone: string | undefined): boolean =>
  period !== undefined && covers(period, now, timeZone)

/** Returns the first rule that the attestation breaks, or undefined if it is in force. */
export const attestationFaultOf = (consent: Resource, instant: Instant): AttestationFault | undefined =>
  RULES.find(([, holds]) => !holds(consent, instant))?.[0]

/** Returns the attestation, or undefined if it breaks a rule. */
export function readAttestation(consent: Resource, instant: Instant): Attestation | undefined {
  // guard: attestation-names-provider
  if (attestationFaultOf(consent, instant) !== undefined) return undefined
  const until = endOf(provisionOf(consent).period, instant.timeZone)
  return {
    providers: npisOf(consent.performer),
    organizations: npisOf(consent.organization),
    ...(until === undefined ? {} : { until }),
  }
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
