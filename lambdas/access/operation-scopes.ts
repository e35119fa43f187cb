/** Scopes of matches. Each permits one operation to a partner of its kind, and opens no resources. https://hl7.org/fhir/us/davinci-pdex/ */
import type { PartnerKind } from '../ports/rows/clients.ts'

/** Start of the canonical URLs of the Da Vinci guides. */
export const DAVINCI_URL = 'http://hl7.org/fhir/us/davinci'

const HREX = `${DAVINCI_URL}-hrex/OperationDefinition`
const PDEX = `${DAVINCI_URL}-pdex/OperationDefinition`

export type MatchOperation = 'member-match' | 'bulk-member-match' | 'provider-member-match'

/** `scopes`: the canonical URL of the operation, then its name in drafts and in the text of the guide. */
type MatchRow = { readonly kind: PartnerKind; readonly scopes: readonly [string, ...string[]] }

/** Kind of partner that each operation is for, and the scopes that permit it. */
export const MATCH_OPERATIONS: Readonly<Record<MatchOperation, MatchRow>> = {
  'member-match': { kind: 'payer', scopes: [`${HREX}/member-match`] },
  'bulk-member-match': { kind: 'payer', scopes: [`${PDEX}/BulkMemberMatch`, `${PDEX}/bulk-member-match`] },
  'provider-member-match': { kind: 'provider', scopes: [`${PDEX}/ProviderMemberMatch`, `${PDEX}/provider-member-match`] },
}

/** Returns all scopes of matches, or the scopes for partners of a kind. */
export const operationScopesOf = (kind?: PartnerKind): readonly string[] =>
  Object.values(MATCH_OPERATIONS).flatMap((row) => (kind === undefined || row.kind === kind ? row.scopes : []))
