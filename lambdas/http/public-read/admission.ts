/**
 * Decides which requests without credentials use the access that the setting publicRead gives. The bundles of functions load this file with
 * the first such request, because most deployments have no public read.
 */
import { type PublicReadSettings, publicAccessOf } from '../../access/public-access.ts'
import type { VerifiedToken } from '../../access/verification/verified-token.ts'
import { publicLetterOf } from '../../catalogue/catalogue.ts'
import type { RoutedRequest } from '../steps/authenticate.ts'

/** Headers that only callers with a token may send, because they make a search wait for the index. */
const HEADERS_FOR_TOKENS = ['x-consistency', 'x-index-token']

/**
 * Returns a function that returns the token of public read for a request without credentials. It returns undefined if the request requires
 * credentials: because of its interaction, its type, another tenant, or a preference of administrators.
 */
export function publicAdmission(settings: PublicReadSettings): (request: RoutedRequest) => VerifiedToken | undefined {
  const { token, opens } = publicAccessOf(settings)
  return ({ http: { headers }, interaction, named: { type, compartment } }) => {
    const letter = publicLetterOf(interaction)
    // guard: public-read-of-configured-types
    if (letter === undefined || type === undefined || compartment !== undefined || !opens(type, letter)) return undefined
    const { 'x-tenant-id': tenant = token.tenant, prefer = '' } = headers
    if (tenant !== token.tenant || /\bexplain\b/i.test(prefer)) return undefined
    return HEADERS_FOR_TOKENS.some((name) => headers[name] !== undefined) ? undefined : token
  }
}
