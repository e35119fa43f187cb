/** Settings of matches of members. */
import { expect } from '@jest/globals'
import { ANN, match, membersBundle, PAYER_SETTINGS, partnerOf } from '../../partners/payer-exchange.ts'
import { type SettingTrial, withSettings } from './setting-server.ts'

/** Status of a match of a member who consented. */
const matchTrial =
  (variable: keyof typeof PAYER_SETTINGS, expected: number) =>
  (value: string): Promise<void> =>
    withSettings({ ...PAYER_SETTINGS, [variable]: value }, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      expect((await match(await partnerOf(server), ANN)).status).toBe(expected)
    })

export const payerTrials: readonly SettingTrial[] = [
  [PAYER_SETTINGS.FHIR_PAYER, 'a member whose Consent names the payer is matched', matchTrial('FHIR_PAYER', 200)],
  ['urn:oid:2.16.840.1.113883.6.300|1', 'a Consent that names another payer permits nothing', matchTrial('FHIR_PAYER', 422)],
  ['', 'no Consent permits anything', matchTrial('FHIR_PAYER', 422)],
]

export const labelTrials: readonly SettingTrial[] = [
  ['unknown', 'a Consent without sensitive data permits nothing', matchTrial('FHIR_SENSITIVE_LABELS', 422)],
  ['none', 'a Consent without sensitive data permits all', matchTrial('FHIR_SENSITIVE_LABELS', 200)],
]
