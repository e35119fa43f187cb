/** Types of exports for partners. */
import { type Access, type AccessClause, WHOLE_ACCESS } from '../../access/access.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../../access/partner-types.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { AdditionalResources } from '../additional-resources.ts'
import type { ExportRequest } from '../export-request.ts'
import { exportTypeOf, type PartnerExport } from '../partner-export.ts'
import type { TypeSettings } from './exported-types.ts'

/** Types that an export names and finds by its patients, and types that it adds because these refer to them. */
type PartnerTypes = { readonly types: readonly string[]; readonly referenced: readonly string[] }

/** Types that an export of attributions must have. */
const ATTRIBUTION: readonly string[] = ['Group', 'Patient', 'Coverage']

/**
 * Types by kind of export. A record has the types of patients in US Core, and what a payer adds. Claims, ClaimResponses and
 * other resources with payments are not among them.
 */
const TYPES: Readonly<Record<'record' | 'attribution', PartnerTypes>> = {
  record: { types: PARTNER_TYPES, referenced: REFERENCED_TYPES },
  attribution: {
    types: [...ATTRIBUTION, 'RelatedPerson'],
    referenced: ['Practitioner', 'PractitionerRole', 'Organization', 'Location'],
  },
}

const typesOf = (partner: PartnerExport): PartnerTypes => TYPES[exportTypeOf(partner).types]

/** Returns the types of a Group export: those of the settings, or those of the export for a partner. */
export function typeSettingsOf<Settings extends TypeSettings>(
  settings: Settings,
  { partner }: { readonly partner?: PartnerExport },
): Settings {
  if (partner === undefined) return settings
  return { ...settings, groupTypes: typesOf(partner).types, additionalResources: rulesOf(typesOf(partner)), isForPartner: true }
}

/** Returns rules that follow each reference to these types. */
const rulesOf = ({ types, referenced }: PartnerTypes): AdditionalResources =>
  Object.fromEntries(
    [...types, ...referenced].map((type) => [
      type,
      [{ allowedForGroupExport: true, allowedForPatientExport: false, path: '$..reference', resourceTypes: referenced }],
    ]),
  )

/**
 * Throws FhirError 400 if an export of changes has no `_since`, or if `_type` of an export of attributions lacks a type that it must have.
 */
export function checkPartnerRequest(partner: PartnerExport | undefined, { since, types }: Pick<ExportRequest, 'since' | 'types'>): void {
  if (partner === undefined) return
  const { isDelta, types: kind } = exportTypeOf(partner)
  if (isDelta && since === undefined) throw fhirError(400, 'required', `_since is missing: the exportType ${partner.type} needs it`)
  const missing = kind === 'attribution' && types !== undefined ? ATTRIBUTION.filter((type) => !types.includes(type)) : []
  if (missing.length > 0) throw fhirError(400, 'value', `_type lacks ${missing.join(', ')}: the exportType ${partner.type} needs it`)
}

/**
 * Returns the access of an export for a partner. It covers the types of such exports only, so that neither a rule for additional resources nor
 * a chain of `_typeFilter` leads to another type. `clauses`: what the caller grants. `group`: id of the exported Group.
 */
export function partnerExportAccess(clauses: readonly AccessClause[], partner: PartnerExport, group: string): Access {
  const { types, referenced } = typesOf(partner)
  const narrow = (clause: AccessClause, type: string): AccessClause => {
    // guard: partner-exports-no-other-group
    if (type === 'Group') return { ...clause, type, id: group }
    return { ...clause, type }
  }
  const narrowed = clauses.flatMap((clause) =>
    [...types, ...referenced].filter((type) => [type, '*'].includes(clause.type)).map((type) => narrow(clause, type)),
  )
  return { ...WHOLE_ACCESS, isAdministrator: false, clauses: narrowed }
}
