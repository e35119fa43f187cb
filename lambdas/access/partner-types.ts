/**
 * Types of resources that a partner may receive: those with data of a member, and those to which they refer. A Claim and other payments are not
 * among them.
 */

/** Types with data of a member: those of patients in US Core, and what a payer adds. */
export const PARTNER_TYPES: readonly string[] = [
  ...['Patient', 'AllergyIntolerance', 'CarePlan', 'CareTeam', 'Condition', 'Coverage', 'Device', 'DiagnosticReport', 'DocumentReference'],
  ...['Encounter', 'ExplanationOfBenefit', 'Goal', 'Immunization', 'MedicationDispense', 'MedicationRequest', 'Observation', 'Procedure'],
  ...['Provenance', 'QuestionnaireResponse', 'RelatedPerson', 'ServiceRequest', 'Specimen'],
]

/** Types that the types with data of a member may refer to. */
export const REFERENCED_TYPES: readonly string[] = ['Practitioner', 'PractitionerRole', 'Organization', 'Location', 'Medication']
