/** Consents that another payer sends. */
import { describe, expect, it } from '@jest/globals'
import { type ConsentContext, judgePayerConsent } from '../../../lambdas/partners/consent/payer-consent.ts'
import { matchExample } from '../../fixtures/payer/match-examples.ts'
import type { Tree } from '../../fixtures/resources.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi'
const POLICY = 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html'
const LABEL = 'http://terminology.hl7.org/CodeSystem/v3-ActCode|HIV'
const CONTEXT: ConsentContext = {
  now: Date.parse('2022-01-15T12:00:00Z'),
  recipient: [{ system: NPI, value: '0123456789' }],
  payer: [{ system: NPI, value: '9876543210' }],
  sensitiveLabels: 'none',
}

/** Returns the Consent of HRex's example, changed. */
function consentWith(change: (consent: Tree) => unknown = () => undefined): Tree {
  const consent = matchExample('member-match-in').parameter[3].resource
  change(consent)
  return consent
}
const provisionWith = (fields: Tree): Tree => consentWith(({ provision }) => Object.assign(provision, fields))
const judge = (consent: Tree, context: Partial<ConsentContext> = {}) => judgePayerConsent(consent, { ...CONTEXT, ...context })
const faultOf = (consent: Tree, context: Partial<ConsentContext> = {}): string => {
  const verdict = judge(consent, context)
  return verdict.isCompliedWith ? 'none' : verdict.fault
}
const concept = (system: string, code: string): Tree => ({ coding: [{ system, code }] })

describe('a Consent between payers', () => {
  it('permits until the end of its last day, in the example of HRex', () => {
    expect(judge(consentWith())).toEqual({ isCompliedWith: true, until: Date.parse('2022-02-01T00:00:00Z'), excluded: [] })
  })

  it('is complied with in the example of PDex', () => {
    const { resource } = matchExample('payer-multi-member-match-in').parameter[0].part[2]
    expect(faultOf(resource, { now: Date.parse('2024-01-01') })).toBe('none')
  })

  it.each<[what: string, consent: () => Tree, expected: string]>([
    ['draft', () => consentWith((consent) => Object.assign(consent, { status: 'draft' })), 'status'],
    ['of another scope', () => consentWith((consent) => Object.assign(consent, { scope: concept('s', 'patient-privacy') })), 'scope'],
    ['of another category', () => consentWith((consent) => Object.assign(consent, { category: [concept('s', 'IDSCL')] })), 'category'],
    ['without a provision', () => consentWith((consent) => Object.assign(consent, { provision: undefined })), 'provision-type'],
    ['a denial', () => provisionWith({ type: 'deny' }), 'provision-type'],
    ['expired', () => provisionWith({ period: { start: '2021-01-01', end: '2022-01-14' } }), 'period'],
    ['of the future', () => provisionWith({ period: { start: '2022-01-16', end: '2023' } }), 'period'],
    ['without a period', () => provisionWith({ period: undefined }), 'period'],
    ['for another recipient', () => provisionWith({ actor: actors('1', '9876543210') }), 'recipient'],
    ['of another payer', () => provisionWith({ actor: actors('0123456789', '1') }), 'source'],
    ['with the roles exchanged', () => provisionWith({ actor: actors('9876543210', '0123456789') }), 'recipient'],
    ['without actors', () => provisionWith({ actor: undefined }), 'recipient'],
    ['without a policy', () => consentWith((consent) => Object.assign(consent, { policy: undefined })), 'policy'],
    ['of an unknown policy', () => policies('http://example.org/policy'), 'policy'],
    ['of both policies', () => policies(`${POLICY}#regular`, `${POLICY}#sensitive`), 'policy'],
    ['narrower by date', () => provisionWith({ dataPeriod: { start: '2021' } }), 'narrower-provision'],
    ['narrower by a nested denial', () => provisionWith({ provision: [{ type: 'deny' }] }), 'narrower-provision'],
    ['for collection only', () => provisionWith({ action: [concept('s', 'collect')] }), 'narrower-provision'],
    [
      'with an unknown modifier',
      () => consentWith((consent) => Object.assign(consent, { modifierExtension: [{ url: 'u' }] })),
      'narrower-provision',
    ],
  ])('is not complied with if it is %s', (_, consent, expected) => expect(faultOf(consent())).toBe(expected))

  it.each<[what: string, consent: () => Tree, until: number | undefined]>([
    ['an open period', () => provisionWith({ period: { start: '2022-01-01' } }), undefined],
    [
      'a period until the current day',
      () => provisionWith({ period: { start: '2022-01-15', end: '2022-01-15' } }),
      Date.parse('2022-01-16T00:00:00Z'),
    ],
    [
      'ten actors',
      () =>
        provisionWith({
          actor: [...Array.from({ length: 4 }, (_, i) => actors(`${i}`, `${i}`)).flat(), ...actors('0123456789', '9876543210')],
        }),
      Date.parse('2022-02-01T00:00:00Z'),
    ],
    [
      'one policy twice',
      () => policies(`${POLICY}#regular`, `${POLICY}#regular`, 'http://example.org/policy'),
      Date.parse('2022-02-01T00:00:00Z'),
    ],
  ])('is complied with if it has %s', (_, consent, until) => {
    const verdict = judge(consent())
    expect([verdict.isCompliedWith, verdict.isCompliedWith ? verdict.until : 'never']).toEqual([true, until])
  })

  it('compares the system of an identifier if the partner has one', () => {
    expect(faultOf(consentWith(), { recipient: [{ system: 'urn:oid:2.16.840.1.113883.6.300', value: '0123456789' }] })).toBe('recipient')
    expect(faultOf(consentWith(), { recipient: [{ value: '0123456789' }] })).toBe('none')
    expect(faultOf(consentWith(), { recipient: [] })).toBe('recipient')
  })

  it('does not follow the reference of an actor', () => {
    const [recipient, source] = actors('0123456789', '9876543210')
    expect(faultOf(provisionWith({ actor: [recipient, { ...source, reference: { reference: 'Organization/payer' } }] }))).toBe('source')
  })

  it('begins and ends in the time zone of the server', () => {
    const now = Date.parse('2022-02-01T02:00:00Z')
    expect([faultOf(consentWith(), { now }), faultOf(consentWith(), { now, timeZone: 'America/New_York' })]).toEqual(['period', 'none'])
  })

  it.each<[policy: string, labels: ConsentContext['sensitiveLabels'], expected: Tree]>([
    ['regular', 'unknown', 'sensitive-labels'],
    ['regular', 'none', []],
    ['regular', [LABEL], [LABEL]],
    ['sensitive', 'unknown', []],
    ['sensitive', [LABEL], []],
  ])('excludes the labels of the payer: policy %s, labels %s, excluded %s', (policy, sensitiveLabels, expected) => {
    const verdict = judge(policies(`${POLICY}#${policy}`), { sensitiveLabels })
    expect(verdict.isCompliedWith ? verdict.excluded : verdict.fault).toEqual(expected)
  })
})

function actors(recipient: string, source: string): readonly Tree[] {
  const reference = (value: string): Tree => ({ identifier: { system: NPI, value } })
  return [
    { role: concept('http://terminology.hl7.org/CodeSystem/v3-ParticipationType', 'IRCP'), reference: reference(recipient) },
    { role: concept('http://terminology.hl7.org/CodeSystem/provenance-participant-type', 'performer'), reference: reference(source) },
  ]
}

function policies(...uris: readonly string[]): Tree {
  return consentWith((consent) => Object.assign(consent, { policy: uris.map((uri) => ({ uri })) }))
}
