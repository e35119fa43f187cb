/** Creates access tokens and token responses. https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
import { ACCESS_TYP, type AccessClaims, type ClientAuth } from '../../access/claims.ts'
import { identifierTextOf } from '../../fhir/identifier-text.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { AuthChoices, AuthPorts, AuthResponse, PermittedMember } from '../endpoint.ts'
import { jsonResponse } from '../oauth-error.ts'
import { MAX_ACCESS_TOKEN_SECONDS } from './lifetimes.ts'
import { signToken } from './signed-token.ts'

/**
 * Default lifetimes in seconds, by client authentication. Clients with an assertion can start exports, and SMART limits their tokens to
 * five minutes:
 * https://hl7.org/fhir/smart-app-launch/backend-services.html#issue-access-token
 */
const LIFE: Readonly<Record<ClientAuth, number>> = { assertion: 300, secret: MAX_ACCESS_TOKEN_SECONDS, none: MAX_ACCESS_TOKEN_SECONDS }

export type TokenPorts = Pick<AuthPorts, 'keys' | 'clock' | 'choices'>

/** Content of an access token. `tenants`: tenant names, or `*` for any. `about`: further claims. */
export type TokenGrant = {
  readonly client: Client
  readonly by: ClientAuth
  readonly baseUrl: string
  readonly subject: string
  readonly sid: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  readonly acr: '0' | '1'
  readonly about: Readonly<Record<string, unknown>>
  /** Lifetime in seconds. Absent: the default of the client authentication. */
  readonly life?: number
  /** Latest expiry of the token, in milliseconds since 1970. */
  readonly until?: number
}

export type IssuedToken = { readonly token: string; readonly life: number }

export async function createAccessToken(ports: TokenPorts, access: TokenGrant): Promise<IssuedToken> {
  const { client, by, baseUrl, subject, sid, scopes, acr, about } = access
  const iat = Math.floor(ports.clock.now() / 1000)
  const life = Math.min(access.life ?? LIFE[by], Math.floor((access.until ?? Number.POSITIVE_INFINITY) / 1000) - iat)
  const claims: AccessClaims = {
    iss: baseUrl,
    aud: baseUrl,
    sub: subject,
    iat,
    exp: iat + life,
    jti: ports.clock.newId(),
    typ: ACCESS_TYP,
    azp: client.id,
    client_id: client.id,
    scope: scopes.join(' '),
    sid,
    session_state: sid,
    acr,
    client_auth: by,
    ...(client.consistency === undefined ? {} : { consistency: client.consistency }),
    ...(client.generation === undefined ? {} : { client_generation: client.generation }),
    ...about,
    ...partnerClaimsOf(client),
    ...tenantClaim(ports.choices, access.tenants),
  }
  return { token: await signToken(ports, claims), life }
}

/** Returns the claims that make a token one of a partner. Such a token opens the data of at most one member. */
// guard: partner-token-names-its-partner
export const partnerClaimsOf = ({ partner }: Pick<Client, 'partner'>): Pick<AccessClaims, 'partner' | 'partner_identifiers'> =>
  partner === undefined ? {} : { partner: partner.kind, partner_identifiers: partner.identifiers.map(identifierTextOf) }

/** Returns the claims about the member in context of a partner's token. */
export const memberClaimsOf = ({ patient, limits: { at, windowStart, excluded } }: Pick<PermittedMember, 'patient' | 'limits'>) =>
  ({
    patient,
    member_limits: {
      at,
      ...(windowStart === undefined ? {} : { since: windowStart }),
      ...(excluded.length === 0 ? {} : { excluded }),
    },
  }) satisfies Pick<AccessClaims, 'patient' | 'member_limits'>

/**
 * Returns the tenant claim: a string for one tenant or `*`, an array for several, and no claim without tenancy. With `*` or several, each
 * request must select its tenant.
 */
function tenantClaim({ tenancy, tenantClaim }: AuthChoices, tenants: readonly string[]): Readonly<Record<string, unknown>> {
  if (!tenancy || tenants.length === 0) return {}
  return { [tenantClaim]: tenants.includes('*') ? '*' : tenants.length === 1 ? tenants[0] : tenants }
}

/**
 * Parts of a token response. `refresh`: refresh token, absent if none is issued; `life` is its lifetime in seconds. `more`: further
 * members, such as patient or id_token.
 */
export type TokenResponseParts = {
  readonly made: IssuedToken
  readonly access: TokenGrant
  readonly refresh?: { readonly token: string; readonly life: number }
  readonly more?: Readonly<Record<string, unknown>>
}

export const tokenResponse = ({ made, access, refresh, more }: TokenResponseParts): AuthResponse =>
  jsonResponse(200, {
    access_token: made.token,
    expires_in: made.life,
    refresh_expires_in: refresh?.life ?? 0,
    ...(refresh === undefined ? {} : { refresh_token: refresh.token }),
    token_type: 'Bearer',
    'not-before-policy': 0,
    session_state: access.sid,
    scope: access.scopes.join(' '),
    ...more,
  })
