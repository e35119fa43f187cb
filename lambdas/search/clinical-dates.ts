/**
 * Clinical dates of the types in a patient's record. The `start` and `end` of Patient/$everything select by them.
 * https://hl7.org/fhir/R4/patient-operation-everything.html
 */
import { ALWAYS_TRUE, not, or, type Predicate } from '../ports/search/plan.ts'

/** Search parameter of the clinical date, by type. Types without an entry have no clinical date, so no time window excludes them. */
export const CLINICAL_DATES: Readonly<Record<string, string>> = {
  Account: 'period',
  AdverseEvent: 'date',
  AllergyIntolerance: 'date',
  Appointment: 'date',
  Basic: 'created',
  CarePlan: 'date',
  CareTeam: 'date',
  ChargeItem: 'occurrence',
  Claim: 'created',
  ClaimResponse: 'created',
  ClinicalImpression: 'date',
  Communication: 'sent',
  CommunicationRequest: 'occurrence',
  Composition: 'date',
  Condition: 'onset-date',
  Consent: 'date',
  CoverageEligibilityRequest: 'created',
  CoverageEligibilityResponse: 'created',
  DetectedIssue: 'identified',
  DeviceRequest: 'event-date',
  DiagnosticReport: 'date',
  DocumentManifest: 'created',
  DocumentReference: 'date',
  Encounter: 'date',
  EpisodeOfCare: 'date',
  ExplanationOfBenefit: 'created',
  FamilyMemberHistory: 'date',
  Flag: 'date',
  Goal: 'start-date',
  ImagingStudy: 'started',
  Immunization: 'date',
  ImmunizationEvaluation: 'date',
  ImmunizationRecommendation: 'date',
  Invoice: 'date',
  List: 'date',
  MeasureReport: 'date',
  Media: 'created',
  MedicationAdministration: 'effective-time',
  MedicationDispense: 'whenhandedover',
  MedicationRequest: 'authoredon',
  MedicationStatement: 'effective',
  NutritionOrder: 'datetime',
  Observation: 'date',
  Procedure: 'date',
  QuestionnaireResponse: 'authored',
  RequestGroup: 'authored',
  ResearchSubject: 'date',
  RiskAssessment: 'date',
  Schedule: 'date',
  ServiceRequest: 'occurrence',
  Specimen: 'collected',
  SupplyRequest: 'date',
  VisionPrescription: 'datewritten',
}

/** Time window in milliseconds since 1970: includes `low`, excludes `high`. A missing bound is open. */
export type TimeWindow = { readonly low?: number; readonly high?: number }

/**
 * Returns the predicate for resources whose clinical date overlaps the window, and for those without an indexed date. A resource has at
 * most one interval, so the predicate only excludes intervals that lie outside.
 */
export function clinicalDatePredicate(type: string, { low, high }: TimeWindow): Predicate {
  const field = CLINICAL_DATES[type]
  if (field === undefined || (low === undefined && high === undefined)) return ALWAYS_TRUE
  const within = (low: number, high: number): Predicate => ({ kind: 'span', field, relation: 'within', low, high })
  return not(
    or(
      ...(low === undefined ? [] : [within(Number.NEGATIVE_INFINITY, low)]),
      ...(high === undefined ? [] : [within(high, Number.POSITIVE_INFINITY)]),
    ),
  )
}
