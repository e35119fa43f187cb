/**
 * Kick-off of an export for a partner: of the members in a Group, without what the law keeps from other organizations.
 * http://hl7.org/fhir/us/davinci-atr/OperationDefinition/davinci-data-export, http://hl7.org/fhir/us/davinci-pdex/
 */
import type { Access, AccessClause } from '../../access/access.ts'
import { isWholeTenant } from '../../access/rules.ts'
import { EXPORT_TYPE_PARAMETER, partnerExportOf } from '../../export/partner-export.ts'
import { partnerExportAccess } from '../../export/plan/partner-types.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { forbidden } from '../forbidden.ts'
import type { Interaction } from '../interaction.ts'
import type { BasisProfiles } from '../visible-store.ts'
import { type KickOffPorts, kickOff } from './kick-off.ts'

/** `basisProfiles`: loaded profiles of claims without amounts, which the files name. */
export type PartnerKickOffPorts = KickOffPorts & { readonly basisProfiles: BasisProfiles }

/** Returns 202 like `$export`. Throws FhirError 404 for a Group that is not the partner's own, and 403 for a client that is no partner. */
export const startPartnerExport =
  (ports: PartnerKickOffPorts): Interaction =>
  async (request) => {
    const { type, id, access } = request
    if (type !== 'Group' || id === undefined)
      throw fhirError(404, 'not-supported', 'Exports for partners are of a Group: Group/[id]/$davinci-data-export')
    const exported = exportedBy(access)
    if (exported === undefined) throw notPartner()
    const basis = [...(await ports.basisProfiles())]
    return kickOff(ports, request, 'group', (parameters) => {
      const requested = partnerExportOf(parameters, access.partner?.partner)
      const partner = basis.length === 0 ? requested : { ...requested, basis }
      const others = parameters.filter(([name]) => name !== EXPORT_TYPE_PARAMETER)
      return { partner, parameters: others, access: partnerExportAccess(exported, partner, id) }
    })
  }

/** Returns the access of an export of the caller, or undefined for a client that may not start one. */
function exportedBy(access: Access): readonly AccessClause[] | undefined {
  if (access.partner !== undefined) return access.partner.exported
  // guard: partner-export-by-whole-access
  return isWholeTenant(access, 'r') && isWholeTenant(access, 's') ? access.clauses : undefined
}

const notPartner = () =>
  forbidden(
    'Exports for partners are started by a partner, or by a client that may read all data. `fhir partner add` registers a partner. Nothing was started',
  )
