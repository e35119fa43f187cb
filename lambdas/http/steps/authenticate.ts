/** Identifies the caller and rejects requests without valid credentials, before any content of the request is parsed. */
import { accessOfToken, readAccessOf } from '../../access/token-access.ts'
import { TenantNotSelected } from '../../access/verification/tenant-claim.ts'
import { missingTokenError } from '../../access/verification/token-errors.ts'
import { ANONYMOUS_TOKEN, type VerifiedToken } from '../../access/verification/verified-token.ts'
import { type Column, columnOf, isEndpointCode, type PipelineCode, requiresToken } from '../../catalogue/catalogue.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Awaitable, Caller, RequestContent } from '../../interactions/interaction.ts'
import type { ReadTenant } from '../../interactions/resources/union-read.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { Exchange, HttpRequest, Step } from '../exchange.ts'
import { matchRoute } from '../route-table.ts'
import { LOOPBACK_HOST } from './check-host.ts'
import { MAX_FORM_BYTES } from './limit-body.ts'

/**
 * Returns the token of the caller, or undefined for a request without credentials. Throws FhirError 400, 401 or 403 for invalid
 * credentials.
 */
export type Authenticator = (http: HttpRequest) => Awaitable<VerifiedToken | undefined>

/** Request that may lack credentials. `named`: variables of its path. */
export type RoutedRequest = {
  readonly http: HttpRequest
  readonly interaction: PipelineCode
  readonly named: Pick<RequestContent, 'type' | 'compartment' | 'id'>
}

/**
 * Access of requests without credentials, by the setting publicRead. `tokenOf`: returns the token of the request, or undefined if the
 * request requires credentials. `prepare`: runs before each request with that token. Throws FhirError 429 if its client sends too many.
 */
export type PublicRead = {
  readonly tokenOf: (request: RoutedRequest) => Awaitable<VerifiedToken | undefined>
  readonly prepare?: (http: HttpRequest) => Awaitable<void>
}

/**
 * Parts that identify a caller. `publicRead`: access of requests without credentials. Absent: such requests have no access. `readTenant`:
 * selects the tenant of a read if the token opens several. Absent: the request must select the tenant.
 */
export type AuthenticationParts = {
  readonly authenticator: Authenticator
  readonly publicRead?: PublicRead | undefined
  readonly readTenant?: ReadTenant | undefined
}

export const authenticate = (parts: AuthenticationParts): Step => ({
  async before({ event: exchange }) {
    const { http, interaction, site, fhir: named } = exchange
    // guard: unread-body-is-refused
    if (http.unread !== undefined) throw advised(http.unread, site.baseUrl)
    const token = await admitted(parts, { http, interaction, named }, exchange).catch((error: Error) => {
      throw advised(error, site.baseUrl)
    })
    exchange.token = token
    exchange.caller = callerOf(token ?? ANONYMOUS_TOKEN, exchange)
    if (token?.isPublic) await parts.publicRead?.prepare?.(http)
  },
})

/** Adds to a 401 where apps get a token. If the server runs on this machine, also names the command that prints one. */
function advised(error: Error, baseUrl: string): Error {
  if (!(error instanceof FhirError) || error.status !== 401) return error
  const here = LOOPBACK_HOST.test(new URL(baseUrl).host) ? 'On this machine npm run -s fhir -- token prints an access token. ' : ''
  const text = `${here}${baseUrl}/.well-known/smart-configuration names where apps get one`
  return new FhirError(401, [...error.issues, { severity: 'information', code: 'informational', text }], error.headers)
}

type IdentifiedExchange = Pick<Exchange, 'site' | 'token' | 'ignoresPreconditions'>

/** `exchange`: absent before the body is read. Then a read needs no tenant yet. */
async function admitted(
  parts: AuthenticationParts,
  request: RoutedRequest,
  exchange?: IdentifiedExchange,
): Promise<VerifiedToken | undefined> {
  const { interaction: code } = request
  const token = (await verified(parts, request, exchange)) ?? (await parts.publicRead?.tokenOf(request))
  // guard: every-route-needs-token
  if (token === undefined && requiresToken(code)) throw missingTokenError()
  // guard: exchanged-token-uses-no-export
  if (token?.seenAs !== undefined && code.startsWith('export')) throw fhirError(403, 'forbidden', NO_EXPORT)
  // guard: exchanged-token-matches-no-member
  if (token?.seenAs !== undefined && columnOf(code) === 'MATCH') throw fhirError(403, 'forbidden', NO_MATCH)
  return token
}

async function verified(
  parts: AuthenticationParts,
  request: RoutedRequest,
  exchange: IdentifiedExchange | undefined,
): Promise<VerifiedToken | undefined> {
  const { http, interaction: code } = request
  try {
    return await parts.authenticator(http)
  } catch (error) {
    if (!(error instanceof TenantNotSelected)) throw error
    if (code === 'read' && parts.readTenant !== undefined) return readingToken(parts, request, error, exchange)
    if (READS.has(columnOf(code))) throw error
    throw fhirError(422, 'business-rule', ONE_TENANT)
  }
}

/** Returns the token in the tenant that answers the read. Throws `error` for a partner, which must select the tenant. */
async function readingToken(
  { authenticator, readTenant }: AuthenticationParts,
  { http, named }: RoutedRequest,
  error: TenantNotSelected,
  exchange: IdentifiedExchange | undefined,
): Promise<VerifiedToken | undefined> {
  const tokenIn = async (tenant: string): Promise<VerifiedToken> => {
    const token = await authenticator({ ...http, headers: { ...http.headers, 'x-tenant-id': tenant } })
    // guard: partner-selects-its-tenant
    if (token === undefined || token.partner !== undefined) throw error
    // The audit record names the client, also if no tenant answers.
    if (exchange !== undefined) exchange.token = token
    return token
  }
  const { tenants } = error
  if (exchange === undefined) return tokenIn(tenants === '*' ? DEFAULT_TENANT : tenants[0]!)
  const { tenant, hasMoved } = await readTenant!(named, tenants, async (each) => {
    const token = await tokenIn(each)
    const reading = exchange.site.reading(each)
    return { reading, access: readAccessOf(token, reading, named) }
  })
  exchange.ignoresPreconditions = hasMoved
  return tokenIn(tenant)
}

/**
 * Columns of reads and searches. For them the error about a token for several tenants is sent as it is. Other interactions, which concern
 * one tenant, get FhirError 422 with ONE_TENANT.
 */
const READS: ReadonlySet<Column> = new Set<Column>(['READ', 'SEARCH', 'METADATA'])
const ONE_TENANT =
  'The token opens several tenants, and a write or an operation concerns one: choose it with X-Tenant-Id. Nothing was changed'

const NO_EXPORT = 'An exchanged token cannot use exports'
/** Error of a match by an exchanged token. Such a token only reads, and a match stores a Group and Consents. */
const NO_MATCH = 'An exchanged token may only read and search. It cannot match members'

/**
 * Result of the check before the body is read. `unread`: error that rejects the request, whatever its body is. `limit`: maximum bytes of
 * the body, if below the general limit.
 */
export type AdmissionResult = { readonly unread?: Error; readonly limit?: number }

export type Admit = (http: HttpRequest) => Promise<AdmissionResult>

/**
 * Returns the check of requests before their body is read, so that rejected ones use no memory. The step `authenticate` repeats it, from
 * cached results.
 */
export const admission =
  (parts: AuthenticationParts): Admit =>
  async (http) => {
    try {
      const { interaction, named } = matchRoute(http.method, http.path)
      // guard: form-size-limit
      if (isEndpointCode(interaction)) return { limit: MAX_FORM_BYTES }
      const token = requiresToken(interaction) ? await admitted(parts, { http, interaction, named }) : undefined
      return token?.isPublic ? { limit: MAX_FORM_BYTES } : {}
    } catch (error) {
      return { unread: error as Error }
    }
  }

const callerOf = (token: VerifiedToken, { interaction, fhir, site }: Pick<Exchange, 'interaction' | 'fhir' | 'site'>): Caller => ({
  tenant: token.tenant,
  client: token.client,
  // guard: own-resource-by-read-only
  access: interaction === 'read' ? readAccessOf(token, site.reading(token.tenant), fhir) : accessOfToken(token, site.reading(token.tenant)),
  user: token.actsForItself || token.subject === token.client ? undefined : token.subject,
  clientAuth: token.clientAuth,
  ...(token.isPublic ? { isPublic: true } : {}),
})
