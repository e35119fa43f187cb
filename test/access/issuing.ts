/** An issuer of a test, whose clock, keys and revocations the test holds: tokens are signed as real ones are. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { AccessClaims } from '../../lambdas/access/claims.ts'
import { type Verifier, type VerifierParts, verifier } from '../../lambdas/access/verification/verifier.ts'
import type { RevocationKey } from '../../lambdas/ports/rows/revocations.ts'
import type { PublicKey, SigningKey } from '../../lambdas/ports/security/signing-keys.ts'

export const BASE_URL = 'https://fhir.example.org/fhir'
export const SECOND_MS = 1_000

export type IssuerKeyPair = { readonly secret: KeyObject; readonly published: PublicKey }

/** A key takes a tenth of a second to make: tests share theirs. */
export function newKey(): IssuerKeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const { n, e } = publicKey.export({ format: 'jwk' }) as { n: string; e: string }
  const kid = createHash('sha256')
    .update(JSON.stringify({ e, kty: 'RSA', n }))
    .digest('base64url')
  return { secret: privateKey, published: { kty: 'RSA', n, e, alg: 'RS256', use: 'sig', kid } }
}

export const [KEY, OTHER_KEY] = [newKey(), newKey()]

export const base64UrlOf = (part: object | string): string =>
  Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')

/** `header` and `payload` as objects, or as texts that may be anything. */
export function signToken({ secret, published }: IssuerKeyPair, payload: object | string, header: object | string = {}): string {
  const head = typeof header === 'string' ? header : { alg: 'RS256', typ: 'JWT', kid: published.kid, ...header }
  const text = `${base64UrlOf(head)}.${base64UrlOf(payload)}`
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), secret).toString('base64url')}`
}

export type TestIssuer = Verifier & {
  now: number
  readonly published: IssuerKeyPair[]
  readonly revoked: Map<RevocationKey, number>
  /** The patients for whom each fhirUser acts. */
  readonly persons: Map<string, readonly string[]>
  /** How often each port was asked. */
  readonly callCounts: { keys: number; revocations: number; documents: number; persons: number }
  /** What a port fails with. */
  broken: { keys?: Error; revocations?: Error; documents?: Error; persons?: Error }
  readonly documents: Map<string, string>
  readonly reported: unknown[]
  readonly claims: (more?: Partial<Record<keyof AccessClaims, unknown>>) => Record<string, unknown>
  /** A token of a client, with claims that are added, changed, or removed by undefined. */
  readonly token: (more?: Record<string, unknown>, key?: IssuerKeyPair) => string
  /** What it comes to: a token that is verified, or the error. */
  readonly verifyToken: (token: string, tenant?: string) => ReturnType<Verifier['verify']>
}

export function createTestIssuer(parts: Partial<VerifierParts> = {}): TestIssuer {
  let jti = 0
  const claims: TestIssuer['claims'] = (more = {}) => ({
    iss: BASE_URL,
    aud: BASE_URL,
    sub: 'app',
    iat: issuer.now / SECOND_MS,
    exp: issuer.now / SECOND_MS + 300,
    jti: `jti-${++jti}`,
    typ: 'Bearer',
    azp: 'app',
    client_id: 'app',
    scope: 'system/*.rs',
    sid: 'sid-1',
    session_state: 'sid-1',
    acr: '0',
    client_auth: 'secret',
    ...more,
  })
  const issuer: TestIssuer = {
    now: Date.UTC(2031, 0, 1),
    published: [KEY],
    revoked: new Map(),
    callCounts: { keys: 0, revocations: 0, documents: 0, persons: 0 },
    persons: new Map([['RelatedPerson/1', ['1']]]),
    broken: {},
    documents: new Map(),
    reported: [],
    claims,
    token: (more, key = KEY) => signToken(key, claims(more)),
    verifyToken: (token, tenant) => issuer.verify(`Bearer ${token}`, tenant),
    ...verifier({
      issuer: BASE_URL,
      audience: BASE_URL,
      clock: { now: () => issuer.now },
      keys: { list: () => countCall('keys', () => issuer.published.map(({ published: key }): SigningKey => ({ key, madeAt: 0 }))) },
      revocations: {
        revoked: (keys) => countCall('revocations', () => new Map([...issuer.revoked].filter(([key]) => keys.includes(key)))),
      },
      patientsOf: (fhirUser) => countCall('persons', () => issuer.persons.get(fhirUser)),
      revocationLag: 3 * SECOND_MS,
      tenancy: false,
      tenantClaim: 'tenant',
      patientScopesWithoutContext: 'all',
      externalIssuers: [],
      fetchDocument: (url) => countCall('documents', () => ({ bytes: new TextEncoder().encode(issuer.documents.get(url) ?? '') })),
      report: (error) => void issuer.reported.push(error),
      ...parts,
    }),
  }
  const countCall = async <T>(port: keyof TestIssuer['callCounts'], answer: () => T): Promise<T> => {
    issuer.callCounts[port]++
    if (issuer.broken[port] !== undefined) throw issuer.broken[port]
    return answer()
  }
  return issuer
}

/** Lets readings that nobody waits for come to their end. */
export const settleBackgroundReads = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
