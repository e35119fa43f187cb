/**
 * Types of resources that a partner may receive: types with data of a member, and types to which these refer. Claim and other types with
 * payments are not included.
 */
import type { HiddenPaths, ShownParameters } from '../search/search-context.ts'

/** Types with data of a member: patient types of US Core, and types that a payer adds. */
export const PARTNER_TYPES: readonly string[] = [
  ...['Patient', 'AllergyIntolerance', 'CarePlan', 'CareTeam', 'Condition', 'Coverage', 'Device', 'DiagnosticReport', 'DocumentReference'],
  ...['Encounter', 'ExplanationOfBenefit', 'Goal', 'Immunization', 'MedicationDispense', 'MedicationRequest', 'Observation', 'Procedure'],
  ...['Provenance', 'QuestionnaireResponse', 'RelatedPerson', 'ServiceRequest', 'Specimen'],
]

/** Elements by type whose references a partner receives only if it may read their resources. */
export const PARTNER_HIDDEN_PATHS: HiddenPaths = { Provenance: ['target', 'entity'] }

/**
 * Elements of a Group that list its members or could reveal them. A partner reads them only in Groups of its matches
 * (partners/groups/listed-members.ts).
 */
export const LISTED_MEMBERS: readonly string[] = ['member', 'quantity', 'text']

/**
 * Parameters by type that a partner may use although they read hidden elements. A partner receives no Provenance that names another
 * Patient than the member, so `patient` finds nothing by a hidden reference. The values of a Group's characteristics are no amounts of money.
 */
export const PARTNER_SHOWN_PARAMETERS: ShownParameters = { Provenance: ['patient'], Group: ['characteristic-value'] }

/** Types that the types with data of a member may refer to. */
export const REFERENCED_TYPES: readonly string[] = ['Practitioner', 'PractitionerRole', 'Organization', 'Location', 'Medication']
