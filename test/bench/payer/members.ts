/** Generated members, and the requests of another payer about them. A number always gives the same member. */
import { CLAIM_PAIRS } from '../../fixtures/payer/claims.ts'
import type { Tree } from '../../fixtures/resources.ts'

const NPI = 'http://hl7.org/fhir/sid/us-npi'
/** Identifier of the payer that runs the server, for FHIR_PAYER. */
export const PAYER = `${NPI}|1992999999`
const CARDS = 'http://example.org/cards'
export const MEMBER_NUMBERS = 'http://example.org/members'
const MEMBER_NUMBER = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MB' }] }

/** Resources with patients of an exported Group, for each patient. */
const PER_PATIENT = 4

const SYLLABLES = 'an be co da el fa gor hi jo ka lu mo ni or pa ri so ta ul ver wi yan zo sen bur'.split(' ')
const syllables = (n: number, count: number): string =>
  count === 0 ? '' : SYLLABLES[n % SYLLABLES.length]! + syllables(Math.floor(n / SYLLABLES.length), count - 1)
const capitalized = (text: string): string => text[0]!.toUpperCase() + text.slice(1)

/** Spreads neighbours, as a hash does. The same number gives the same result. */
const scatter = (i: number): number => Math.imul(i + 1, 2_654_435_761) >>> 0

const familyOf = (i: number): string => capitalized(syllables(scatter(i) % 15_625, 3))
const givenOf = (i: number): string => capitalized(syllables(scatter(i * 7) % 625, 2))
const birthDateOf = (i: number): string => new Date(Date.UTC(1930, 0, 1 + (scatter(i * 13) % 30_000))).toISOString().slice(0, 10)
const genderOf = (i: number): string => (i % 2 === 0 ? 'female' : 'male')

export const patientIdOf = (i: number): string => `m${i}`
export const memberNumberOf = (i: number): string => `M-${String(i).padStart(8, '0')}`
const cardOf = (i: number): Tree => ({ type: MEMBER_NUMBER, system: CARDS, value: `C${String(scatter(i)).padStart(10, '0')}` })

/** Returns the stored Patient and Coverage. */
export const memberOf = (i: number): readonly Tree[] => [
  {
    ...{ resourceType: 'Patient', id: patientIdOf(i), active: true, gender: genderOf(i), birthDate: birthDateOf(i) },
    identifier: [{ type: MEMBER_NUMBER, system: MEMBER_NUMBERS, value: memberNumberOf(i) }],
    name: [{ use: 'official', family: familyOf(i), given: [givenOf(i), givenOf(i + 1)] }],
    telecom: [{ system: 'phone', value: `555-${i % 10_000}`, use: 'home' }],
    address: [{ line: [`${i % 1_000} Main Street`], city: capitalized(syllables(i % 625, 2)), state: 'MA', postalCode: '02108' }],
  },
  {
    ...{ resourceType: 'Coverage', id: `c${i}`, status: 'active', identifier: [cardOf(i)], subscriberId: `S${i}` },
    beneficiary: { reference: `Patient/${patientIdOf(i)}` },
    relationship: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/subscriber-relationship', code: 'self' }] },
    payor: [{ display: 'Payer' }],
    period: { start: '2024-01-01' },
    class: [
      {
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/coverage-class', code: 'plan' }] },
        value: `plan-${i % 20}`,
      },
    ],
  },
]

const recently = (i: number): string => new Date(Date.now() - (1 + (i % 300)) * 86_400_000).toISOString().slice(0, 10)

/** Returns Observations of a member. A view shows them unchanged. */
export const observationsOf = (i: number): readonly Tree[] =>
  Array.from({ length: PER_PATIENT }, (_, n) => ({
    ...{ resourceType: 'Observation', id: `o${i}-${n}`, status: 'final', effectiveDateTime: `${recently(i + n)}T08:00:00Z` },
    code: { coding: [{ system: 'http://loinc.org', code: '29463-7', display: 'Body Weight' }], text: 'Body Weight' },
    subject: { reference: `Patient/${patientIdOf(i)}` },
    valueQuantity: { value: 50 + (i % 50), unit: 'kg', system: 'http://unitsofmeasure.org', code: 'kg' },
  }))

/** Returns claims of a member with all amounts: examples of CARIN. All dates of a claim lie together, as in real ones. */
export const wholeClaimsOf = (i: number): readonly Tree[] =>
  Array.from({ length: PER_PATIENT }, (_, n) => {
    const [{ meta: _meta, ...claim }] = CLAIM_PAIRS[(i + n) % CLAIM_PAIRS.length]!
    const dated = JSON.parse(JSON.stringify(claim).replaceAll(/"\d{4}-\d\d-\d\d(?=["T])/g, `"${recently(i + n)}`)) as Tree
    const patient = { reference: `Patient/${patientIdOf(i)}` }
    return { ...dated, id: `e${i}-${n}`, patient, billablePeriod: { start: recently(i + n) } }
  })

/** Returns a short claim of a member. `number`: of the claim. */
export const claimOf = (number: number, i: number): Tree => ({
  ...{
    resourceType: 'ExplanationOfBenefit',
    id: `k${number}`,
    status: 'active',
    use: 'claim',
    outcome: 'complete',
    created: recently(number),
  },
  type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/claim-type', code: number % 3 === 0 ? 'pharmacy' : 'professional' }] },
  identifier: [{ system: 'http://example.org/claims', value: String(number) }],
  patient: { reference: `Patient/${patientIdOf(i)}` },
  insurer: { reference: `Organization/insurer-${number % 10}` },
  provider: { reference: `Organization/provider-${number % 500}` },
  insurance: [{ focal: true, coverage: { reference: `Coverage/c${i}` } }],
  billablePeriod: { start: recently(number), end: recently(number) },
  item: [
    {
      sequence: 1,
      productOrService: { coding: [{ system: 'http://hl7.org/fhir/sid/ndc', code: String(number % 900) }] },
      servicedDate: recently(number),
      net: { value: number % 500, currency: 'USD' },
    },
  ],
  total: [
    {
      category: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/adjudication', code: 'submitted' }] },
      amount: { value: number % 500, currency: 'USD' },
    },
  ],
})

const actor = (system: string, code: string, value: string): Tree => ({
  role: { coding: [{ system: `http://terminology.hl7.org/CodeSystem/${system}`, code }] },
  reference: { identifier: { system: NPI, value } },
})

/** Returns the parts that another payer sends about a member: the Patient, the Coverage and a Consent. */
export function sentMemberOf(i: number): readonly Tree[] {
  const [own, coverage] = memberOf(i)
  const id = `sent-${i}`
  const patient = { reference: `Patient/${id}` }
  const { birthDate, gender } = own
  return [
    {
      name: 'MemberPatient',
      resource: { resourceType: 'Patient', id, name: [{ family: familyOf(i).toUpperCase(), given: [givenOf(i)] }], birthDate, gender },
    },
    {
      name: 'CoverageToMatch',
      resource: { ...coverage, id: `coverage-${i}`, subscriberId: undefined, beneficiary: patient },
    },
    {
      name: 'Consent',
      resource: {
        ...{ resourceType: 'Consent', id: `consent-${i}`, status: 'active', dateTime: '2026-01-01', patient, performer: [patient] },
        scope: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/consentscope', code: 'patient-privacy' }] },
        category: [{ coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IDSCL' }] }],
        sourceReference: { reference: 'DocumentReference/signed' },
        policy: [{ uri: 'http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#regular' }],
        provision: {
          ...{ type: 'permit', period: { start: '2026-01-01', end: '2099-12-31' } },
          actor: [actor('provenance-participant-type', 'performer', '1992999999'), actor('v3-ParticipationType', 'IRCP', '1234567893')],
        },
      },
    },
  ]
}

/** Returns the body of `$member-match`. */
export const matchBody = (i: number): string => JSON.stringify({ resourceType: 'Parameters', parameter: sentMemberOf(i) })

/** Returns the body of `$bulk-member-match`. */
export const bulkMatchBody = (members: readonly number[]): string =>
  JSON.stringify({ resourceType: 'Parameters', parameter: members.map((i) => ({ name: 'MemberBundle', part: sentMemberOf(i) })) })
