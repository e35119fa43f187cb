/**
 * What US Core 6.1.0 asks of searches, and Inferno's kit tests: each type, where its parameters have their values, and what is searched by.
 * https://hl7.org/fhir/us/core/STU6.1/CapabilityStatement-us-core-server.html, https://github.com/inferno-framework/us-core-test-kit
 */

export type Kind = 'token' | 'reference' | 'date' | 'string'

/** `shall`, `should`: parameters that are sent together. `any`: parameters that SHALL take several values, with all values of them. */
export type Searches = {
  readonly parameters: Readonly<Record<string, readonly [Kind, ...paths: readonly string[]]>>
  readonly shall: readonly (readonly string[])[]
  readonly should: readonly (readonly string[])[]
  readonly any?: Readonly<Record<string, string>>
}

/** `a+b a`: two searches, one by two parameters. */
const combinations = (text: string): readonly (readonly string[])[] => text.split(' ').map((names) => names.split('+'))
const NOTHING: readonly (readonly string[])[] = []

const REPORTED = 'registered,partial,preliminary,final,amended,corrected,appended,cancelled,entered-in-error,unknown'
const REQUESTED = 'draft,active,on-hold,revoked,completed,entered-in-error,unknown'
const id = ['token', 'id'] as const
const patient = ['reference', 'patient'] as const
const subject = ['reference', 'subject'] as const
const status = ['token', 'status'] as const
const code = ['token', 'code'] as const
const category = ['token', 'category'] as const

export const SEARCHES: Readonly<Record<string, Searches>> = {
  AllergyIntolerance: {
    parameters: { patient, 'clinical-status': ['token', 'clinicalStatus'] },
    shall: combinations('patient'),
    should: combinations('patient+clinical-status'),
  },
  CarePlan: {
    parameters: { patient: subject, category, status, date: ['date', 'period'] },
    shall: combinations('patient+category'),
    should: combinations('patient+category+status patient+category+status+date patient+category+date'),
    any: { status: REQUESTED },
  },
  CareTeam: {
    parameters: { patient: subject, status, role: ['token', 'participant.role'] },
    shall: combinations('patient+status'),
    should: combinations('role patient+role'),
  },
  Condition: {
    parameters: {
      ...{ patient: subject, category, code, encounter: ['reference', 'encounter'], 'clinical-status': ['token', 'clinicalStatus'] },
      ...{ 'onset-date': ['date', 'onsetDateTime', 'onsetPeriod'], 'abatement-date': ['date', 'abatementDateTime', 'abatementPeriod'] },
      ...{ 'recorded-date': ['date', 'recordedDate'], 'asserted-date': ['date', 'extension(condition-assertedDate).valueDateTime'] },
    },
    shall: combinations('patient patient+category'),
    should: combinations(
      'patient+recorded-date patient+asserted-date patient+category+clinical-status patient+onset-date patient+abatement-date patient+clinical-status patient+category+encounter patient+code',
    ),
  },
  Coverage: { parameters: { patient: ['reference', 'beneficiary'] }, shall: combinations('patient'), should: NOTHING },
  Device: {
    parameters: { patient, type: ['token', 'type'], status },
    shall: combinations('patient'),
    should: combinations('patient+type patient+status'),
    any: { status: 'active,inactive,entered-in-error,unknown' },
  },
  DiagnosticReport: {
    parameters: { patient: subject, status, category, code, date: ['date', 'effectiveDateTime', 'effectivePeriod'] },
    shall: combinations('patient patient+category patient+category+date patient+code'),
    should: combinations('patient+code+date patient+status'),
    any: { status: REPORTED },
  },
  DocumentReference: {
    parameters: {
      ...{ _id: id, patient: subject, status, category },
      ...{ type: ['token', 'type'], date: ['date', 'date'], period: ['date', 'context.period'] },
    },
    shall: combinations('_id patient patient+type patient+category patient+category+date'),
    should: combinations('patient+status patient+type+period'),
    any: { status: 'current,superseded,entered-in-error' },
  },
  Encounter: {
    parameters: {
      ...{ _id: id, patient: subject, status, class: ['token', 'class'], date: ['date', 'period'], identifier: ['token', 'identifier'] },
      ...{ location: ['reference', 'location.location'], type: ['token', 'type'] },
      'discharge-disposition': ['token', 'hospitalization.dischargeDisposition'],
    },
    shall: combinations('_id patient date+patient'),
    should: combinations('identifier patient+type class+patient patient+status patient+location patient+discharge-disposition'),
  },
  Goal: {
    parameters: {
      ...{ patient: subject, 'lifecycle-status': ['token', 'lifecycleStatus'], description: ['token', 'description'] },
      'target-date': ['date', 'target.dueDate'],
    },
    shall: combinations('patient'),
    should: combinations('patient+target-date patient+description patient+lifecycle-status'),
  },
  Immunization: {
    parameters: { patient, status, date: ['date', 'occurrenceDateTime'] },
    shall: combinations('patient'),
    should: combinations('patient+date patient+status'),
  },
  Location: {
    parameters: {
      ...{ name: ['string', 'name', 'alias'], address: ['string', 'address'], 'address-city': ['string', 'address.city'] },
      ...{ 'address-state': ['string', 'address.state'], 'address-postalcode': ['string', 'address.postalCode'] },
    },
    shall: combinations('name address'),
    should: combinations('address-city address-state address-postalcode'),
  },
  MedicationDispense: {
    parameters: { patient: subject, status, type: ['token', 'type'] },
    shall: combinations('patient'),
    should: combinations('patient+status patient+status+type'),
    any: { status: 'preparation,in-progress,cancelled,on-hold,completed,entered-in-error,stopped,declined,unknown' },
  },
  MedicationRequest: {
    parameters: {
      ...{ patient: subject, status, intent: ['token', 'intent'], encounter: ['reference', 'encounter'] },
      authoredon: ['date', 'authoredOn'],
    },
    shall: combinations('patient+intent patient+intent+status'),
    should: combinations('patient+intent+encounter patient+intent+authoredon'),
    any: {
      status: 'active,on-hold,cancelled,completed,entered-in-error,stopped,draft,unknown',
      intent: 'proposal,plan,order,original-order,reflex-order,filler-order,instance-order,option',
    },
  },
  Observation: {
    parameters: { patient: subject, status, category, code, date: ['date', 'effectiveDateTime', 'effectivePeriod'] },
    shall: combinations('patient+category patient+code patient+category+date'),
    should: combinations('patient+code+date patient+category+status'),
    any: { status: 'registered,preliminary,final,amended,corrected,cancelled,entered-in-error,unknown' },
  },
  Organization: {
    parameters: { name: ['string', 'name', 'alias'], address: ['string', 'address'] },
    shall: combinations('name address'),
    should: NOTHING,
  },
  Patient: {
    parameters: {
      ...{ _id: id, birthdate: ['date', 'birthDate'], 'death-date': ['date', 'deceasedDateTime'], family: ['string', 'name.family'] },
      ...{ gender: ['token', 'gender'], given: ['string', 'name.given'], identifier: ['token', 'identifier'], name: ['string', 'name'] },
    },
    shall: combinations('_id identifier name birthdate+name gender+name'),
    should: combinations('birthdate+family family+gender death-date+family'),
  },
  Practitioner: {
    parameters: { _id: id, name: ['string', 'name'], identifier: ['token', 'identifier'] },
    shall: combinations('name identifier'),
    should: combinations('_id'),
  },
  PractitionerRole: {
    parameters: { specialty: ['token', 'specialty'], practitioner: ['reference', 'practitioner'] },
    shall: combinations('specialty practitioner'),
    should: NOTHING,
  },
  Procedure: {
    parameters: { patient: subject, status, code, date: ['date', 'performedDateTime', 'performedPeriod'] },
    shall: combinations('patient patient+date'),
    should: combinations('patient+code+date patient+status'),
    any: { status: 'preparation,in-progress,not-done,on-hold,stopped,completed,entered-in-error,unknown' },
  },
  QuestionnaireResponse: {
    parameters: {
      ...{ _id: id, patient: subject, status, authored: ['date', 'authored'] },
      questionnaire: ['reference', 'questionnaire'],
    },
    shall: combinations('_id patient'),
    should: combinations('patient+questionnaire patient+authored patient+status'),
    any: { status: 'in-progress,completed,amended,entered-in-error,stopped' },
  },
  RelatedPerson: {
    parameters: { _id: id, patient, name: ['string', 'name'] },
    shall: combinations('_id'),
    should: combinations('patient name patient+name'),
  },
  ServiceRequest: {
    parameters: { _id: id, patient: subject, status, category, code, authored: ['date', 'authoredOn'] },
    shall: combinations('_id patient patient+category patient+category+authored patient+code'),
    should: combinations('patient+status patient+code+authored'),
    any: { status: REQUESTED },
  },
  Specimen: { parameters: { _id: id, patient: subject }, shall: combinations('_id'), should: combinations('patient') },
}

/** Types a Provenance of which SHALL come along with `_revinclude=Provenance:target`. */
export const WITHOUT_PROVENANCE: readonly string[] = ['Location', 'Organization', 'Practitioner', 'PractitionerRole', 'Specimen']

/** What comes along with a search. */
export const INCLUDES: readonly string[] = [
  ...['PractitionerRole', 'Practitioner', 'Patient', 'RelatedPerson'].map((to) => `CareTeam:participant:${to}`),
  'MedicationRequest:medication',
  'MedicationDispense:medication',
  'PractitionerRole:endpoint',
  'PractitionerRole:practitioner',
]
