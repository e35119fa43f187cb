/** Patients with unusual data, for the chart and the member page. */
import type { Tree } from '../fixtures/resources.ts'

const subject = { reference: 'Patient/odd' }
const concept = (code: string, text = code) => ({ coding: [{ system: 'http://example.org/codes', code }], text })
const measured = (id: string, code: string, more: object) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: concept(code),
  subject,
  effectiveDateTime: '2024-05-01',
  ...more,
})

/** Numbers that JavaScript would not keep. Texts stand in for them until the JSON is written. */
export const LONG_NUMBER = '1.23456789012345678900'
const NUMBERS: readonly string[] = [LONG_NUMBER, '120.50']
const withNumbers = (json: string): string => NUMBERS.reduce((text, number) => text.replaceAll(`"${number}"`, number), json)

const RESOURCES: readonly (Tree & { readonly resourceType: string; readonly id: string })[] = [
  { resourceType: 'Patient', id: 'nothing' },
  { resourceType: 'Patient', id: 'odd', name: [{ family: 'Odd' }], birthDate: '1950-02-01', deceasedDateTime: '2020-01-31' },
  measured('decimals', 'Decimals', { valueQuantity: { value: LONG_NUMBER, unit: 'mg' } }),
  measured('none', 'Without value', {}),
  measured('absent', 'Absent', { dataAbsentReason: concept('unknown', 'Not performed') }),
  measured('coded', 'Coded', { valueCodeableConcept: concept('pos', 'Positive') }),
  measured('text', 'Text', { valueString: '<b>مرحبا</b>' }),
  measured('panel', 'Panel', { hasMember: [{ reference: 'Observation/text' }] }),
  measured('wave', 'Wave', { valueSampledData: { origin: { value: 2, unit: 'mV' }, period: 1, dimensions: 1, data: '1 2 3' } }),
  measured('mistake', 'Mistaken', {
    status: 'entered-in-error',
    effectiveDateTime: '2024-06-01',
    valueQuantity: { value: 999, unit: 'mg' },
  }),
  measured('right', 'Mistaken', { valueQuantity: { value: 7, unit: 'mg' }, interpretation: [concept('H', 'High')] }),
  measured('parts', 'Parts', {
    component: [
      { code: concept('a', 'First'), valueQuantity: { value: 1, unit: 'mg' } },
      { code: concept('b', 'Second'), dataAbsentReason: concept('error', 'Error') },
    ],
  }),
  ...[1, 2, 3, 4, 5, 6, 7].map((value) =>
    measured(`ranged-${value}`, 'Ranged', {
      effectiveDateTime: `2023-0${value}-01`,
      valueQuantity: { value, unit: value === 2 ? 'g' : 'mg' },
      referenceRange: [{ low: { value: 2, unit: 'mg' }, high: { value: 5, unit: 'mg' } }],
    }),
  ),
  { ...measured('uncoded', '', { valueString: 'Noted by hand' }), code: { text: 'Free text' } },
  { resourceType: 'Medication', id: 'pill', code: concept('pill', 'Included pill') },
  {
    resourceType: 'MedicationRequest',
    id: 'order',
    status: 'active',
    intent: 'order',
    subject,
    medicationReference: { reference: 'Medication/pill' },
  },
  {
    resourceType: 'Coverage',
    id: 'cover',
    status: 'active',
    type: concept('hmo', 'Plan of health'),
    beneficiary: subject,
    payor: [{ reference: 'Organization/payor', display: 'Payor Inc' }],
  },
  {
    resourceType: 'ExplanationOfBenefit',
    id: 'paid',
    status: 'active',
    type: concept('professional'),
    use: 'claim',
    patient: subject,
    billablePeriod: { start: '2023-03-01', end: '2023-03-01' },
    preAuthRefPeriod: [{ start: '2023-02-01', end: '2023-02-28' }],
    created: '2023-04-01',
    insurer: { display: 'Payor Inc' },
    provider: { reference: 'Organization/payor' },
    outcome: 'complete',
    insurance: [{ focal: true, coverage: { reference: 'Coverage/cover' } }],
    total: [{ category: concept('submitted'), amount: { value: 150, currency: 'USD' } }],
    payment: { amount: { value: '120.50', currency: 'USD' } },
  },
  {
    resourceType: 'ClaimResponse',
    id: 'authorized',
    status: 'active',
    type: concept('institutional'),
    use: 'preauthorization',
    patient: subject,
    created: '2024-01-01',
    insurer: { display: 'Payor Inc' },
    outcome: 'complete',
    preAuthRef: 'AUTH-1',
  },
  { resourceType: 'Group', id: 'many', type: 'person', actual: true, name: 'Members of 2024', member: [{ entity: subject }] },
  {
    resourceType: 'Consent',
    id: 'agreed',
    status: 'active',
    scope: concept('patient-privacy'),
    category: [concept('hipaa-auth', 'Authorization')],
    patient: subject,
    dateTime: '2024-02-02',
    policyRule: concept('rule'),
  },
]

const entry = RESOURCES.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))

/** JSON of a transaction. Patient `odd` has Observations of many kinds and one resource per payer's type; patient `nothing` has nothing. */
export const ODD_PATIENT = withNumbers(JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }))
