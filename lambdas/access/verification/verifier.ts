/**
 * Verifies access tokens: our own, and those of issuers a person has named. https://www.rfc-editor.org/rfc/rfc9068#section-4
 *
 * The cost of a request is bounded: a header of some thousand characters, one signature, a look-up of revocations each `revocationLag`, of keys each
 * ten seconds, of the resource of a Patient or a RelatedPerson each five minutes.
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
  /** Of our own tokens: the base URL, as it stands in `iss` and `aud`. */
  readonly issuer: string
  readonly audience: string
  readonly keys: PublishedKeys
  readonly revocations: RevocationReader
  /** How long a token may be used after its revocation, in milliseconds. 0: each request reads the revocations. */
  readonly revocationLag: number
  /** `unchecked`: only where requests open no stored resource of a patient. */
  readonly patientsOf: PersonReader | 'unchecked'
  readonly clock: Pick<Clock, 'now'>
  /** Off: everything belongs to one tenant. */
  readonly tenancy: boolean
  /** The name of the claim that says whose data our tokens open. */
  readonly tenantClaim: string
  /** The setting of this name. */
  readonly patientScopesWithoutContext: 'all' | 'none'
  readonly externalIssuers: readonly ExternalIssuer[]
  /** Gets the keys of external issuers. */
  readonly fetchDocument: FetchDocument
  /** Told when keys could not be read. */
  readonly report: (error: unknown) => void
}

export type Verifier = {
  /** `tenant`: X-Tenant-Id. FhirError 400, 401, 403; Unavailable where keys or revocations cannot be read. */
  readonly verify: (authorization: string, tenant: string | undefined) => Promise<VerifiedToken>
  /** How many signatures were looked at. */
  readonly signatures: () => number
}

/** How its tokens are proved, and what they say. */
type Trusted = { readonly issuer: TrustedIssuer; readonly read: (claims: Claims, typ: unknown) => ParsedToken }

/** As where who may do what was itself set back to an earlier time. */
const ALL_REVOKED = 'The token is from before all tokens were ended: log in again'

/** Milliseconds. */
const OWN_FRESH = 10_000

const OWN_ALGORITHMS = ['RS256']
/** All that `aws-jwt-verify` knows. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

export function verifier(parts: VerifierParts): Verifier {
  const { clock, revocations, tenancy } = parts
  const trusted = trustedBy(parts)
  const remembered = new TokenCache()
  const persons = parts.patientsOf === 'unchecked' ? undefined : new ActingPersons(parts.patientsOf)
  const prove = proverOf(parts, trusted, remembered)
  const verify: Verifier['verify'] = async (authorization, tenant) => {
    const text = bearerTokenOf(authorization)
    const digest = hash('sha256', text, 'base64url')
    let found = remembered.find(digest) ?? (await prove(text, digest))
    const now = clock.now()
    const reading = found.issuer.refresh(now)
    if (reading !== undefined) {
      await reading
      found = remembered.find(digest) ?? (await prove(text, digest))
    }
    // guard: access-token-expiry
    if (found.token.known.expires <= now) {
      remembered.forget(digest)
      throw expiredTokenError()
    }
    const looked = found.revokedBy(revocations, now, parts.revocationLag)
    const mark = looked instanceof Promise ? await looked : looked
    if (mark !== undefined) throw invalidTokenError(mark === ALL_TOKENS ? ALL_REVOKED : 'The token was revoked')
    const { known, tenants } = found.token
    // guard: token-person-belongs-to-tenant
    if (tenancy) checkPersonTenant(known, tenants)
    const token = found.in(tenancy ? selectTenant(tenants, tenant) : checkDefaultTenant(tenants, tenant))
    const checked = persons?.check(token, now)
    if (checked !== undefined) await checked
    return token
  }
  return { verify, signatures: () => [...trusted.values()].reduce((sum, { issuer }) => sum + issuer.signatures, 0) }
}

/** By what stands in `iss`. Nobody else is this server. */
const trustedBy = (parts: VerifierParts): ReadonlyMap<string, Trusted> =>
  new Map([...parts.externalIssuers.map((each) => [each.issuer, externalOf(parts, each)] as const), [parts.issuer, ownOf(parts)]])

function proverOf({ patientScopesWithoutContext }: VerifierParts, trusted: ReadonlyMap<string, Trusted>, remembered: TokenCache) {
  return async (text: string, digest: string): Promise<CachedToken> => {
    const token = decodeUnverifiedToken(text)
    const { issuer, read } = trusted.get(token.issuer) ?? nobody()
    await issuer.findKey(token)
    // Another request may have brought it meanwhile.
    const found = remembered.find(digest)
    if (found !== undefined) return found
    const { known, ...rest } = read(issuer.claimsOf(text), token.typ)
    return remembered.keep(digest, new CachedToken({ ...rest, known: { ...known, patientScopesWithoutContext } }, issuer), text.length)
  }
}

function nobody(): never {
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
