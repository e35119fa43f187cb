/**
 * Verifies access tokens of this server and of configured external issuers. https://www.rfc-editor.org/rfc/rfc9068#section-4
 *
 * The cost of a request is limited in each process:
 * - The Authorization header has at most 8,192 characters, and at most two signature checks are made.
 * - Revocations of a token are read at most once in `revocationLag`.
 * - Keys of an issuer are read at most once in ten seconds, or in one second while reads fail.
 * - The resource of an admitted Patient or RelatedPerson is read at most once in five minutes.
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
  /** Base URL: value of `iss` in tokens of this server. */
  readonly issuer: string
  readonly audience: string
  readonly keys: PublishedKeys
  readonly revocations: RevocationReader
  /** Maximum milliseconds for which a token may be used after its revocation. 0: each request reads the revocations. */
  readonly revocationLag: number
  /** Checks that persons still act for their patients. `unchecked`: no check, for functions that open no stored resource of a patient. */
  readonly patientsOf: PersonReader | 'unchecked'
  readonly clock: Pick<Clock, 'now'>
  /** Whether the server has several tenants. If not, all data belongs to the tenant `default`. */
  readonly tenancy: boolean
  /** Name of the claim with the tenant, in tokens of this server. */
  readonly tenantClaim: string
  /** Whether `patient/` scopes of a client's own token without a patient cover all patients or none. */
  readonly patientScopesWithoutContext: 'all' | 'none'
  readonly externalIssuers: readonly ExternalIssuer[]
  /** Fetches the keys of external issuers. */
  readonly fetchDocument: FetchDocument
  /** Receives the error of the first failed read of an issuer's keys. Further failures are reported only after a successful read. */
  readonly report: (error: unknown) => void
}

export type Verifier = {
  /**
   * Verifies the token of an Authorization header. `tenant`: X-Tenant-Id. Throws FhirError 401 for the token, 400 or 403 for the tenant,
   * and the fault `unavailable` if keys or revocations cannot be read.
   */
  readonly verify: (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>
  /** Returns the number of signature checks, including failed ones; for tests. */
  readonly signatures: () => number
}

/** Issuer with its rules of verification, and the parser of its claims. */
type Trusted = { readonly issuer: TrustedIssuer; readonly read: (claims: Claims, typ: unknown) => ParsedToken }

/** Error message for a token that a revocation of all tokens covers, for example after a restore of the authorization store. */
const ALL_REVOKED = 'The token is from before all tokens were ended: log in again'

/** Age at which keys of this server are read again, in milliseconds. */
const OWN_FRESH = 10_000

const OWN_ALGORITHMS = ['RS256']
/** Algorithms accepted from external issuers: all that `aws-jwt-verify` supports. */
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

/** Trusted issuers by `iss`. This server is the last entry and overwrites a configured issuer with its URL. */
const trustedIssuers = (parts: VerifierParts): ReadonlyMap<string, Trusted> =>
  new Map([...parts.externalIssuers.map((each) => [each.issuer, externalOf(parts, each)] as const), [parts.issuer, ownOf(parts)]])

function proverOf({ patientScopesWithoutContext }: VerifierParts, trusted: ReadonlyMap<string, Trusted>, cache: TokenCache) {
  return async (text: string, digest: string): Promise<CachedToken> => {
    const token = decodeUnverifiedToken(text)
    const { issuer, read } = trusted.get(token.issuer) ?? rejectIssuer()
    await issuer.findKey(token)
    // A concurrent request may have cached the token during `findKey`.
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
