/**
 * Client authentication by a signed assertion. https://www.rfc-editor.org/rfc/rfc7523#section-3
 * SMART requires the URL of the token endpoint as its audience:
 * https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#authenticating-to-the-token-endpoint
 * Newer clients send the issuer: https://datatracker.ietf.org/doc/draft-ietf-oauth-rfc7523bis/
 */
import { importJWK, type JWTPayload, jwtVerify } from 'jose'
import { isBase64Url } from '../../access/verification/bearer-token.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import { toInstant } from '../../fhir/version.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { AuthPorts, AuthRequest } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { fingerprintOf } from '../random-secret.ts'

export type AssertionPorts = Pick<AuthPorts, 'clients' | 'grants' | 'clock' | 'keySource'>

/**
 * Accepted algorithms. SMART requires servers to support both:
 * https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#registering-a-client-communicating-public-keys
 */
export const ASSERTION_ALGORITHMS = ['RS384', 'ES384']
/** Maximum seconds from now to the expiry of an assertion. Assertions with a later `exp` are rejected. */
const LONGEST_LIFE = 300
/** Tolerated difference between the clocks of client and server, in seconds. */
const TOLERANCE = 5
/** Maximum characters of an assertion. Longer ones are rejected. */
const LONGEST = 8_192
/** Maximum characters of the claim `jti`. Assertions with a longer one are rejected. */
const LONGEST_JTI = 256

/**
 * Returns the client id of an unverified assertion, to find the keys for its verification. Throws OAuthError 401 if it is not a JWT, or if
 * `iss` and `sub` are not one client id. `sub` may also name a member; `checkAssertion` decides whether the client may do so.
 */
export function clientIdOf(assertion: string): string {
  const { iss, sub } = partOf(assertion, 1)
  if (typeof iss !== 'string' || (iss !== sub && !isMemberName(sub))) throw wrong('iss and sub must be the id of the client')
  return iss
}

/** Whether the subject names a member, as `Patient/1` or as an identifier `system|value`. No client id contains `/` or `|`. */
const isMemberName = (sub: unknown): sub is string => typeof sub === 'string' && /^Patient\/|\|/.test(sub)

/**
 * Verifies an assertion. Returns the member that the `sub` of a partner names, or undefined if `sub` is the client. Throws OAuthError 401
 * unless a registered key of the client signed the assertion for this server. Throws it also if the assertion was used before, is expired,
 * or expires in more than five minutes. Throws OAuthError 503 if the keys of the client cannot be fetched.
 */
export async function checkAssertion(
  ports: AssertionPorts,
  client: Client,
  assertion: string,
  { baseUrl }: AuthRequest,
): Promise<string | undefined> {
  const header = partOf(assertion, 0)
  if (header.typ !== undefined && header.typ !== 'JWT') throw wrong('typ is JWT')
  const key = await keyOf(ports, client, header)
  const now = ports.clock.now()
  const { sub } = partOf(assertion, 1)
  const member = client.partner !== undefined && isMemberName(sub) ? sub : undefined
  const audience = [`${baseUrl}/auth/token`, baseUrl]
  const claims = await verified(assertion, key, { client, subject: member ?? client.id, now, audience })
  const { exp = 0, iat = 0, jti } = claims
  if (iat > now / 1000 + TOLERANCE) throw wrong(aheadOf('iat', iat, now, 'none'))
  if (exp > now / 1000 + LONGEST_LIFE + TOLERANCE) throw wrong(aheadOf('exp', exp, now, `at most ${LONGEST_LIFE}`))
  if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_JTI)
    throw wrong(`jti has to be a text of 1 to ${LONGEST_JTI} characters, another one each time`)
  const used = { owner: client.id, value: {}, expires: (exp + 2 * TOLERANCE) * 1000 }
  // guard: assertion-single-use
  if (!(await ports.grants.add('assertion', fingerprintOf(`${client.id} ${jti}`), used))) throw wrong('It was used before')
  return member
}

const wrong = (why: string): OAuthError => new OAuthError('invalid_client', `The assertion is invalid: ${why}`, 401)

/**
 * Returns the header (0) or the claims (1) of an assertion. Rejects JSON with a duplicate name: two parsers could choose different values.
 */
function partOf(assertion: string, at: 0 | 1): Element {
  if (assertion.length > LONGEST) throw wrong(`It has more than ${LONGEST} characters`)
  const parts = assertion.split('.')
  // guard: assertion-part-is-canonical-base64
  if (parts.length !== 3 || !parts.every(isBase64Url)) throw wrong('It is no signed JWT')
  try {
    const part = parseJsonBytes(Buffer.from(parts[at]!, 'base64url'))
    if (isElement(part)) return part
  } catch {
    // The error below covers JSON that cannot be parsed.
  }
  throw wrong('It is no JWT')
}

type Expected = { readonly client: Client; readonly subject: string; readonly now: number; readonly audience: string[] }

async function verified(assertion: string, key: Element, { client, subject, now, audience }: Expected): Promise<JWTPayload> {
  const { alg } = key
  try {
    const imported = await importJWK(key, String(alg))
    if (imported instanceof Uint8Array) throw wrong('The key is none for signing')
    const { payload } = await jwtVerify(assertion, imported, {
      algorithms: [String(alg)],
      issuer: client.id,
      subject,
      audience,
      clockTolerance: TOLERANCE,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'jti'],
    })
    return payload
  } catch (error) {
    throw error instanceof OAuthError ? error : wrong(reasonOf(error, now, audience[0]!))
  }
}

/** Returns the reason of the rejection and the expected value. Of the assertion it repeats only times. */
function reasonOf(error: unknown, now: number, endpoint: string): string {
  const { code, claim, payload } = error as { readonly code?: string; readonly claim?: string; readonly payload?: JWTPayload }
  const time = claim === 'exp' || claim === 'nbf' ? payload?.[claim] : undefined
  if (code === 'ERR_JWT_EXPIRED' && time !== undefined)
    return `It has expired: exp is ${Math.round(now / 1000 - time)} seconds behind ${theClock(now)}`
  if (claim === 'nbf' && typeof time === 'number') return aheadOf(claim, time, now, 'none')
  if (claim === 'aud') return `aud has to be the token endpoint, ${endpoint}`
  if (claim !== undefined) return `${claim} is missing, or not what it has to be: exp, nbf and iat are seconds since 1970`
  return code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' ? 'The signature is wrong' : 'It is no JWT that this server takes'
}

/** Returns the server's time in words. A client sees from it whether the clocks differ. */
const theClock = (now: number): string => `the clock of this server, ${toInstant(now)}`

const aheadOf = (claim: string, time: number, now: number, allowed: string): string =>
  `${claim} is ${Math.round(time - now / 1000)} seconds ahead of ${theClock(now)}, and ${allowed} may be: it counts seconds since 1970`

/**
 * Returns the registered key that the `kid` of the header selects, with the algorithm of the assertion. Never uses a key that the assertion
 * contains.
 */
async function keyOf({ keySource }: AssertionPorts, { authentication }: Client, { alg, kid, jku }: Element): Promise<Element> {
  // guard: assertion-algorithm
  if (!ASSERTION_ALGORITHMS.includes(String(alg))) throw wrong(`alg is one of ${ASSERTION_ALGORITHMS.join(', ')}`)
  if (authentication.kind !== 'keys' && authentication.kind !== 'uri') throw wrong('The client has no keys')
  // `jku` may only repeat the registered URI:
  // https://hl7.org/fhir/smart-app-launch/client-confidential-asymmetric.html#signature-verification
  if (jku !== undefined && (authentication.kind !== 'uri' || jku !== authentication.uri))
    throw wrong('jku is not the jwks_uri that the client is registered with')
  const fits = (key: Element): boolean => key.kid === kid && isFor(String(alg), key)
  const find = (keys: readonly Element[]): Element | undefined => keys.find(fits)
  const found =
    authentication.kind === 'keys'
      ? find(authentication.keys)
      : (find(await fetched(keySource, authentication.uri, false)) ?? find(await fetched(keySource, authentication.uri, true)))
  if (kid === undefined || found === undefined) throw wrong('The client has no key with this kid, for this alg')
  return { ...found, alg: String(alg) }
}

async function fetched(keySource: AuthPorts['keySource'], uri: string, fresh: boolean): Promise<readonly Element[]> {
  try {
    return await keySource(uri, fresh)
  } catch {
    throw new OAuthError('temporarily_unavailable', 'The keys of the client cannot be fetched now', 503, { 'retry-after': '10' })
  }
}

const isFor = (alg: string, { kty, crv, use, alg: own }: Element): boolean =>
  (use === undefined || use === 'sig') &&
  (own === undefined || own === alg) &&
  (alg === 'ES384' ? kty === 'EC' && crv === 'P-384' : kty === 'RSA')
