/** Organization that requests a match. */
import { MATCH_OPERATIONS, type MatchOperation } from '../../access/operation-scopes.ts'
import { isWholeTenant } from '../../access/rules.ts'
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import { forbidden, outsideOf } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'

/** `identifiers`: absent for a client of this payer; the organization in the Consent applies instead. */
export type Requester = { readonly identifiers?: readonly IdentifierText[] }

/**
 * Throws FhirError 403 unless the client is a partner of the operation's kind, or may read all data. A partner also needs a scope of the
 * operation, or `system/*.rs`.
 */
export function requesterOf({ access }: FhirRequest, operation: MatchOperation): Requester {
  const { kind, scopes } = MATCH_OPERATIONS[operation]
  const { partner: asked } = access
  // guard: match-by-own-kind
  if (asked?.partner.kind === kind) {
    const isWhole = (['r', 's'] as const).every((letter) => isWholeTenant({ ...access, clauses: asked.exported }, letter))
    // guard: match-by-scope
    if (!isWhole && !asked.operations.some((scope) => scopes.includes(scope)))
      throw outsideOf(scopes[0], `$${operation} needs the scope ${scopes[0]} or system/*.rs. Nothing was matched`)
    return asked.partner
  }
  // guard: match-by-whole-access
  if (asked === undefined && isWholeTenant(access, 'r') && isWholeTenant(access, 's')) return {}
  throw forbidden(
    `This operation requires a ${kind} that is registered as a partner (\`fhir partner add\`), or a client that may read all data. Nothing was matched`,
  )
}
