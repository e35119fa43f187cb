/** Types of exports for partners. */
import { type Access, type AccessClause, WHOLE_ACCESS } from '../../access/access.ts'
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

/** Types that the types of an export may refer to. An export includes them by the rules for additional resources. */
const REFERENCED_TYPES: readonly string[] = ['Practitioner', 'PractitionerRole', 'Organization', 'Location', 'Medication']

/**
 * Returns the access of an export for a partner. It covers the types of such exports only, so that neither a rule for additional resources nor
 * a chain of `_typeFilter` leads to another type. `clauses`: what the caller grants.
 */
export function partnerExportAccess(clauses: readonly AccessClause[]): Access {
  const types = [...PARTNER_TYPES, ...REFERENCED_TYPES]
  const narrowed = clauses.flatMap((clause) =>
    types.filter((type) => [type, '*'].includes(clause.type)).map((type) => ({ ...clause, type })),
  )
  return { ...WHOLE_ACCESS, isAdministrator: false, clauses: narrowed }
}
