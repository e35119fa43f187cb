/** Parses the claims of a verified token: client, user, tenants, scopes, issue time and expiry. */
import { parseIdentifierText } from '../../fhir/identifier-text.ts'
import { isElement, isId } from '../../fhir/resource.ts'
import type { Partner } from '../../ports/rows/clients.ts'
import { type RevocationKey, revocationKeyOf } from '../../ports/rows/revocations.ts'
import type { MemberLimits } from '../access.ts'
import { ACCESS_TYP, type ClientAuth } from '../claims.ts'
import { findTypeOverLimit, MAX_CONDITIONS_PER_TYPE, narrowScopes, splitScopes } from '../scopes.ts'
import type { AssertionRule, ClaimNames, ExternalIssuer } from './external-issuers.ts'
import { narrowTenantClaim, parseTenantClaim, type TenantClaim } from './tenant-claim.ts'
import { invalidTokenError } from './token-errors.ts'
import type { Claims } from './trusted-issuer.ts'
import type { VerifiedToken } from './verified-token.ts'

/**
 * Content of a token before a tenant is selected. `issuedAt`: milliseconds since 1970. `revocationKeys`: a revocation of one of
 * these keys covers the token if the token was issued at or before the time of the revocation.
 */
export type ParsedToken = {
  readonly facts: Omit<VerifiedToken, 'tenant'>
  readonly tenants: TenantClaim
  readonly issuedAt: number
  readonly revocationKeys: readonly RevocationKey[]
}

/**
 * Maximum seconds that `iat` and `nbf` may lie in the future, because clocks differ. Later ones are answered 401. The expiry has no
 * tolerance.
 */
const LEEWAY = 60

/**
 * Parses `AccessClaims` of this server. `tenant`: name of the tenant claim. Throws FhirError 401 if the token is not an access token, not
 * yet valid or expired, or if a claim is missing or malformed.
 */
export function parseOwnToken(claims: Claims, tenant: string, now: number): ParsedToken {
  // guard: access-token-type
  if (claims.typ !== ACCESS_TYP) throw notAnAccessToken()
  const times = timesOf(claims, now)
  const [client, subject] = [required(claims, 'client_id'), required(claims, 'sub')]
  const user = textOf(claims, 'preferred_username')
  const exchanged = textOf(claims, 'subject_jti')
  return {
    tenants: parseTenantClaim(claims[tenant]),
    issuedAt: times.issuedAt,
    revocationKeys: [
      ...[`jti:${required(claims, 'jti')}` as const, `sid:${required(claims, 'sid')}` as const],
      // guard: exchanged-token-ends-with-its-subject
      ...(exchanged === undefined ? [] : [`jti:${exchanged}` as const]),
      revocationKeyOf('client', client, textOf(claims, 'client_generation')),
      revocationKeyOf('user', subject, textOf(claims, 'user_generation')),
    ],
    facts: {
      client,
      subject,
      issuer: required(claims, 'iss'),
      expires: times.expires,
      scopes: splitScopes(longText(claims, 'scope')),
      clientAuth: clientAuthOf(claims.client_auth),
      ...(claims.consistency === 'strong' || claims.consistency === 'eventual' ? { consistency: claims.consistency } : {}),
      ...contextOf(claims, 'patient', 'fhirUser'),
      ...optional('encounter', idIn(claims, 'encounter', 'Encounter')),
      ...optional('user', user),
      ...optional('seenAs', textOf(claims, 'seen_as')),
      ...(claims.acts_for === undefined ? {} : { actsFor: idsIn(claims, 'acts_for') }),
      ...(claims.partner === undefined ? {} : { partner: partnerOf(claims) }),
      ...(claims.member_limits === undefined ? {} : { memberLimits: memberLimitsOf(claims.member_limits) }),
    },
  }
}

/**
 * Parses the claims of an external issuer. Limits scopes and tenants to those of the issuer. Appends the issuer to client, subject and
 * revocation keys, so that they never match local ones; `user` stays unchanged. Throws FhirError 401 if the token is not acceptable.
 */
export function parseExternalToken(
  claims: Claims,
  typ: unknown,
  { issuer, names, tenants, scopes, assertion }: ExternalIssuer,
  now: number,
): ParsedToken {
  if (isOtherKind(claims, typ)) throw notAnAccessToken()
  const times = timesOf(claims, now)
  const qualified = (name: string): string => `${name}@${issuer.replace('https://', '')}`
  const [client, subject] = [qualified(required(claims, names.client)), qualified(required(claims, 'sub'))]
  const [jti, sid, user] = [textOf(claims, 'jti'), textOf(claims, 'sid'), textOf(claims, 'preferred_username')]
  const claimed = claims[names.scope]
  const requested = Array.isArray(claimed) ? claimed.filter((each) => typeof each === 'string') : splitScopes(longText(claims, names.scope))
  // guard: external-scopes-are-narrowed
  const granted = narrowScopes(requested, scopes)
  if (granted.length === 0) throw invalidTokenError('The token has no scope that its issuer may give')
  const crowded = findTypeOverLimit(granted)
  if (crowded !== undefined)
    throw invalidTokenError(`The token has more than ${MAX_CONDITIONS_PER_TYPE} scopes with a condition for the type ${crowded}`)
  return {
    tenants: names.tenant === undefined ? tenants : narrowTenantClaim(parseTenantClaim(claims[names.tenant]), tenants),
    issuedAt: times.issuedAt,
    revocationKeys: [
      ...(jti === undefined ? [] : [`jti:${qualified(jti)}` as const]),
      ...(sid === undefined ? [] : [`sid:${qualified(sid)}` as const]),
      `client:${client}`,
      `user:${subject}`,
    ],
    facts: {
      client,
      subject,
      issuer,
      expires: times.expires,
      scopes: granted,
      ...(usedAssertion(claims, assertion, names) ? { clientAuth: 'assertion', actsForItself: true } : { clientAuth: 'none' }),
      ...contextOf(claims, names.patient, names.fhirUser),
      ...optional('user', user),
    },
  }
}

/** Whether the issuer's setting `assertion` selects the client. Always false for a token with a claim for `patient` or `fhirUser`. */
function usedAssertion(claims: Claims, rule: AssertionRule, { client, patient, fhirUser }: ClaimNames): boolean {
  // guard: external-user-is-no-client
  if (['patient', 'fhirUser', patient, fhirUser].some((name) => claims[name] !== undefined)) return false
  return 'clients' in rule ? rule.clients.includes(required(claims, client)) : claims[rule.claim] === rule.value
}

/**
 * Whether the token is not an access token, but for example an ID token. The kind is in `typ` of the header (RFC 9068) or the payload
 * (Keycloak), or in `token_use` (Cognito). A claim that occurs only in ID tokens or logout tokens also decides.
 * https://openid.net/specs/openid-connect-core-1_0.html#CodeIDToken
 */
const isOtherKind = (claims: Claims, typ: unknown): boolean =>
  !(typ === undefined || (typeof typ === 'string' && /^(?:application\/)?(?:at\+)?jwt$/i.test(typ))) ||
  !(claims.typ === undefined || claims.typ === ACCESS_TYP) ||
  !(claims.token_use === undefined || claims.token_use === 'access') ||
  ['at_hash', 'c_hash', 'nonce', 'events'].some((name) => claims[name] !== undefined)

const notAnAccessToken = () => invalidTokenError('The token is no access token')

function timesOf({ exp, iat, nbf = iat }: Claims, now: number): { readonly issuedAt: number; readonly expires: number } {
  if (!isNumber(exp) || !isNumber(iat) || !isNumber(nbf)) throw invalidTokenError('The token does not say from when until when it counts')
  if (exp * 1_000 <= now) throw expiredTokenError()
  if ((Math.max(iat, nbf) - LEEWAY) * 1_000 > now) throw invalidTokenError('The token does not count yet')
  return { issuedAt: iat * 1_000, expires: exp * 1_000 }
}

export const expiredTokenError = () => invalidTokenError('The token has expired')

const isNumber = (value: unknown): value is number => typeof value === 'number'

function clientAuthOf(value: unknown): ClientAuth {
  if (value !== 'secret' && value !== 'assertion' && value !== 'none')
    throw invalidTokenError('The token does not say how its client proved itself')
  return value
}

const contextOf = (claims: Claims, patient: string, fhirUser: string): Pick<VerifiedToken, 'patient' | 'fhirUser'> => ({
  ...optional('patient', idIn(claims, patient, 'Patient')),
  ...optional('fhirUser', textOf(claims, fhirUser)),
})

/**
 * Returns the id of a claim that is `Patient/1` or `1`, or undefined if the claim is absent. Throws FhirError 401 for a malformed id:
 * ignoring it would drop the restriction to a patient.
 */
function idIn(claims: Claims, name: string, type: string): string | undefined {
  const text = textOf(claims, name)
  if (text === undefined) return undefined
  const id = text.startsWith(`${type}/`) ? text.slice(type.length + 1) : text
  if (!isId(id)) throw invalidClaim(name)
  return id
}

function idsIn(claims: Claims, name: string): readonly string[] {
  const ids = claims[name]
  if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string' && isId(id))) throw invalidClaim(name)
  return ids
}

/** Returns the partner. Throws FhirError 401 for malformed claims: ignoring them would open all that the scopes name. */
function partnerOf({ partner, partner_identifiers: texts }: Claims): Partner {
  if (partner !== 'payer' && partner !== 'provider') throw invalidClaim('partner')
  if (!Array.isArray(texts) || texts.length === 0) throw invalidClaim('partner_identifiers')
  const identifiers = texts.map((text) => (typeof text === 'string' ? parseIdentifierText(text) : undefined))
  if (!identifiers.every((each) => each !== undefined)) throw invalidClaim('partner_identifiers')
  return { kind: partner, identifiers }
}

/** Returns the limits. Throws FhirError 401 for malformed limits, because ignoring them would open more data. */
function memberLimitsOf(limits: unknown): MemberLimits {
  const { at, since, excluded = [] } = isElement(limits) ? limits : {}
  const isComplete = isNumber(at) && (since === undefined || isNumber(since))
  if (!isComplete || !Array.isArray(excluded) || !excluded.every((label) => typeof label === 'string')) throw invalidClaim('member_limits')
  return { at, excluded, ...(since === undefined ? {} : { windowStart: since }) }
}

function required(claims: Claims, name: string): string {
  const text = textOf(claims, name)
  if (text === undefined) throw invalidClaim(name)
  return text
}

/**
 * Returns a claim with a name or an id, or undefined if it is absent. Throws FhirError 401 unless it is a string of 1 to 255 characters
 * without control, format or private-use characters.
 */
function textOf(claims: Claims, name: string): string | undefined {
  const value = claims[name]
  if (value === undefined || (typeof value === 'string' && /^\P{C}{1,255}$/u.test(value))) return value
  throw invalidClaim(name)
}

function longText(claims: Claims, name: string): string {
  const value = claims[name] ?? ''
  if (typeof value !== 'string') throw invalidClaim(name)
  return value
}

const invalidClaim = (name: string) => invalidTokenError(`The claim ${name} of the token is missing or malformed`)

const optional = <Name extends string>(name: Name, value: string | undefined): { readonly [Each in Name]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { readonly [Each in Name]?: string }
