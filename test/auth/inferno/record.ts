/** The record of Ann, of the types US Core has, in the categories its scopes name; and a little of somebody else. */

export type RecordResource = {
  readonly resourceType: string
  readonly id: string
  readonly category?: unknown
  readonly [name: string]: unknown
}

const HL7 = 'http://terminology.hl7.org/CodeSystem'
const US = 'http://hl7.org/fhir/us/core/CodeSystem'
export const CATEGORIES = {
  encounterDiagnosis: `${HL7}/condition-category|encounter-diagnosis`,
  problem: `${HL7}/condition-category|problem-list-item`,
  concern: `${US}/condition-category|health-concern`,
  laboratory: `${HL7}/observation-category|laboratory`,
  social: `${HL7}/observation-category|social-history`,
  vital: `${HL7}/observation-category|vital-signs`,
  survey: `${HL7}/observation-category|survey`,
  sdoh: `${US}/us-core-category|sdoh`,
  lab: `${HL7}/v2-0074|LAB`,
  radiology: 'http://loinc.org|LP29684-5',
  pathology: 'http://loinc.org|LP7839-6',
  note: `${US}/us-core-documentreference-category|clinical-note`,
  surgery: 'http://snomed.info/sct|387713003',
} as const

export type Category = keyof typeof CATEGORIES

const concept = (token: string) => {
  const [system, code] = token.split('|')
  return { coding: [{ system, code }] }
}
const PERSON = { Ann: { reference: 'Patient/1' }, Bob: { reference: 'Patient/2' } }
const INTENT = { intent: 'order', status: 'active' }
const ACTIVE = { clinicalStatus: concept(`${HL7}/condition-clinical|active`) }
const WHEN = '2024-03-05T10:00:00Z'

const of =
  (resourceType: string, more: object) =>
  (id: string, categories: readonly Category[], subject = PERSON.Ann): RecordResource => ({
    ...{ resourceType, id, subject },
    ...(categories.length === 0 ? {} : { category: categories.map((each) => concept(CATEGORIES[each])) }),
    ...more,
  })
const VISIT = { encounter: { reference: 'Encounter/visit' } }
const condition = of('Condition', {
  ...ACTIVE,
  ...VISIT,
  code: concept('http://snomed.info/sct|1'),
  recordedDate: WHEN,
  onsetDateTime: WHEN,
})
const observation = of('Observation', { status: 'final', code: concept('http://loinc.org|59408-5'), effectiveDateTime: WHEN })
const report = of('DiagnosticReport', { status: 'final', code: concept('http://loinc.org|58410-2'), effectiveDateTime: WHEN })
const content = [{ attachment: { contentType: 'text/plain', data: 'YQ==' } }]
const period = { start: WHEN, end: WHEN }
const document = of('DocumentReference', {
  ...{ status: 'current', type: concept('http://loinc.org|34133-9'), date: WHEN, content, context: { period } },
})
const order = of('ServiceRequest', { ...INTENT, code: concept('http://snomed.info/sct|2'), authoredOn: WHEN })

const plain = (resourceType: string, more: object): RecordResource => ({ resourceType, id: `a-${resourceType.toLowerCase()}`, ...more })
const patient = PERSON.Ann
const subject = PERSON.Ann
const drug = { medicationCodeableConcept: { text: 'a drug' } }

export const RECORD: readonly RecordResource[] = [
  { resourceType: 'Patient', id: '1', name: [{ family: 'Bell', given: ['Ann'] }], gender: 'female' },
  { resourceType: 'Patient', id: '2', name: [{ family: 'Bo', given: ['Bob'] }], gender: 'male' },
  { resourceType: 'Practitioner', id: '7', name: [{ family: 'Doc' }] },
  { resourceType: 'Encounter', id: 'visit', status: 'finished', class: { code: 'AMB' }, subject, period },
  ...[condition('diagnosis', ['encounterDiagnosis']), condition('problem', ['problem']), condition('concern', ['concern'])],
  ...[condition('both', ['problem', 'concern']), condition('bare', []), condition('bobs-problem', ['problem'], PERSON.Bob)],
  ...[observation('potassium', ['laboratory']), observation('smoking', ['social']), observation('pulse', ['vital'])],
  ...[observation('asked', ['survey', 'sdoh']), observation('housing', ['sdoh']), observation('unsorted', [])],
  observation('bobs-potassium', ['laboratory'], PERSON.Bob),
  ...[report('blood', ['lab']), report('x-ray', ['radiology']), report('tissue', ['pathology']), report('bobs-blood', ['lab'], PERSON.Bob)],
  ...[document('note', ['note']), document('letter', []), document('bobs-note', ['note'], PERSON.Bob)],
  ...[order('shelter', ['sdoh']), order('operation', ['surgery']), order('bobs-shelter', ['sdoh'], PERSON.Bob)],
  plain('AllergyIntolerance', { patient, clinicalStatus: concept(`${HL7}/allergyintolerance-clinical|active`) }),
  plain('CarePlan', { ...INTENT, subject, category: [concept(`${US}/careplan-category|assess-plan`)] }),
  plain('CareTeam', { status: 'active', subject }),
  plain('Coverage', { status: 'active', beneficiary: patient, payor: [patient] }),
  plain('Device', { patient }),
  plain('Goal', { lifecycleStatus: 'active', description: { text: 'run' }, subject }),
  plain('Immunization', { status: 'completed', vaccineCode: { text: 'flu' }, patient, occurrenceDateTime: WHEN }),
  plain('MedicationDispense', { status: 'completed', subject, ...drug }),
  plain('MedicationRequest', { ...INTENT, subject, ...drug }),
  plain('Procedure', { status: 'completed', subject, performedDateTime: WHEN }),
  plain('Provenance', { target: [patient], recorded: WHEN, agent: [{ who: patient }] }),
  plain('Specimen', { subject }),
  plain('RelatedPerson', { patient }),
  plain('Location', { name: 'Ward' }),
  plain('Medication', { code: { text: 'a drug' } }),
  plain('Organization', { name: 'Hospital' }),
  plain('PractitionerRole', { practitioner: { reference: 'Practitioner/7' } }),
]

/** Ids of those of a type that have a category. */
export const idsInCategories = (type: string, categories: readonly Category[]): readonly string[] =>
  RECORD.filter(({ resourceType, category }) => resourceType === type && categories.some((each) => has(category, CATEGORIES[each]))).map(
    ({ id }) => id,
  )

const has = (category: unknown, token: string): boolean => JSON.stringify(category ?? []).includes(JSON.stringify(concept(token)))
