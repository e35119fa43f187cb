/** Types of exports for partners. */
import { type Access, type AccessClause, WHOLE_ACCESS } from '../../access/access.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../../access/partner-types.ts'
import type { PartnerExport } from '../partner-export.ts'
import type { TypeSettings } from './exported-types.ts'

/** Returns the types of a Group export: those of the setting, or those of all exports for partners. */
export const typeSettingsOf = <Settings extends TypeSettings>(
  settings: Settings,
  { partner }: { readonly partner?: PartnerExport },
): Settings => (partner === undefined ? settings : { ...settings, groupTypes: PARTNER_TYPES, isForPartner: true })

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
