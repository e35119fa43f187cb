/** Judges the Consents by which members deny that data goes to partners. */
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { CONSENT_PURPOSES, RECIPIENT } from '../codes.ts'
import { codesOf, covers, hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'
import { recipientsOf } from './actors.ts'

/** Purpose code of the API that a kind of partners uses. */
const PURPOSES: Readonly<Record<PartnerKind, string>> = { payer: 'payer-to-payer', provider: 'provider-access' }

/** Partner that would receive data. `identifiers`: absent for a client of the payer itself, which is compared with no recipient. */
export type Recipient = { readonly kind: PartnerKind; readonly identifiers?: readonly PartyIdentifier[] }

/** Whether the body of a Consent may deny something: it has the code, or an escape behind which the code could hide. */
export function mayDeny(body: Uint8Array): boolean {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  return bytes.includes('"deny"') || bytes.includes('\\u')
}

/** Whether the Consent denies that data goes to the partner. `now`: milliseconds since 1970. */
export function isDenial(consent: Resource, { kind, identifiers }: Recipient, now: number, timeZone?: string): boolean {
  if (!deniesKind(consent, kind, now, timeZone)) return false
  const named = namedRecipientsOf(consent, kind)
  // guard: denial-of-unknown-recipient
  if (named === undefined || identifiers === undefined) return true
  return isNamed(named, identifiers)
}

/** Returns the recipients of a Consent that denies the data of a member to these providers only. Returns none for another Consent. */
export const deniedProvidersOf = (consent: Resource, now: number, timeZone?: string): readonly PartyIdentifier[] =>
  deniesKind(consent, 'provider', now, timeZone) ? (namedRecipientsOf(consent, 'provider') ?? []) : []

/** Whether a recipient of a denial has one of the identifiers. An identifier without a system equals those of every system. */
export const isNamed = (recipients: readonly PartyIdentifier[], identifiers: readonly PartyIdentifier[]): boolean =>
  recipients.some(({ system, value }) =>
    identifiers.some((own) => own.value === value && (system === undefined || own.system === undefined || own.system === system)),
  )

/** Whether the Consent denies the data to partners of this kind, or to some of them. */
function deniesKind(consent: Resource, kind: PartnerKind, now: number, timeZone?: string): boolean {
  const { type, period } = (consent.provision ?? {}) as Element
  if (consent.status !== 'active' || type !== 'deny' || !covers(period, now, timeZone)) return false
  const purposes = itemsOf(consent.category).flatMap((each) => codesOf(each, CONSENT_PURPOSES))
  return purposes.length === 0 || purposes.includes(PURPOSES[kind])
}

/**
 * Returns the recipients if a denial applies only to them. Returns undefined if it applies to all partners of the kind: it names no
 * recipient, or one without an identifier, or the partners are payers.
 */
function namedRecipientsOf(consent: Resource, kind: PartnerKind): readonly PartyIdentifier[] | undefined {
  const { provision } = consent
  const recipients = itemsOf(isElement(provision) ? provision.actor : undefined).filter(({ role }) => hasCode(role, RECIPIENT))
  const isKnown = ({ reference }: Element): boolean =>
    isElement(reference) && isElement(reference.identifier) && identifierOf(reference.identifier).length > 0
  return kind === 'payer' || recipients.length === 0 || !recipients.every(isKnown) ? undefined : recipientsOf(consent)
}
