/** Judges the Consents by which members deny that data goes to partners. */
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { CONSENT_PURPOSES, RECIPIENT } from '../codes.ts'
import { codesOf, covers, hasCode, identifierOf, itemsOf, type PartyIdentifier } from '../elements.ts'
import { isAmong, recipientsOf } from './actors.ts'

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
export function isDenial(consent: Resource, recipient: Recipient, now: number, timeZone?: string): boolean {
  const { type, period } = (consent.provision ?? {}) as Element
  if (consent.status !== 'active' || type !== 'deny' || !covers(period, now, timeZone)) return false
  const purposes = itemsOf(consent.category).flatMap((each) => codesOf(each, CONSENT_PURPOSES))
  if (purposes.length > 0 && !purposes.includes(PURPOSES[recipient.kind])) return false
  return recipient.kind === 'payer' || concernsProvider(consent, recipient)
}

/** Whether a denial applies to the provider: it names no recipient, the provider, or a recipient without an identifier. */
function concernsProvider(consent: Resource, { identifiers }: Recipient): boolean {
  const { provision } = consent
  const recipients = itemsOf(isElement(provision) ? provision.actor : undefined).filter(({ role }) => hasCode(role, RECIPIENT))
  const isKnown = ({ reference }: Element): boolean =>
    isElement(reference) && isElement(reference.identifier) && identifierOf(reference.identifier).length > 0
  // guard: denial-of-unknown-recipient
  if (identifiers === undefined || !recipients.every(isKnown)) return true
  return recipients.length === 0 || isAmong(recipientsOf(consent), identifiers)
}
