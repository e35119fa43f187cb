/** Settings of matches of members. */
import { expect } from '@jest/globals'
import { ANN, BERT, bulkInput, match, membersBundle, onlyGroup, PAYER_SETTINGS, partnerOf } from '../../partners/payer-exchange.ts'
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

/** Status of a match of two members. */
const bulkTrial =
  (expected: number) =>
  (value: string): Promise<void> =>
    withSettings({ ...PAYER_SETTINGS, FHIR_MAX_MATCH_MEMBERS: value }, async (server) => {
      const partner = await partnerOf(server)
      const headers = { accept: 'application/fhir+json', prefer: 'respond-async' }
      const { status } = await partner.post('/Group/$bulk-member-match', bulkInput([{ member: ANN }, { member: BERT }]), headers)
      expect(status).toBe(expected)
    })

export const memberTrials: readonly SettingTrial[] = [
  ['2', 'two members are matched', bulkTrial(202)],
  ['1', 'two members are too many', bulkTrial(413)],
]

/** Days for which a member stays in the Group of a payer. */
const groupDaysTrial = (value: string): Promise<void> =>
  withSettings({ ...PAYER_SETTINGS, FHIR_PAYER_GROUP_DAYS: value }, async (server) => {
    expect((await server.post('/', membersBundle())).status).toBe(200)
    const partner = await partnerOf(server)
    const before = Date.now()
    expect((await match(partner, ANN)).status).toBe(200)
    const days = (Date.parse((await onlyGroup(partner)).member[0].period.end) - before) / 86_400_000
    expect(Math.floor(days)).toBe(Number(value))
  })

export const payerDaysTrials: readonly SettingTrial[] = [
  ['1', 'a member stays in the Group for a day', groupDaysTrial],
  ['366', 'a member stays in the Group for 366 days', groupDaysTrial],
]
