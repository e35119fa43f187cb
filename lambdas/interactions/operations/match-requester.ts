/** Organization that requests a match. */
import { isWholeTenant } from '../../access/rules.ts'
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import type { PartnerKind } from '../../ports/rows/clients.ts'
import { forbidden } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'

/** `identifiers`: absent for a client of this payer; the organization in the Consent counts instead. */
export type Requester = { readonly identifiers?: readonly IdentifierText[] }

/** Throws FhirError 403 for a client that is neither a partner of this kind nor one that may read all data. */
export function requesterOf({ access }: FhirRequest, kind: PartnerKind): Requester {
  // guard: match-by-own-kind
  if (access.partner?.partner.kind === kind) return access.partner.partner
  // guard: match-by-whole-access
  if (access.partner === undefined && isWholeTenant(access, 'r') && isWholeTenant(access, 's')) return {}
  throw forbidden(
    `Members are matched by a ${kind} that is registered as a partner (\`fhir partner add\`), or by a client that may read all data. Nothing was matched`,
  )
}
