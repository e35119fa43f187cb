/** The Consent that is stored with a match. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import {
  CONSENT_DIGEST_SYSTEM,
  type ConsentOwner,
  storedConsentIdOf,
  storedConsentOf,
} from '../../../lambdas/partners/consent/stored-consent.ts'
import { MATCH_DEFINITIONS, matchExample } from '../../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { BASE_URL } from '../member-store.ts'

const OWNER: ConsentOwner = { partner: 'new-payer', patient: 'own', sentPatient: patient('patient-1'), bases: { baseUrl: BASE_URL } }
const sentConsent = (): Tree => matchExample('payer-multi-member-match-in').parameter[0].part[2].resource
const digestOf = ({ identifier }: Tree): string => identifier.find(({ system }: Tree) => system === CONSENT_DIGEST_SYSTEM).value
const stored = (fields: Tree, owner: Partial<ConsentOwner> = {}): Tree =>
  storedConsentOf({ ...sentConsent(), ...fields }, { ...OWNER, ...owner })

describe('the stored Consent', () => {
  it('belongs to the own Patient and names the partner and the sent id', () => {
    const consent = stored({})
    expect([consent.id, consent.patient, consent.performer, consent.sourceReference]).toEqual([
      storedConsentIdOf(sentConsent() as never, OWNER),
      { reference: 'Patient/own' },
      [{ reference: 'Patient/own' }],
      { reference: 'http://example.org/DocumentReference/someconsent-1' },
    ])
    expect(consent.identifier).toEqual([
      { system: 'urn:fhir-serverless:partner', value: 'new-payer' },
      { system: CONSENT_DIGEST_SYSTEM, value: expect.stringMatching(/^[\w-]{43}$/) },
      { system: 'urn:fhir-serverless:sent-id', value: 'consent-1' },
    ])
    expect(consent.provision).toEqual(sentConsent().provision)
  })

  it('has one id, which no sent identifier changes', () => {
    const idOf = (fields: Tree) => storedConsentIdOf({ ...sentConsent(), ...fields }, OWNER)
    const forged = { system: CONSENT_DIGEST_SYSTEM, value: digestOf(stored({})) }
    expect(idOf({})).toMatch(/^[0-9a-f]{64}$/)
    expect([idOf({}), idOf({ identifier: [forged] })]).toEqual([idOf({}), expect.not.stringMatching(idOf({}))])
  })

  it('copies only parts with a reference that changes', () => {
    const sent = sentConsent()
    const consent: Tree = storedConsentOf(sent as never, OWNER)
    expect([consent.category, consent.provision].map((part, i) => part === [sent.category, sent.provision][i])).toEqual([true, true])
    expect(consent.performer).not.toBe(sent.performer)
  })

  it('is valid by R4 and by the profile of HRex', async () => {
    const consent = stored({})
    expect(validate(consent)).toEqual([])
    const profile = 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition/hrex-consent'
    const { issues } = await profileCheckerOf(MATCH_DEFINITIONS)(consent, [profile])
    expect(issues.filter(({ severity }) => severity === 'error')).toEqual([])
    await expect(findErrors(profileCheckerOf(MATCH_DEFINITIONS), { ...consent, policy: undefined }, profile)).resolves.not.toEqual([])
  })

  it('has neither verification nor the labels, version and time that were sent', () => {
    const meta = { profile: ['http://p'], security: [{ code: 'R' }], versionId: '7', lastUpdated: '2020-01-01T00:00:00Z' }
    const consent = stored({ verification: [{ verified: true }], meta })
    expect([consent.verification, consent.meta]).toEqual([undefined, { profile: ['http://p'] }])
  })

  it('names no own resource by a reference of the partner', () => {
    const display = 'Form'
    const consent = stored({
      performer: [{ reference: 'Patient/patient-1' }, { reference: 'RelatedPerson/1' }],
      organization: [{ reference: `${BASE_URL}/Organization/1`, identifier: { value: 'npi' } }],
      sourceReference: { reference: 'DocumentReference/1', display },
    })
    const system = 'urn:fhir-serverless:sent-reference'
    expect([consent.performer, consent.organization, consent.sourceReference]).toEqual([
      [{ reference: 'Patient/own' }, { identifier: { system, value: 'RelatedPerson/1' } }],
      [{ identifier: { value: 'npi' } }],
      { display, identifier: { system, value: 'DocumentReference/1' } },
    ])
  })

  it('has a digest of its content, partner and Patient', () => {
    const digests = [stored({}), stored({}), stored({ dateTime: '2024' }), stored({}, { partner: 'x' }), stored({}, { patient: 'x' })].map(
      digestOf,
    )
    expect(digests[1]).toBe(digests[0])
    expect(new Set(digests).size).toBe(4)
  })

  it('retains the identifiers that were sent, without an id too', () => {
    const own = { system: 's', value: '1' }
    expect(stored({ id: undefined, identifier: [own] }).identifier.map(({ system }: Tree) => system)).toEqual([
      's',
      'urn:fhir-serverless:partner',
      CONSENT_DIGEST_SYSTEM,
    ])
  })
})
