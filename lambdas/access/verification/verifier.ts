/**
 * Verifies access tokens of this server and of configured external issuers. https://www.rfc-editor.org/rfc/rfc9068#section-4
 *
 * The cost of a request is limited: a header of 8,192 characters and one signature. Revocations are read at most once in `revocationLag`,
 * and keys once in ten seconds. The resource of an admitted Patient or RelatedPerson is read once in five minutes.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../ports/execution/clock.ts'
import { ALL_TOKENS, type RevocationReader } from '../../ports/rows/revocations.ts'
import type { FetchDocument } from '../../ports/security/fetch-document.ts'
import type { PublishedKeys } from '../../ports/security/signing-keys.ts'
import { DEFAULT_TENANT } from '../../ports/store/tenants.ts'
import type { PersonReader } from '../user-patients.ts'
import { ActingPersons } from './acting-persons.ts'
import { bearerTokenOf, decodeUnverifiedToken } from './bearer-token.ts'
import type { ExternalIssuer } from './external-issuers.ts'
import { keyCacheOf } from './jwks-cache.ts'
import { KeyCache, type KeySource } from './key-cache.ts'
import { checkDefaultTenant, checkPersonTenant, selectTenant } from './tenant-claim.ts'
import { CachedToken, TokenCache } from './token-cache.ts'
import { expiredTokenError, type ParsedToken, parseExternalToken, parseOwnToken } from './token-claims.ts'
import { invalidTokenError } from './token-errors.ts'
import { type Claims, TrustedIssuer } from './trusted-issuer.ts'
import type { VerifiedToken } from './verified-token.ts'

export type VerifierParts = {
  /** Base URL: value of `iss` and `aud` in tokens of this server. */
  readonly issuer: string
  readonly audience: string
  readonly keys: PublishedKeys
  readonly revocations: RevocationReader
  /** How long a token may be used after its revocation, in milliseconds. 0: each request reads the revocations. */
  readonly revocationLag: number
  /** `unchecked`: for functions that open no stored resource of a patient. */
  readonly patientsOf: PersonReader | 'unchecked'
  readonly clock: Pick<Clock, 'now'>
  /** Whether the server has several tenants. If not, all data belongs to one tenant. */
  readonly tenancy: boolean
  /** Name of the claim with the tenant, in tokens of this server. */
  readonly tenantClaim: string
  /** The setting of this name. */
  readonly patientScopesWithoutContext: 'all' | 'none'
  readonly externalIssuers: readonly ExternalIssuer[]
  /** Fetches the keys of external issuers. */
  readonly fetchDocument: FetchDocument
  /** Receives the error if keys cannot be read. */
  readonly report: (error: unknown) => void
}

export type Verifier = {
  /** Verifies a token. `tenant`: X-Tenant-Id. Throws FhirError 400, 401 or 403, and `unavailable` if keys or revocations cannot be read. */
  readonly verify: (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>
  /** Returns the number of signatures verified. */
  readonly signatures: () => number
}

/** Issuer with its rules of verification, and the parser of its claims. */
type Trusted = { readonly issuer: TrustedIssuer; readonly read: (claims: Claims, typ: unknown) => ParsedToken }

/** Text for a revocation of all tokens, for example after a restore of clients, users and revocations to an earlier time. */
const ALL_REVOKED = 'The token is from before all tokens were ended: log in again'

/** Time after which keys of this server are read again, in milliseconds. */
const OWN_FRESH = 10_000

const OWN_ALGORITHMS = ['RS256']
/** All algorithms that `aws-jwt-verify` supports. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

export function verifier(parts: VerifierParts): Verifier {
  const { clock, revocations, tenancy } = parts
  const trusted = trustedIssuers(parts)
  const cache = new TokenCache()
  const persons = parts.patientsOf === 'unchecked' ? undefined : new ActingPersons(parts.patientsOf)
  const prove = proverOf(parts, trusted, cache)
  const verify: Verifier['verify'] = async (authorization, tenant) => {
    const text = bearerTokenOf(authorization)
    const digest = hash('sha256', text, 'base64url')
    let found = cache.find(digest) ?? (await prove(text, digest))
    const now = clock.now()
    const reading = found.issuer.refresh(now)
    if (reading !== undefined) {
      await reading
      found = cache.find(digest) ?? (await prove(text, digest))
    }
    // guard: access-token-expiry
    if (found.token.facts.expires <= now) {
      cache.forget(digest)
      throw expiredTokenError()
    }
    const check = found.revokedBy(revocations, now, parts.revocationLag)
    const key = check instanceof Promise ? await check : check
    if (key !== undefined) throw invalidTokenError(key === ALL_TOKENS ? ALL_REVOKED : 'The token was revoked')
    const { facts, tenants } = found.token
    // guard: token-person-belongs-to-tenant
    if (tenancy) checkPersonTenant(facts, tenants)
    const token = found.in(tenancy ? selectTenant(tenants, tenant) : checkDefaultTenant(tenants, tenant))
    const checked = persons?.check(token, now)
    if (checked !== undefined) await checked
    return token
  }
  return { verify, signatures: () => [...trusted.values()].reduce((sum, { issuer }) => sum + issuer.signatures, 0) }
}

/** Trusted issuers by `iss`. This server comes last, so that no configured issuer replaces it. */
const trustedIssuers = (parts: VerifierParts): ReadonlyMap<string, Trusted> =>
  new Map([...parts.externalIssuers.map((each) => [each.issuer, externalOf(parts, each)] as const), [parts.issuer, ownOf(parts)]])

function proverOf({ patientScopesWithoutContext }: VerifierParts, trusted: ReadonlyMap<string, Trusted>, cache: TokenCache) {
  return async (text: string, digest: string): Promise<CachedToken> => {
    const token = decodeUnverifiedToken(text)
    const { issuer, read } = trusted.get(token.issuer) ?? rejectIssuer()
    await issuer.findKey(token)
    // A concurrent request may have cached the token meanwhile.
    const found = cache.find(digest)
    if (found !== undefined) return found
    const { facts, ...rest } = read(issuer.claimsOf(text), token.typ)
    return cache.keep(digest, new CachedToken({ ...rest, facts: { ...facts, patientScopesWithoutContext } }, issuer), text.length)
  }
}

function rejectIssuer(): never {
  throw invalidTokenError('The issuer of the token is not one of this server')
}

function ownOf({ issuer, audience, keys, clock, tenancy, tenantClaim, report }: VerifierParts): Trusted {
  const now = () => clock.now()
  const source: KeySource = { read: async () => ({ keys: (await keys.list()).map(({ key }) => key) }), now, fresh: OWN_FRESH, report }
  return {
    issuer: new TrustedIssuer({ issuer, audience, algorithms: OWN_ALGORITHMS }, new KeyCache(source)),
    read(claims) {
      const { tenants = tenancy ? undefined : DEFAULT_TENANT, ...token } = parseOwnToken(claims, tenantClaim, now())
      return { ...token, tenants }
    },
  }
}

function externalOf(parts: VerifierParts, external: ExternalIssuer): Trusted {
  return {
    issuer: new TrustedIssuer({ ...external, algorithms: ALGORITHMS }, keyCacheOf(external.jwksUri, parts)),
    read: (claims, typ) => parseExternalToken(claims, typ, external, parts.clock.now()),
  }
}
