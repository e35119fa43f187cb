/**
 * Types of resources that a partner may receive: types with data of a member, and types to which these refer. Claim and other types with
 * payments are not included.
 */

/** Types with data of a member: patient types of US Core, and types that a payer adds. */
export const PARTNER_TYPES: readonly string[] = [
  ...['Patient', 'AllergyIntolerance', 'CarePlan', 'CareTeam', 'Condition', 'Coverage', 'Device', 'DiagnosticReport', 'DocumentReference'],
  ...['Encounter', 'ExplanationOfBenefit', 'Goal', 'Immunization', 'MedicationDispense', 'MedicationRequest', 'Observation', 'Procedure'],
  ...['Provenance', 'QuestionnaireResponse', 'RelatedPerson', 'ServiceRequest', 'Specimen'],
]

/** Types that the types with data of a member may refer to. */
export const REFERENCED_TYPES: readonly string[] = ['Practitioner', 'PractitionerRole', 'Organization', 'Location', 'Medication']
