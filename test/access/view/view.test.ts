/** Views: resources without remittances and cost-sharing, whatever their shape. */
import { describe, expect, it } from '@jest/globals'
import { mayChange, viewOf } from '../../../lambdas/access/view/view.ts'
import { hiddenPathsOf, isHiddenType } from '../../../lambdas/access/view/view-rules.ts'
import { parseJson, writeJson } from '../../../lambdas/fhir/json.ts'
import type { Element, Resource } from '../../../lambdas/fhir/resource.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { CLAIM_PAIRS, PRIOR_AUTHORIZATION } from '../../fixtures/payer/claims.ts'
import { observation, patient } from '../../fixtures/resources.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'
import { US_CORE_EXAMPLES } from '../../fixtures/us-core/examples.ts'
import { markedClaim } from './generated-claims.ts'
import { oddShapeOf } from './odd-shapes.ts'

const ALL = { isLoaded: () => true }
const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }
const seen = (resource: object): Resource | undefined => viewOf(resource as Resource, 'payer', ALL)

const eob = (fields: object): Resource => ({ resourceType: 'ExplanationOfBenefit', id: 'e', use: 'claim', ...fields })
const coding = (code: string): Element => ({ system: 'http://terminology.hl7.org/CodeSystem/adjudication', code })
const category = (code: string): Element => ({ coding: [coding(code)] })
const usd = (value: number): Element => ({ value, currency: 'USD' })

/** Returns the view of a claim without its id and its tag, as CARIN's claims without amounts have neither. */
function comparable(whole: Resource): Element {
  const { id: _, meta, ...rest } = seen(whole)!
  const { tag, ...others } = meta!
  expect(tag).toEqual([SUBSETTED])
  return { ...rest, meta: others }
}

/** Members in which the two claims of CARIN differ from the rules of their profiles. */
const FAULTS: Readonly<Record<string, { readonly lacks?: string; readonly has?: string }>> = {
  EOBProfessional1: { lacks: 'payee' },
  EOBProfessionalTransportation1: { has: 'total' },
}

describe('The view of a claim', () => {
  it.each(CLAIM_PAIRS.map(([whole, without]) => [whole.id!, whole, without] as const))(
    'equals the claim %s of CARIN without amounts',
    (id, whole, without) => {
      const { lacks = '', has = '' } = FAULTS[id] ?? {}
      const { id: _, [has]: __, ...expected } = without as Element
      if (has !== '') expect(without).toHaveProperty(has)
      if (lacks !== '') expect(without).not.toHaveProperty(lacks)
      expect(comparable(whole)).toEqual({ ...expected, ...(lacks === '' ? {} : { [lacks]: whole[lacks] }) })
    },
  )

  it('claims no profile that requires amounts if the Basis profile is not loaded', () => {
    const profile = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-ExplanationOfBenefit-Pharmacy'
    const claim = eob({ meta: { profile: [`${profile}|2.0.0`, profile, 'http://example.org/own'] } })
    const profilesOf = (loaded: string) => viewOf(claim, 'provider', { isLoaded: (canonical) => canonical === loaded })?.meta?.profile
    expect(profilesOf(`${profile}-Basis|2.0.0`)).toEqual([`${profile}-Basis|2.0.0`, 'http://example.org/own'])
    expect(profilesOf(`${profile}-Basis`)).toEqual([`${profile}-Basis`, 'http://example.org/own'])
    expect(profilesOf(`${profile}-Basis|2.2.0`)).toEqual(['http://example.org/own'])
    expect(viewOf(eob({ meta: { profile: [profile] } }), 'payer', { isLoaded: () => false })).toEqual(eob({ meta: { tag: [SUBSETTED] } }))
  })

  it('keeps a Basis profile and the claim that has nothing to remove', () => {
    const profile = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-ExplanationOfBenefit-Oral-Basis|2.2.0'
    const claim = eob({ meta: { profile: [profile] }, item: [{ sequence: 1 }] })
    expect(viewOf(claim, 'payer', { isLoaded: () => false })).toBe(claim)
  })

  it('keeps the texts that the Basis profiles keep', () => {
    const texts = { disposition: 'paid', processNote: [{ number: 1, type: 'display', text: 'see letter' }] }
    expect(seen(eob({ ...texts, total: [{ amount: usd(5) }] }))).toMatchObject(texts)
  })

  it('is tagged once', () => {
    const total = [{ amount: usd(5) }]
    const own = { system: 'http://example.org', code: 'SUBSETTED' }
    expect(seen(eob({ meta: { tag: [SUBSETTED], versionId: '1' }, total }))).toEqual(eob({ meta: { tag: [SUBSETTED], versionId: '1' } }))
    expect(seen(eob({ meta: { tag: [own] }, total }))).toEqual(eob({ meta: { tag: [own, SUBSETTED] } }))
  })

  it('counts for a claim without a use or with one of another shape', () => {
    for (const use of [undefined, null, ['preauthorization'], { value: 'preauthorization' }])
      expect(seen(eob({ use, total: [{ category: category('submitted'), amount: usd(5) }] }))).not.toHaveProperty('total')
  })

  it.each([
    ['a currency in the unit', { value: 5, unit: 'USD' }],
    ['a sign in the unit', { value: 5, unit: '€' }],
    ['dollars in the unit', { value: 5, unit: 'US dollars' }],
    ['a currency in the code', { value: 5, code: 'CHF' }],
    ['the system of currencies', { value: 5, system: 'urn:iso:std:iso:4217' }],
  ])('has no supportingInfo with %s', (_, valueQuantity) => {
    const kept = { sequence: 2, valueQuantity: { value: 5, unit: 'cup', system: 'http://unitsofmeasure.org', code: '[cup_us]' } }
    const coded = { sequence: 3, code: { coding: [{ system: 'http://example.org', code: 'ALL' }] } }
    expect(seen(eob({ supportingInfo: [{ sequence: 1, valueQuantity }, kept, coded] }))?.supportingInfo).toEqual([kept, coded])
  })

  it('has no money where R4 has none, and no element that is empty without it', () => {
    const extension = [{ url: 'http://example.org/a', valueCode: 'a' }]
    const item = [
      { sequence: 1, factor: 2, _factor: { extension }, quantity: { value: 5, unit: 'USD' } },
      { id: 'i', net: usd(5) },
    ]
    expect(seen(eob({ item, accident: { locationAddress: usd(5) }, adjudication: [null, 5, usd(5)] }))).toEqual({
      ...eob({ item: [{ sequence: 1 }] }),
      meta: { tag: [SUBSETTED] },
    })
  })

  it('has no extension with money, also on primitives and below', () => {
    const money = { url: 'http://example.org/a', valueMoney: { value: 5 } }
    const kept = { url: 'http://example.org/b', valueString: 'b' }
    const claim = eob({
      extension: [money, { url: 'http://example.org/c', extension: [money] }, { url: 'http://example.org/d', extension: [money, kept] }],
      modifierExtension: [money],
      _status: { extension: [money] },
      preAuthRef: ['1', '2', '3'],
      _preAuthRef: [{ extension: [money] }, null, { extension: [money, kept] }],
      item: [{ sequence: 1, quantity: { value: 1, extension: [kept, money] } }],
      meta: { extension: [money] },
    })
    expect(seen(claim)).toEqual({
      ...eob({ meta: { tag: [SUBSETTED] } }),
      extension: [{ url: 'http://example.org/d', extension: [kept] }],
      preAuthRef: ['1', '2', '3'],
      _preAuthRef: [null, null, { extension: [kept] }],
      item: [{ sequence: 1, quantity: { value: 1, extension: [kept] } }],
    })
  })
})

describe('The view of a prior authorization', () => {
  it('is the example of PDex itself, which has submitted and eligible amounts only', () =>
    expect(seen(PRIOR_AUTHORIZATION)).toBe(PRIOR_AUTHORIZATION))

  it('masks the amounts of cost-sharing and payments, and of categories without codes', () => {
    const extension = [{ url: 'http://example.org/review', valueCode: 'A1' }]
    const masked = { extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'masked' }] }
    const both = { coding: [coding('submitted'), { code: 'Copay' }] }
    const shown = [
      { category: category('submitted'), amount: usd(1), value: 2 },
      { category: category('consumedunits'), value: 3 },
    ]
    const hidden = [category('copay'), both, { text: 'Copay' }, [category('submitted')], { coding: coding('submitted') }, undefined]
    const adjudication = [...shown, ...hidden.map((each) => ({ extension, category: each, amount: usd(7), value: 8 }))]
    const whole = eob({
      use: 'predetermination',
      payment: { amount: usd(9) },
      benefitBalance: [{}],
      item: [{ sequence: 1, net: usd(9), adjudication }],
    })
    expect(seen({ ...whole, total: adjudication.slice(0, 3) })).toEqual({
      ...eob({ use: 'predetermination', meta: { tag: [SUBSETTED] } }),
      item: [{ sequence: 1, adjudication: [...shown, ...hidden.map((each) => ({ extension, category: each, amount: masked }))] }],
      total: [...shown, { extension, category: category('copay'), amount: masked }],
    })
  })
})

describe('A view', () => {
  it('shows a Coverage without the costs of the member and without narrative', () => {
    const coverage = { resourceType: 'Coverage', id: 'c', status: 'active', subscriberId: '1' }
    expect(seen({ ...coverage, text: { div: '<div>$ 5</div>' }, costToBeneficiary: [{ valueMoney: usd(5) }] })).toEqual({
      ...coverage,
      meta: { tag: [SUBSETTED] },
    })
    expect(seen(coverage)).toBe(coverage)
  })

  it.each([
    'Claim',
    'ClaimResponse',
    'PaymentNotice',
    'PaymentReconciliation',
    'Invoice',
    'Account',
    'ChargeItem',
    'CoverageEligibilityResponse',
  ])('hides the type %s, also inside other resources', (resourceType) => {
    const hidden = { resourceType, id: 'h', total: usd(5) }
    expect(isHiddenType(resourceType, 'provider')).toBe(true)
    expect(seen(hidden)).toBeUndefined()
    expect(hiddenPathsOf(resourceType, 'payer')).toEqual(['*'])
    const shown = { resourceType: 'Bundle', type: 'collection', entry: [{ resource: patient('a') }] }
    expect(seen({ ...shown, entry: [...shown.entry, { fullUrl: 'urn:a', resource: hidden }] })).toEqual({
      ...shown,
      meta: { tag: [SUBSETTED] },
    })
    const parameter = [{ name: 'a', part: [{ name: 'b', valueString: 'b' }] }]
    expect(seen({ resourceType: 'Parameters', parameter: [...parameter, { name: 'c', part: [{ name: 'd', resource: hidden }] }] })).toEqual(
      {
        ...{ resourceType: 'Parameters', parameter: [...parameter, { name: 'c' }] },
        meta: { tag: [SUBSETTED] },
      },
    )
  })

  it('removes references to hidden contained resources, and contained resources that only these referred to', () => {
    const claim = { resourceType: 'Claim', id: 'claim', insurance: [{ coverage: { reference: '#old' } }], total: usd(5) }
    const contained = [claim, { resourceType: 'Coverage', id: 'old' }, { resourceType: 'Coverage', id: 'new', costToBeneficiary: [{}] }]
    const whole = {
      ...observation('o', {}),
      text: { div: '<div>$ 5</div>' },
      focus: [{ reference: '#claim' }, { reference: '#new' }],
      contained,
    }
    expect(seen(whole)).toEqual({
      ...observation('o', {}),
      meta: { tag: [SUBSETTED] },
      focus: [{ reference: '#new' }],
      contained: [{ resourceType: 'Coverage', id: 'new' }],
    })
  })

  it('returns other resources as the same objects, which need no parsing', () => {
    for (const resource of US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType !== 'Coverage')) {
      expect(seen(resource)).toBe(resource)
      if (JSON.stringify(resource).split('"resourceType"').length === 2)
        expect(mayChange(resource.resourceType, Buffer.from(JSON.stringify(resource)), 'payer')).toBe(false)
    }
    const scenario = { resourceType: 'ExampleScenario', instance: [{ resourceId: 'a', resourceType: 'Claim' }] }
    expect(seen(scenario)).toBe(scenario)
    const group = { resourceType: 'Group', contained: [{ resourceType: 'Patient' }], text: { div: 'the resourceType"' } }
    expect(seen(group)).toBe(group)
    expect(mayChange('Group', Buffer.from(JSON.stringify(group)), 'payer')).toBe(false)
  })

  it.each<[what: string, type: string, body: string]>([
    ['a type with a rule', 'ExplanationOfBenefit', '{}'],
    ['a contained Claim', 'Observation', '{"resourceType":"Observation","contained":[{"resourceType" :"Claim"}]}'],
    [
      'a contained Claim after a Patient',
      'Group',
      '{"contained":[{"resourceType":"Patient"},{"resourceType":"Claim"}],"resourceType":"Group"}',
    ],
    ['a contained Claim behind white space', 'Group', `{"contained":[{"resourceType"${' '.repeat(200)}:"Claim"}]}`],
    ['a contained Claim behind an escape', 'Group', '{"contained":[{"resourceType":"\\u0043laim"}]}'],
    ['an entry of a Bundle', 'Bundle', '{"resourceType":"Bundle","entry":[{"resource":{"resourceType":"Coverage"}}]}'],
  ])('may change %s', (_, type, body) => expect(mayChange(type, Buffer.from(body), 'payer')).toBe(true))

  it('names the paths that a search could reveal', () => {
    expect(hiddenPathsOf('Patient', 'payer')).toEqual([])
    expect(hiddenPathsOf('Coverage', 'payer')).toEqual(['text', 'costToBeneficiary'])
    const paths = hiddenPathsOf('ExplanationOfBenefit', 'provider')
    expect(paths).toEqual(
      expect.arrayContaining(['total', 'payment', 'item.net', 'addItem.detail.subDetail.adjudication', 'supportingInfo']),
    )
    expect(paths).not.toContain('item.quantity')
  })

  it('removes money from contained resources of any type, and keeps their other amounts', () => {
    const basic = { resourceType: 'Basic', id: 'b', extension: [{ url: 'u', valueMoney: usd(5) }], code: { text: 'kept' } }
    const drug = { resourceType: 'Medication', id: 'm', amount: { numerator: { value: 7, unit: 'mg' } } }
    const paid = { resourceType: 'Observation', id: 'o', valueQuantity: { value: 9, unit: 'USD' } }
    const supportingInfo = ['#b', '#m', '#o'].map((reference) => ({ valueReference: { reference } }))
    expect(seen(eob({ contained: [basic, drug, paid], supportingInfo }))?.contained).toEqual([
      { resourceType: 'Basic', id: 'b', code: { text: 'kept' } },
      drug,
      { resourceType: 'Observation', id: 'o' },
    ])
  })

  it('removes each marked amount of a generated claim and nothing else', () => {
    const random = createPrintedRandom('claims with marked amounts')
    for (let n = 0; n < caseCountOf(50, 1_000); n++) {
      const { claim, amounts, kept } = markedClaim(random, random.pick(['claim', 'preauthorization', 'predetermination'] as const))
      const text = writeJson(claim)
      const left = writeJson(seen(parseJson(text) as Resource))
      expect(amounts.filter((amount) => !text.includes(amount) || left.includes(amount))).toEqual([])
      expect(kept.filter((each) => !left.includes(each))).toEqual([])
    }
  })

  it('reveals no marked amount of a claim with members of other shapes', () => {
    const random = createPrintedRandom('claims of odd shapes')
    for (let n = 0; n < caseCountOf(100, 2_000); n++) {
      const { claim, amounts } = markedClaim(random, random.pick(['claim', 'preauthorization'] as const))
      const odd = oddShapeOf(claim, random) as Resource
      const left = writeJson(seen(odd) ?? null)
      const revealed = amounts.filter((amount) => left.includes(amount))
      expect(revealed.map((amount) => left.slice(Math.max(0, left.indexOf(amount) - 200), left.indexOf(amount) + 40))).toEqual([])
    }
  })

  it.each([null, [], 'text', 5, {}, { resourceType: null }, { resourceType: ['Claim'] }])('shows nothing of %j', (value) =>
    expect(seen(value as unknown as Resource)).toBeUndefined(),
  )
})
