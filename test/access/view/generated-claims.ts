/** Random claims whose amounts are marked: each number and each text occurs once, and the list that it is in says whether it is shown. */
import type { Element, Resource } from '../../../lambdas/fhir/resource.ts'
import type { Random } from '../../contracts/generated-search.ts'

/** `amounts`: texts that no partner receives. `kept`: texts that every partner receives. */
export type MarkedClaim = { readonly claim: Resource; readonly amounts: readonly string[]; readonly kept: readonly string[] }

export function markedClaim(random: Random, use: 'claim' | 'preauthorization' | 'predetermination'): MarkedClaim {
  const generator = new Generator(random, use === 'claim')
  return { claim: generator.claim(use), amounts: generator.amounts, kept: generator.kept }
}

const DISCRIMINATOR = 'http://hl7.org/fhir/us/carin-bb/CodeSystem/C4BBAdjudicationDiscriminator'
const STATES = [
  'billingnetworkstatus',
  'renderingnetworkstatus',
  'benefitpaymentstatus',
  'adjustmentreason',
  'denialreason',
  'allowedunits',
]
const SHARES = ['paid', 'copay', 'deductible', 'coinsurance', 'benefit', 'memberliability', 'paidtoprovider', 'paidbypatient']
const PRICES = ['submitted', 'eligible', 'noncovered', 'discount', 'drugcost']

class Generator {
  readonly amounts: string[] = []
  readonly kept: string[] = []
  readonly #random: Random
  readonly #isClaim: boolean
  #next = 1_000_000

  constructor(random: Random, isClaim: boolean) {
    this.#random = random
    this.#isClaim = isClaim
  }

  claim(use: string): Resource {
    return {
      resourceType: 'ExplanationOfBenefit',
      id: this.#word(),
      meta: { profile: ['http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-ExplanationOfBenefit-Oral|2.2.0'] },
      text: { status: 'generated', div: `<div>${this.#amountText()}</div>` },
      ...this.#extended(),
      form: { title: this.#amountText() },
      status: 'active',
      _status: { extension: this.#extensions() },
      use,
      type: { text: this.#word() },
      disposition: this.#word(),
      preAuthRef: [this.#word(), null],
      _preAuthRef: [null, { extension: this.#extensions() }],
      contained: [this.#containedCoverage(), this.#containedClaim()],
      insurance: [{ focal: true, coverage: { reference: '#coverage' } }],
      claim: { reference: '#claim' },
      supportingInfo: this.#list(() => this.#supportingInfo()),
      item: this.#list(() => this.#part(['detail', 'subDetail'])),
      addItem: this.#list(() => this.#part(['detail', 'subDetail'])),
      adjudication: this.#list(() => this.#adjudication()),
      total: this.#list(() => this.#total()),
      processNote: [{ text: this.#word(), number: this.#number() }],
      payment: { amount: this.#money(), adjustment: this.#money(), identifier: { value: this.#amountText() } },
      benefitBalance: this.#list(() => ({
        name: this.#amountText(),
        financial: [{ allowedMoney: this.#money(), usedMoney: { value: this.#amount() } }],
      })),
      ...(this.#isClaim ? { benefitPeriod: { start: this.#amountText() } } : { benefitPeriod: { start: this.#word() } }),
    }
  }

  #part(below: readonly string[]): Element {
    const [first, ...rest] = below
    return {
      ...this.#extended(),
      sequence: this.#number(),
      productOrService: { text: this.#word() },
      quantity: { value: this.#number(), unit: this.#word() },
      unitPrice: this.#money(),
      factor: this.#amount(),
      net: this.#money(),
      adjudication: this.#list(() => this.#adjudication()),
      ...(first === undefined ? {} : { [first]: this.#list(() => this.#part(rest)) }),
    }
  }

  #adjudication(): Element {
    if (this.#isClaim && this.#random.below(2) === 0) {
      const coding = [{ system: DISCRIMINATOR, code: this.#random.pick(STATES) }]
      return { ...this.#extended(), category: { coding, text: this.#word() }, reason: { text: this.#word() }, amount: this.#money() }
    }
    // The whole adjudication is removed.
    if (this.#isClaim)
      return { category: category([...SHARES, ...PRICES, ...STATES], this.#random), amount: this.#money(), value: this.#amount() }
    return this.#total({ reason: { text: this.#word() } })
  }

  #total(more: Element = {}): Element {
    if (this.#isClaim) return { category: category(PRICES, this.#random), amount: this.#money() }
    const isShare = this.#random.below(2) === 0
    const named = { ...category(isShare ? SHARES : PRICES, this.#random), text: this.#word() }
    const amount = { value: isShare ? this.#amount() : this.#number(), currency: 'USD' }
    return { ...this.#extended(), ...more, category: named, amount, ...(isShare ? { value: this.#amount() } : {}) }
  }

  #supportingInfo(): Element {
    if (this.#random.below(2) === 0)
      return { sequence: this.#number(), ...this.#extended(), valueQuantity: { value: this.#number(), unit: 'd' } }
    return { sequence: this.#amount(), valueQuantity: this.#moneyQuantity() }
  }

  #extended(): Element {
    return this.#random.below(3) === 0 ? { extension: this.#extensions() } : {}
  }

  #extensions(): readonly Element[] {
    return [
      { url: this.#word(), valueString: this.#word() },
      { url: 'http://example.org/paid', valueMoney: this.#money() },
      { url: 'http://example.org/paid', valueQuantity: this.#moneyQuantity() },
      {
        url: this.#word(),
        extension: [
          { url: 'paid', valueMoney: this.#money() },
          { url: 'code', valueCode: this.#word() },
        ],
      },
    ]
  }

  #containedCoverage(): Element {
    const costToBeneficiary = [{ type: { text: this.#amountText() }, valueMoney: this.#money() }]
    return { resourceType: 'Coverage', id: 'coverage', subscriberId: this.#word(), costToBeneficiary }
  }

  #containedClaim(): Element {
    return { resourceType: 'Claim', id: 'claim', total: this.#money(), item: [{ net: { value: this.#amount() } }] }
  }

  /** A Money may lack its currency. */
  #money(): Element {
    return { value: this.#amount(), ...this.#random.pick([{}, { currency: 'USD' }]) }
  }

  #moneyQuantity(): Element {
    const units = [{ unit: 'USD' }, { unit: '$' }, { system: 'urn:iso:std:iso:4217', code: 'EUR' }, { unit: 'US dollars' }]
    return { value: this.#amount(), ...this.#random.pick(units) }
  }

  /** A decimal that a double would write differently, as json.ts parses it. */
  #amount(): string {
    return `\u0000${this.#amountText()}`
  }

  #amountText(): string {
    const text = `${this.#next++}.10`
    this.amounts.push(text)
    return text
  }

  #number(): string {
    const text = `${this.#next++}.50`
    this.kept.push(text)
    return `\u0000${text}`
  }

  #word(): string {
    const text = `word-${this.#next++}`
    this.kept.push(text)
    return text
  }

  #list(create: () => Element): readonly Element[] {
    return Array.from({ length: 1 + this.#random.below(2) }, create)
  }
}

const category = (codes: readonly string[], random: Random): Element => ({
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/adjudication', code: random.pick(codes) }],
})
