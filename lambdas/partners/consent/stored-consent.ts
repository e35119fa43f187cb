/** Builds the Consent that is stored with a match. Later exports are judged by it. */
import { createHash } from 'node:crypto'
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from '../../access/partner-mark.ts'
import { writeJson } from '../../fhir/json.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { itemsOf } from '../elements.ts'
import { referencesToPatient, replaceSentReferences } from '../sent-references.ts'

/** System of the identifier by which the same Consent, sent again, is stored once. */
export const CONSENT_DIGEST_SYSTEM = 'urn:fhir-serverless:sent-consent'
/** System of the id that the partner gave the Consent. */
export const SENT_ID_SYSTEM = 'urn:fhir-serverless:sent-id'

/** Match that a Consent belongs to. `partner`: id of the client. `patient`: id of the own Patient. `sentPatient`: Patient that was sent. */
export type ConsentOwner = { readonly partner: string; readonly patient: string; readonly sentPatient: Resource; readonly bases: BaseUrls }

/**
 * Returns a Consent of the own Patient, with the id of `storedConsentIdOf`. Its identifiers name the partner, the content that was sent, and
 * the sent id. It has no verification, and its references to the sent Patient name the own one.
 */
export function storedConsentOf(sent: Resource, owner: ConsentOwner): Resource & { readonly id: string } {
  const { id, meta, verification, identifier, ...others } = sent
  const { partner, patient, sentPatient, bases } = owner
  const own = { reference: `Patient/${patient}` }
  const digest = digestOf(sent, owner)
  const content = replaceSentReferences(others, referencesToPatient(sentPatient, sent.patient), own, bases)
  return {
    ...content,
    resourceType: 'Consent',
    id: idOf(digest),
    ...(meta?.profile === undefined ? {} : { meta: { profile: meta.profile } }),
    identifier: [
      ...itemsOf(identifier),
      { system: PARTNER_MARK_SYSTEM, value: partnerMarkOf(partner) },
      { system: CONSENT_DIGEST_SYSTEM, value: digest },
      ...(id === undefined ? [] : [{ system: SENT_ID_SYSTEM, value: id }]),
    ],
    patient: own,
  }
}

/** Parts of a match that the id of its Consent depends on. */
type ConsentIdOwner = Pick<ConsentOwner, 'partner' | 'patient'>

/** Returns the id under which a sent Consent is stored. The same Consent, sent again, gets the same id. */
export const storedConsentIdOf = (sent: Resource, owner: ConsentIdOwner): string => idOf(digestOf(sent, owner))

const idOf = (digest: string): string => Buffer.from(digest, 'base64url').toString('hex')

const digestOf = (sent: Resource, { partner, patient }: ConsentIdOwner): string =>
  createHash('sha256')
    .update(JSON.stringify([partner, patient]))
    .update(writeJson(sent))
    .digest('base64url')
