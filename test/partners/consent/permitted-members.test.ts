/** Judgement of members in batches: whether they permit that a partner receives their data. */
import { describe, expect, it } from '@jest/globals'
import { type MemberPermission, memberJudge, type PermissionContext } from '../../../lambdas/partners/consent/permitted-members.ts'
import { storedConsentOf } from '../../../lambdas/partners/consent/stored-consent.ts'
import { codeableConceptOf, patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { versionOf, writeOf } from '../../fixtures/versions.ts'
import { memberStoreOf, type StoredMembers } from '../member-store.ts'
import { ANN, attestation, matchInput, OTHER, OWN, provisionFor } from '../payer-exchange.ts'

const PDEX = 'http://hl7.org/fhir/us/davinci-pdex'
const NOW = Date.parse('2026-02-15T12:00:00Z')
const LABEL = 'http://terminology.hl7.org/CodeSystem/v3-ActCode|SUD'

/** Consent that is stored with a match of the Patient. */
const consentOf = (id: string, fields: Tree = {}): Tree => {
  const { resource } = matchInput(ANN, fields).parameter[2]
  const stored = storedConsentOf(resource, { partner: 'other', patient: id, sentPatient: patient('p'), bases: {} })
  return { ...stored, id: `c-${id}`, patient: referenceTo(`Patient/${id}`) }
}

const denialOf = (id: string, purpose?: string, provision: Tree = {}): Tree => ({
  ...consentOf(id),
  provision: { type: 'deny', ...provision },
  ...(purpose === undefined ? {} : { category: [codeableConceptOf(purpose, `${PDEX}/CodeSystem/pdex-consent-api-purpose`)] }),
  id: `d-${id}`,
})

const optOutOf = (scope: string, ids: readonly string[], fields: Tree = {}): Tree => ({
  ...{ resourceType: 'Group', id: `opt-out-${scope}`, type: 'person', actual: true },
  meta: { profile: [`${PDEX}/StructureDefinition/pdex-member-opt-out`] },
  characteristic: [{ valueCodeableConcept: codeableConceptOf(scope, `${PDEX}/CodeSystem/opt-out-scope`), exclude: false }],
  member: ids.map((id) => ({ entity: referenceTo(`Patient/${id}`) })),
  ...fields,
})

const judgeOf = (data: StoredMembers, more: Partial<PermissionContext> = {}) =>
  memberJudge({ ...{ data, now: NOW, payer: [OWN], sensitiveLabels: 'none' }, recipient: { kind: 'payer', identifiers: [OTHER] }, ...more })

/** Judges the Patient `1`. It is stored without content unless `stored` has it. */
const judged = async (stored: readonly Tree[], more?: Partial<PermissionContext>): Promise<MemberPermission> => {
  const isThere = stored.some(({ resourceType, id }) => resourceType === 'Patient' && id === '1')
  const data = await memberStoreOf(isThere ? stored : [...stored, patient('1')])
  return (await judgeOf(data, more)(['1'])).get('1')!
}

const PROVIDER: Partial<PermissionContext> = { recipient: { kind: 'provider', identifiers: [OTHER] } }
const until = Date.parse('2100-01-01T00:00:00Z')

describe('a member permits a disclosure to a payer', () => {
  it.each<[what: string, stored: Tree[], more: Partial<PermissionContext>, excluded: string[]]>([
    ['with a Consent', [consentOf('1')], {}, []],
    ['with a Consent beside one that ended', [{ ...consentOf('1', { status: 'inactive' }), id: 'a' }, consentOf('1')], {}, []],
    ['with a denial to providers', [consentOf('1'), denialOf('1', 'provider-access')], {}, []],
    ['with an opt-out of providers', [consentOf('1'), optOutOf('provider-specific', ['1'])], {}, []],
    ['except for labels', [consentOf('1')], { sensitiveLabels: [LABEL] }, [LABEL]],
    ['to any recipient, for a client of the payer', [consentOf('1')], { recipient: { kind: 'payer' } }, []],
  ])('%s', async (_, stored, more, excluded) => expect(await judged(stored, more)).toEqual({ isPermitted: true, until, excluded }))

  it('for all that one of several Consents permits', async () => {
    const all = consentOf('1', { policy: [{ uri: 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive' }] })
    const provision = { ...provisionFor(OTHER), period: { start: '2026-01-01', end: '2026-12-31' } }
    const stored = [{ ...all, provision, id: 'all' }, consentOf('1')]
    for (const each of [stored, stored.toReversed()])
      expect(await judged(each, { sensitiveLabels: [LABEL] })).toEqual({ isPermitted: true, until, excluded: [] })
  })
})

describe('a member does not permit a disclosure to a payer', () => {
  it.each<[reason: string, what: string, stored: Tree[], more?: Partial<PermissionContext>]>([
    ['no-consent', 'without a Consent', []],
    ['no-consent', 'with a Consent for another payer', [consentOf('1', { provision: provisionFor(OWN) })]],
    ['no-consent', 'with the Consent of another member', [consentOf('2')]],
    ['consent-ended', 'with an inactive Consent', [consentOf('1', { status: 'inactive' })]],
    [
      'consent-ended',
      'with a Consent that ended',
      [consentOf('1', { provision: { ...provisionFor(OTHER), period: { end: '2026-02-14' } } })],
    ],
    ['consent-not-complied-with', 'if sensitive data is unknown', [consentOf('1')], { sensitiveLabels: 'unknown' }],
    ['denied', 'with a denial', [consentOf('1'), denialOf('1')]],
    ['denied', 'with a denial in a record that the Patient replaced', [consentOf('1'), patient('2', replacedBy('1')), denialOf('2')]],
    ['denied', 'with a denial in the record that replaced the Patient', [consentOf('1'), patient('1', replacedBy('2')), denialOf('2')]],
    ['opted-out', 'in a global opt-out Group', [consentOf('1'), optOutOf('global', ['1'])]],
    [
      'opted-out',
      'in an opt-out Group of a version of the profile',
      [consentOf('1'), optOutOf('global', ['1'], { meta: { profile: [`${PDEX}/StructureDefinition/pdex-member-opt-out|2.2.0`] } })],
    ],
    ['opted-out', 'in an opt-out Group by purpose', [consentOf('1'), optOutOf('purpose-specific', ['1'])]],
  ])('%s %s', async (reason, _, stored, more = {}) => expect(await judged(stored, more)).toEqual({ isPermitted: false, reason }))
})

function replacedBy(id: string): Tree {
  return { link: [{ type: 'replaced-by', other: referenceTo(`Patient/${id}`) }] }
}

const toRecipient = (reference: Tree): Tree => ({
  actor: [{ role: codeableConceptOf('IRCP', 'http://terminology.hl7.org/CodeSystem/v3-ParticipationType'), reference }],
})

describe('a member permits a disclosure to a provider', () => {
  it.each<[what: string, stored: Tree[]]>([
    ['with nothing stored', []],
    ['with a denial to payers', [denialOf('1', 'payer-to-payer')]],
    ['with a denial to another recipient', [denialOf('1', 'provider-access', toRecipient({ identifier: OWN }))]],
    ['with an opt-out of payers', [optOutOf('payer-specific', ['1'])]],
    ['with an opt-out of a Group that is not in force', [optOutOf('global', ['1'], { active: false })]],
  ])('%s', async (_, stored) => expect(await judged(stored, PROVIDER)).toEqual({ isPermitted: true, excluded: [] }))
})

describe('a member does not permit a disclosure to a provider', () => {
  it.each<[reason: string, what: string, stored: Tree[]]>([
    ['denied', 'with a denial to providers', [denialOf('1', 'provider-access')]],
    ['denied', 'with a denial of no certain interface', [denialOf('1')]],
    ['denied', 'with a denial to it', [denialOf('1', 'provider-access', toRecipient({ identifier: OTHER }))]],
    [
      'denied',
      'with a denial to its number of any system',
      [denialOf('1', 'provider-access', toRecipient({ identifier: { value: OTHER.value } }))],
    ],
    ['denied', 'with a denial to an unknown recipient', [denialOf('1', 'provider-access', toRecipient(referenceTo('Organization/1')))]],
    ...['global', 'provider-specific', 'provider-category', 'purpose-specific'].map((scope): [string, string, Tree[]] => [
      'opted-out',
      `with an opt-out of scope ${scope}`,
      [optOutOf(scope, ['1'])],
    ]),
  ])('%s %s', async (reason, _, stored) => expect(await judged(stored, PROVIDER)).toEqual({ isPermitted: false, reason }))
})

describe('a member with a denial to one provider', () => {
  const ATTESTED = { ...PROVIDER, attestedBy: 'other' }
  const denial = denialOf('1', 'provider-access', toRecipient({ identifier: OWN }))
  const byDoctor = consentOf('1', attestation({ performer: [{ identifier: OWN }] }))
  const byPartner = { ...consentOf('1', attestation()), id: 'by-partner' }

  it('permits no disclosure by an attestation of this provider', async () => {
    expect(await judged([byDoctor], ATTESTED)).toEqual({ isPermitted: true, excluded: [] })
    expect(await judged([byDoctor, denial], ATTESTED)).toEqual({ isPermitted: false, reason: 'denied' })
  })

  it('permits none if the denial is in a merged record', async () => {
    const inMerged = denialOf('2', 'provider-access', toRecipient({ identifier: OWN }))
    const stored = [byDoctor, patient('2', replacedBy('1')), inMerged]
    expect(await judged(stored, ATTESTED)).toEqual({ isPermitted: false, reason: 'denied' })
  })

  it('permits a disclosure by another attestation', async () => {
    for (const stored of [
      [byDoctor, byPartner, denial],
      [denial, byPartner, byDoctor],
    ])
      expect(await judged(stored, ATTESTED)).toEqual({ isPermitted: true, excluded: [] })
  })
})

describe('a deleted Patient is no member', () => {
  it.each([
    ['payer', {}],
    ['provider', PROVIDER],
  ])('for a %s', async (_, more) => {
    const stored = [consentOf('1'), consentOf('2'), patient('2'), denialOf('3')]
    const permissions = await judgeOf(await memberStoreOf(stored), more)(['1', '2', '3'])
    const reasons = [...permissions].map(([id, each]) => [id, each.isPermitted ? 'permitted' : each.reason])
    expect(reasons).toEqual([
      ['1', 'no-patient'],
      ['2', 'permitted'],
      ['3', 'denied'],
    ])
  })
})

describe('a batch', () => {
  it('judges each member as alone, in whatever order', async () => {
    const ids = Array.from({ length: 1_203 }, (_, i) => `m${i}`)
    const stored = ids.flatMap((id, i) => [
      ...(i % 2 === 0 ? [consentOf(id)] : []),
      ...(i % 3 === 0 ? [denialOf(id)] : []),
      ...(i % 7 === 0 ? [patient(id, replacedBy(`m${i + 1}`))] : []),
    ])
    const data = await memberStoreOf([
      ...ids.filter((_, i) => i % 7 !== 0 && i % 11 !== 0).map((id) => patient(id)),
      ...stored,
      optOutOf(
        'global',
        ids.filter((_, i) => i % 5 === 0),
      ),
    ])
    const [whole, reversed] = [await judgeOf(data)(ids), await judgeOf(data)(ids.toReversed())]
    expect(reversed).toEqual(whole)
    const kinds = Map.groupBy(whole.values(), (each) => (each.isPermitted ? 'permitted' : each.reason))
    expect([...kinds.keys()].toSorted()).toEqual(['denied', 'no-consent', 'no-patient', 'opted-out', 'permitted'])
    const few = ids.slice(0, 36)
    const alone = await Promise.all(few.map(async (id) => (await judgeOf(data)([id])).get(id)))
    expect(alone).toEqual(few.map((id) => whole.get(id)))
  })

  it('reads an opt-out Group of 200,000 members once', async () => {
    const members = Array.from({ length: 200_000 }, (_, i) => `m${i}`)
    const stored = await memberStoreOf([optOutOf('global', members)])
    const read: string[] = []
    const heads: StoredMembers['heads'] = (keys) => {
      if (keys.every(({ type }) => type === 'Patient')) return Promise.all(keys.map((key) => versionOf(writeOf(key))))
      read.push(...keys.map(({ type }) => type))
      return stored.heads(keys)
    }
    const judge = judgeOf({ ...stored, heads }, PROVIDER)
    for (const first of [0, 190_000]) {
      const ids = [...members.slice(first, first + 9_999), `stranger-${first}`]
      const withheld = [...(await judge(ids)).values()].filter(({ isPermitted }) => !isPermitted)
      expect(withheld.length).toBe(9_999)
    }
    expect(read).toEqual(['Group'])
  })

  it('lets other requests run between parts of a large opt-out Group', async () => {
    const members = Array.from({ length: 3_000 }, (_, i) => `m${i}`)
    const stored = await memberStoreOf([patient('m0'), optOutOf('global', members)])
    let pauses = 0
    const pause = async (): Promise<void> => void pauses++
    expect([...(await judgeOf({ ...stored, pause }, PROVIDER)(['m0'])).values()]).toEqual([{ isPermitted: false, reason: 'opted-out' }])
    // One after the Group is read, and two for each 64 kB, to cut and to parse them.
    expect(pauses).toBe(4)
  })
})
