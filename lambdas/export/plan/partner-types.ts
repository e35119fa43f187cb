/** Types of exports for partners. */
import type { PartnerExport } from '../partner-export.ts'
import type { TypeSettings } from './exported-types.ts'

/**
 * Types of exports for partners: those of patients in US Core, and what a payer adds. A Claim, a ClaimResponse and what else holds payments
 * are not among them. The resources that these refer to follow the rules for additional resources.
 */
const PARTNER_TYPES: readonly string[] = [
  ...['Patient', 'AllergyIntolerance', 'CarePlan', 'CareTeam', 'Condition', 'Coverage', 'Device', 'DiagnosticReport', 'DocumentReference'],
  ...['Encounter', 'ExplanationOfBenefit', 'Goal', 'Immunization', 'MedicationDispense', 'MedicationRequest', 'Observation', 'Procedure'],
  ...['Provenance', 'QuestionnaireResponse', 'RelatedPerson', 'ServiceRequest', 'Specimen'],
]

/** Returns the types of a Group export: those of the setting, or those of all exports for partners. */
export const typeSettingsOf = <Settings extends TypeSettings>(
  settings: Settings,
  { partner }: { readonly partner?: PartnerExport },
): Settings => (partner === undefined ? settings : { ...settings, groupTypes: PARTNER_TYPES, isForPartner: true })
