/** The record of a member in which each amount that partners do not receive is marked: it occurs once, as a number or in a text. */
import type { Tree } from '../api/server.ts'

/** `amounts`: texts of the marked amounts. */
export type MarkedRecord = { readonly resources: readonly Tree[]; readonly amounts: readonly string[] }

const SHARE = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/adjudication', code: 'copay' }] }
const HTML = 'http://www.w3.org/1999/xhtml'
const X = { text: 'x' }
const DISPLAY = { display: 'x' }

/** Returns the record of a Patient. `first`: the first amount. */
export function markedRecord(id: string, first: number): MarkedRecord {
  const amounts: string[] = []
  const amount = (): number => {
    amounts.push(String(first + amounts.length))
    return Number(amounts.at(-1))
  }
  const money = (): Tree => ({ value: amount(), currency: 'USD' })
  const dollars = (): Tree => ({ value: amount(), unit: 'USD', system: 'urn:iso:std:iso:4217', code: 'USD' })
  const text = (): Tree => ({ status: 'generated', div: `<div xmlns="${HTML}">Paid $${amount()}</div>` })
  const of = (resourceType: string, name: string, more: Tree): Tree => ({ resourceType, id: `${id}-${name}`, ...more })

  const patient = { reference: `Patient/${id}` }
  const coverage = { reference: `Coverage/${id}-coverage` }
  const payment = { status: 'active', created: '2026-01-01', patient, insurer: DISPLAY }
  const sent = {
    ...{ ...payment, use: 'claim', type: X, priority: X, provider: DISPLAY },
    insurance: [{ focal: true, sequence: 1, coverage }],
  }
  const containedClaim = (): readonly Tree[] => [{ resourceType: 'Claim', id: 'claim', ...sent, total: money() }]
  const adjudication = (): readonly Tree[] => [{ category: SHARE, amount: money(), value: amount() }]
  const part = (): Tree => ({
    ...{ sequence: 1, productOrService: { text: 'visit' }, unitPrice: money(), factor: amount(), net: money() },
    adjudication: adjudication(),
  })
  const claim = (use: string): Tree => ({
    ...{ ...payment, use, type: X, outcome: 'complete', provider: DISPLAY, insurance: [{ focal: true, coverage }] },
    text: text(),
    contained: containedClaim(),
    claim: { reference: '#claim' },
    extension: [{ url: 'http://example.org/paid', valueMoney: money() }],
    supportingInfo: [{ sequence: 1, category: X, valueQuantity: dollars() }],
    item: [{ ...part(), detail: [{ ...part(), subDetail: [part()] }] }],
    addItem: [{ productOrService: X, unitPrice: money(), net: money(), adjudication: adjudication() }],
    adjudication: adjudication(),
    total: [{ category: SHARE, amount: money() }],
    payment: { amount: money(), adjustment: money(), identifier: { value: `check ${amount()}` } },
    benefitBalance: [{ category: X, financial: [{ type: X, allowedMoney: money(), usedMoney: money() }] }],
  })
  const resources = [
    { resourceType: 'Patient', id, name: [{ family: 'Marked' }] },
    of('Coverage', 'coverage', {
      ...{ text: text(), status: 'active', beneficiary: patient, payor: [DISPLAY] },
      costToBeneficiary: [{ type: { text: `copay of ${amount()}` }, valueMoney: money() }, { valueQuantity: dollars() }],
    }),
    of('ExplanationOfBenefit', 'claim', claim('claim')),
    of('ExplanationOfBenefit', 'authorization', claim('preauthorization')),
    of('Observation', 'observation', {
      ...{ text: text(), status: 'final', code: X, subject: patient, focus: [{ reference: '#claim' }] },
      contained: containedClaim(),
    }),
    of('Provenance', 'provenance', {
      ...{ recorded: '2026-01-01T00:00:00Z', agent: [{ who: DISPLAY }] },
      target: [{ reference: `ExplanationOfBenefit/${id}-claim` }, patient],
    }),
    of('Claim', 'sent', { ...sent, total: money() }),
    of('ClaimResponse', 'response', {
      ...payment,
      type: X,
      use: 'claim',
      outcome: 'complete',
      total: [{ category: SHARE, amount: money() }],
    }),
    of('PaymentNotice', 'notice', {
      ...{ status: 'active', created: '2026-01-01', request: { reference: `Claim/${id}-sent` } },
      ...{ payment: DISPLAY, recipient: DISPLAY, amount: money() },
    }),
    of('Invoice', 'invoice', { status: 'issued', subject: patient, totalNet: money(), totalGross: money() }),
    of('ChargeItem', 'charge', { status: 'billed', code: X, subject: patient, priceOverride: money() }),
    of('CoverageEligibilityResponse', 'eligible', {
      ...{ ...payment, purpose: ['benefits'], outcome: 'complete', request: DISPLAY },
      insurance: [{ coverage: DISPLAY, item: [{ category: X, benefit: [{ type: X, allowedMoney: money() }] }] }],
    }),
    of('Account', 'account', { status: 'active', subject: [patient], description: `owes ${amount()}` }),
  ]
  return { resources, amounts }
}
