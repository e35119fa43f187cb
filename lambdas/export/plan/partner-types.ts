/** Types of exports for partners. */
import { type Access, type AccessClause, WHOLE_ACCESS } from '../../access/access.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../../access/partner-types.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { AdditionalResources } from '../additional-resources.ts'
import type { ExportRequest } from '../export-request.ts'
import { exportTypeOf, type PartnerExport } from '../partner-export.ts'
import type { TypeSettings } from './exported-types.ts'

/**
 * `types`: types that the export finds by its patients. `referenced`: types that it adds if an element of an exported resource refers to
 * them. `documents`: rules that add further resources.
 */
type PartnerTypes = { readonly types: readonly string[]; readonly referenced: readonly string[]; readonly documents: AdditionalResources }

/** Types that the request of an export of attributions must include. */
const ATTRIBUTION: readonly string[] = ['Group', 'Patient', 'Coverage']

const FOR_GROUPS = { allowedForGroupExport: true, allowedForPatientExport: false }

/** Types of prior authorizations, of their documents, and of the content of these. */
export const [AUTHORIZATION, DOCUMENT, CONTENT] = ['ExplanationOfBenefit', 'DocumentReference', 'Binary'] as const

/** Elements of a prior authorization that name its documents. */
const SUPPORTING_DOCUMENTS = "$.supportingInfo[?$.use == 'preauthorization' || $.use == 'predetermination'].valueReference"

/**
 * Rules that lead from a prior authorization to its documents, and from these to their content. A partner receives no other Binary. The
 * second rule applies to authorizations outside the period of the export.
 */
const AUTHORIZATION_DOCUMENTS: AdditionalResources = {
  [AUTHORIZATION]: [
    { ...FOR_GROUPS, path: SUPPORTING_DOCUMENTS, resourceTypes: [DOCUMENT] },
    { ...FOR_GROUPS, path: SUPPORTING_DOCUMENTS, resourceTypes: [DOCUMENT], onlyIfNamed: true },
  ],
  [DOCUMENT]: [{ ...FOR_GROUPS, path: '$.content[*].attachment.url', resourceTypes: [CONTENT], onlyIfNamed: true }],
}

/**
 * Types by kind of export. A record has the patient types of US Core, and types that a payer adds. Claim, ClaimResponse and other types
 * with payments are not included.
 */
const TYPES: Readonly<Record<'record' | 'attribution', PartnerTypes>> = {
  record: { types: PARTNER_TYPES, referenced: REFERENCED_TYPES, documents: AUTHORIZATION_DOCUMENTS },
  attribution: {
    types: [...ATTRIBUTION, 'RelatedPerson'],
    referenced: ['Practitioner', 'PractitionerRole', 'Organization', 'Location'],
    documents: {},
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

/** Whether the export contains documents of authorizations with their content. */
export const exportsDocuments = ({ partner, asked }: { readonly partner?: PartnerExport; readonly asked: Pick<ExportRequest, 'types'> }) =>
  partner !== undefined &&
  typesOf(partner).documents[AUTHORIZATION] !== undefined &&
  [AUTHORIZATION, DOCUMENT, CONTENT].every((type) => asked.types?.includes(type) ?? true)

/** Returns rules that follow each reference to the referenced types, and the rules for documents. */
const rulesOf = ({ types, referenced, documents }: PartnerTypes): AdditionalResources =>
  Object.fromEntries(
    [...types, ...referenced].map((type) => [
      type,
      [{ ...FOR_GROUPS, path: '$..reference', resourceTypes: referenced }, ...(documents[type] ?? [])],
    ]),
  )

/**
 * Throws FhirError 400 if an export of changes has no `_since`, or if `_type` of an export of attributions lacks a type that it must have.
 */
export function checkPartnerRequest(partner: PartnerExport | undefined, { since, types }: Pick<ExportRequest, 'since' | 'types'>): void {
  if (partner === undefined) return
  const { isDelta, types: kind } = exportTypeOf(partner)
  if (isDelta && since === undefined) throw fhirError(400, 'required', `_since is missing. The exportType ${partner.type} requires it`)
  const missing = kind === 'attribution' && types !== undefined ? ATTRIBUTION.filter((type) => !types.includes(type)) : []
  if (missing.length > 0) throw fhirError(400, 'value', `_type lacks ${missing.join(', ')}. The exportType ${partner.type} requires it`)
}

/**
 * Returns the access of an export for a partner. It covers the types of such exports only, so that neither a rule for additional resources
 * nor a chain of `_typeFilter` leads to another type. Under its view, conditions of scopes read no hidden element. `clauses`: access of the
 * caller. `group`: id of the exported Group.
 */
export function partnerExportAccess(clauses: readonly AccessClause[], partner: PartnerExport, group: string): Access {
  const { types, referenced, documents } = typesOf(partner)
  const added = Object.values(documents).flatMap((rules) => rules.flatMap(({ resourceTypes }) => resourceTypes))
  const all = [...new Set([...types, ...referenced, ...added])]
  const narrow = (clause: AccessClause, type: string): AccessClause => {
    // guard: partner-exports-no-other-group
    if (type === 'Group') return { ...clause, type, id: group }
    return { ...clause, type }
  }
  const narrowed = clauses.flatMap((clause) => all.filter((type) => [type, '*'].includes(clause.type)).map((type) => narrow(clause, type)))
  return { ...WHOLE_ACCESS, isAdministrator: false, clauses: narrowed, view: partner.view }
}
