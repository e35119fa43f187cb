/** Issuers besides this server: what their tokens may give is bounded by what a person has written down, and their names are nobody's here. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { type ExternalIssuer, parseIssuers } from '../../../lambdas/access/verification/external-issuers.ts'
import { jwksCache } from '../../../lambdas/access/verification/jwks-cache.ts'
import type { VerifierParts } from '../../../lambdas/access/verification/verifier.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import {
  BASE_URL,
  base64UrlOf,
  createTestIssuer,
  KEY,
  newKey,
  OTHER_KEY,
  SECOND_MS,
  settleBackgroundReads,
  signToken,
  type TestIssuer,
} from '../issuing.ts'

const WRITTEN = {
  issuer: 'https://auth.example.org/realms/a',
  audience: 'api://fhir',
  jwksUri: 'https://auth.example.org/realms/a/keys',
  tenants: ['a', 'b'],
  scopes: 'patient/*.rs system/Observation.rs system/Patient.rs?gender=female openid',
  claims: { scope: 'scp', client: 'azp', tenant: 'https://example.org/tenants', patient: 'patient_id', fhirUser: 'profile' },
}
const issuersOf = (...more: readonly object[]): readonly ExternalIssuer[] =>
  parseIssuers(JSON.stringify(more.map((each) => ({ ...WRITTEN, ...each }))))

const publishing = (it: TestIssuer, ...keys: readonly unknown[]) => void it.documents.set(WRITTEN.jwksUri, JSON.stringify({ keys }))

/** Its keys are OTHER_KEY. */
function trusting(written: object = {}, parts: Partial<VerifierParts> = {}): TestIssuer {
  const it = createTestIssuer({ tenancy: true, externalIssuers: issuersOf(written), ...parts })
  publishing(it, OTHER_KEY.published)
  return it
}

const claimsOf = (it: TestIssuer, more: object = {}): Record<string, unknown> => ({
  iss: WRITTEN.issuer,
  aud: WRITTEN.audience,
  sub: 'user-1',
  azp: 'app',
  iat: it.now / SECOND_MS,
  exp: it.now / SECOND_MS + 600,
  scp: 'patient/*.rs openid',
  'https://example.org/tenants': 'a',
  ...more,
})

const ask = (it: TestIssuer, more: object = {}, header: object = {}, tenant?: string) =>
  it.verifyToken(signToken(OTHER_KEY, claimsOf(it, more), header), tenant)

const THERE = 'auth.example.org/realms/a'

describe('A token of another issuer', () => {
  it('names the caller by configured claims, separate from local names', async () => {
    const it = trusting()
    const more = {
      patient_id: 'Patient/p-1',
      profile: 'Practitioner/1',
      preferred_username: 'jane',
      patient: 'other',
      client_id: 'other',
      acts_for: ['x'],
    }
    expect(await ask(it, more)).toEqual({
      ...{ tenant: 'a', client: `app@${THERE}`, subject: `user-1@${THERE}`, user: 'jane', scopes: ['patient/*.rs', 'openid'] },
      ...{ patient: 'p-1', fhirUser: 'Practitioner/1', clientAuth: 'none', issuer: WRITTEN.issuer, expires: it.now + 600 * SECOND_MS },
      patientScopesWithoutContext: 'all',
    })
    expect(it.callCounts).toEqual({ keys: 0, revocations: 1, documents: 1, persons: 0 })
  })

  it.each([
    ['system/*.cruds', ['system/Observation.rs', 'system/Patient.rs?gender=female']],
    [['system/Observation.r', 'user/*.rs', 1, 'system/admin'], ['system/Observation.r']],
    ['patient/Observation.read system/Patient.u', ['patient/Observation.read']],
  ])('is limited to the scopes of its issuer: %j', async (scp, scopes) => expect((await ask(trusting(), { scp })).scopes).toEqual(scopes))

  it.each([
    ['user/*.cruds system/admin'],
    [Array.from({ length: 21 }, (_, i) => `system/Observation.rs?_id=${i}`).join(' ')],
    [''],
    [undefined],
    [[]],
  ])('is rejected without any allowed scope, or with too many conditions: %j', async (scp) => {
    await expect(ask(trusting(), { scp })).rejects.toMatchObject({ status: 401 })
  })

  it.each([
    ['b', undefined, 'b'],
    ['c', undefined, 401],
    [['b', 'c'], 'b', 'b'],
    [['b', 'c'], undefined, 'b'],
    [['b', 'c'], 'c', 403],
    [['c', 'd'], 'c', 401],
    ['*', 'a', 'a'],
    ['*', 'c', 403],
    [undefined, 'a', 403],
  ])('is checked for its tenants: %j with X-Tenant-Id %j gives %p', async (claim, header, expected) => {
    const asked = ask(trusting(), { 'https://example.org/tenants': claim }, {}, header)
    if (typeof expected === 'string') expect((await asked).tenant).toBe(expected)
    else await expect(asked).rejects.toMatchObject({ status: expected })
  })

  it.each([
    ['default', 200],
    ['*', 200],
    [['default', 'b'], 200],
    ['b', 403],
    [['a', 'b'], 403],
    [undefined, 403],
  ])('requires the default tenant without tenancy: %j gives %p', async (claim, status) => {
    const it = trusting({ tenants: ['a', 'b', 'default'] }, { tenancy: false })
    const asked = ask(it, { 'https://example.org/tenants': claim })
    if (status === 200) expect((await asked).tenant).toBe('default')
    else await expect(asked).rejects.toMatchObject({ status })
  })

  it('has the tenants of its issuer without a tenant claim', async () => {
    const { tenant: _, ...claims } = WRITTEN.claims
    expect((await ask(trusting({ claims, tenants: 'b' }))).tenant).toBe('b')
    expect((await ask(trusting({ claims }), {}, {}, 'b')).tenant).toBe('b')
    await expect(ask(trusting({ claims }))).rejects.toMatchObject({ status: 400 })
    await expect(ask(trusting({ claims }), {}, {}, 'c')).rejects.toMatchObject({ status: 403 })
  })

  it.each([
    [{ aud: BASE_URL }, {}],
    [{ aud: 'app' }, {}],
    [{ iss: 'https://auth.example.org/realms/b' }, {}],
    [{ iss: `${WRITTEN.issuer}/` }, {}],
    [{ azp: undefined }, {}],
    [{ sub: undefined }, {}],
    [{ exp: undefined }, {}],
    [{ iat: undefined }, {}],
    [{ exp: 1 }, {}],
    [{ patient_id: 'a b' }, {}],
    [{ typ: 'ID' }, {}],
    [{ typ: 'Refresh' }, {}],
    [{ token_use: 'id' }, {}],
    [{ nonce: 'n' }, {}],
    [{ at_hash: 'h' }, {}],
    [{ events: {} }, {}],
    [{}, { typ: 'logout+jwt' }],
    [{}, { typ: 'dpop+jwt' }],
    [{}, { crit: ['exp'] }],
  ])('is rejected with %j %j', async (more, header) => {
    await expect(ask(trusting(), more, header)).rejects.toMatchObject({ status: 401 })
  })

  it.each([
    [{ typ: 'Bearer' }, { typ: 'at+jwt' }],
    [{ token_use: 'access' }, { typ: undefined }],
    [{}, { typ: 'application/at+JWT' }],
  ])('is accepted with %j %j', async (more, header) => expect(await ask(trusting(), more, header)).toMatchObject({ tenant: 'a' }))

  it('is valid under its own key only, and a local token never under that', async () => {
    const it = trusting()
    await expect(it.verifyToken(signToken(KEY, claimsOf(it)))).rejects.toMatchObject({ status: 401 })
    await expect(it.verifyToken(it.token({ tenant: 'a' }, OTHER_KEY))).rejects.toMatchObject({ status: 401 })
    expect(await it.verifyToken(it.token({ tenant: 'a' }))).toMatchObject({ client: 'app' })
  })

  it.each(['client:app', 'user:user-1', 'jti:1', 'sid:1'] as const)('is revoked by a separate %s, not by the local one', async (own) => {
    const it = trusting()
    for (const mark of ['client:app', 'user:user-1', 'jti:1', 'sid:1'] as const) it.revoked.set(mark, it.now)
    const token = signToken(OTHER_KEY, claimsOf(it, { jti: '1', sid: '1' }))
    expect(await it.verifyToken(token)).toMatchObject({ client: `app@${THERE}` })
    it.revoked.set(`${own}@${THERE}`, it.now)
    it.now += 3 * SECOND_MS
    await expect(it.verifyToken(token)).rejects.toMatchObject({ status: 401 })
  })

  it.each([
    [['app', 'other'], {}],
    [{ azpacr: '2' }, { azpacr: '2' }],
  ])('counts as authenticated by assertion and without a user if its issuer says so: %j', async (assertion, more) => {
    const token = await ask(trusting({ assertion }), more)
    expect(token).toMatchObject({ clientAuth: 'assertion', actsForItself: true, subject: `user-1@${THERE}` })
  })

  it.each([
    [['other'], {}],
    [['app'], { patient_id: 'p-1' }],
    [['app'], { profile: 'Practitioner/1' }],
    [['app'], { patient: 'p-1' }],
    [{ azpacr: '2' }, { azpacr: '2', fhirUser: 'Practitioner/1' }],
    [{ azpacr: '2' }, { azpacr: '1' }],
    [{ azpacr: '2' }, { azpacr: ['2'] }],
    [{ azpacr: '2' }, {}],
  ])('does not count as authenticated by assertion with %j and %j', async (assertion, more) => {
    const token = await ask(trusting({ assertion }), more)
    expect([token.clientAuth, token.actsForItself]).toEqual(['none', undefined])
  })

  it('is not accepted for this server, even if configured so', async () => {
    const it = createTestIssuer({ externalIssuers: issuersOf({ issuer: BASE_URL, audience: BASE_URL }) })
    publishing(it, OTHER_KEY.published)
    await expect(it.verifyToken(it.token({}, OTHER_KEY))).rejects.toMatchObject({ status: 401 })
    expect(it.callCounts.documents).toBe(0)
  })
})

describe('Algorithms', () => {
  const tokenBy = (it: TestIssuer, alg: string, secret: KeyObject, hash: string | null) => {
    const text = `${base64UrlOf({ alg, kid: 'k', typ: 'JWT' })}.${base64UrlOf(claimsOf(it))}`
    return `${text}.${sign(hash, Buffer.from(text), { key: secret, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
  }
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' })
  const ed = generateKeyPairSync('ed25519')
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const jwkOf = ({ publicKey }: { publicKey: KeyObject }) => ({ ...publicKey.export({ format: 'jwk' }), kid: 'k' })

  it.each([
    ['ES384', ec, 'sha384', 200],
    ['EdDSA', ed, null, 200],
    ['RS256', ec, 'sha256', 401],
    ['RS256', small, 'sha256', 401],
  ] as const)('accept or reject %s', async (alg, pair, hash, expected) => {
    const it = trusting()
    publishing(it, jwkOf(pair))
    const asked = it.verifyToken(tokenBy(it, alg, pair.privateKey, hash))
    if (expected === 200) expect(await asked).toMatchObject({ tenant: 'a' })
    else await expect(asked).rejects.toMatchObject({ status: expected })
  })
})

describe('Its keys', () => {
  it('are fetched once for many, and again after five minutes in the background', async () => {
    const it = trusting()
    await Promise.all(Array.from({ length: 50 }, (_, i) => ask(it, { sub: `user-${i}` })))
    expect(it.callCounts.documents).toBe(1)
    it.now += 300 * SECOND_MS
    await ask(it)
    await settleBackgroundReads()
    expect(it.callCounts.documents).toBe(2)
  })

  it('remain valid while they cannot be fetched again', async () => {
    const it = trusting()
    await ask(it)
    it.broken.documents = new Error('not there')
    for (let minutes = 0; minutes < 20; minutes++) {
      it.now += 60 * SECOND_MS
      expect(await ask(it)).toMatchObject({ tenant: 'a' })
      await settleBackgroundReads()
    }
    expect(it.callCounts.documents).toBe(17)
    expect(it.reported[0]).toMatchObject({
      message: `the keys of ${WRITTEN.jwksUri} cannot be fetched: they are no JSON Web Key Set`,
      cause: it.broken.documents,
    })
  })

  it.each(['', '{', '[]', '{}', '{"keys":{}}', '{"keys":null}', 'null'])('are rejected if malformed: %p', async (document) => {
    const it = trusting()
    it.documents.set(WRITTEN.jwksUri, document)
    await expect(ask(it)).rejects.toMatchObject({ fault: 'unavailable' })
  })

  it('are found among keys for other purposes', async () => {
    const it = trusting()
    const { kid: _, ...nameless } = OTHER_KEY.published
    const others = [
      null,
      1,
      {},
      nameless,
      { ...newKey().published, use: 'enc' },
      { kty: 'oct', k: 'AAAA', kid: 'k' },
      { ...OTHER_KEY.published, n: '!' },
    ]
    publishing(it, ...others, OTHER_KEY.published)
    expect(await ask(it)).toMatchObject({ tenant: 'a' })
  })

  it('are not fetched again for made-up names within ten seconds', async () => {
    const it = trusting()
    await ask(it)
    for (let i = 0; i < 100; i++) await expect(ask(it, {}, { kid: `made-up-${i}` })).rejects.toMatchObject({ status: 401 })
    expect(it.callCounts.documents).toBe(1)
  })

  it('are cached for a thousand URLs', async () => {
    let count = 0
    const keys = jwksCache({
      fetchDocument: async () => ({ bytes: Buffer.from(JSON.stringify({ keys: [{ ...OTHER_KEY.published, kid: String(count++) }] })) }),
      clock: { now: () => 0 },
      report: () => undefined,
    })
    for (let i = 0; i < 1_001; i++) expect((await keys(`https://a/${i}`, false)).map(({ kid }) => kid)).toEqual([String(i)])
    await keys('https://a/1000', false)
    // Asked for again as fresh, but it has just been read.
    await keys('https://a/1000', true)
    expect(count).toBe(1_001)
    await keys('https://a/0', false)
    expect(count).toBe(1_002)
  })
})

describe('The configuration of issuers', () => {
  it('has default names of claims', () => {
    const { claims: _, tenants: __, ...written } = WRITTEN
    expect(parseIssuers(JSON.stringify([written]))).toEqual([
      {
        issuer: WRITTEN.issuer,
        audience: WRITTEN.audience,
        jwksUri: WRITTEN.jwksUri,
        tenants: 'default',
        scopes: WRITTEN.scopes.split(' '),
        names: { scope: 'scope', client: 'client_id', patient: 'patient', fhirUser: 'fhirUser' },
        assertion: { clients: [] },
      },
    ])
    expect(parseIssuers('')).toEqual([])
  })

  const tenants = 'a tenant, a list of tenants, or "*"; a tenant is 1 to 64 letters, digits, "_" and "-"'
  it.each([
    ['text', /^it is no JSON: Unexpected token/],
    ['{}', 'it must be a JSON list of issuers'],
    [JSON.stringify(WRITTEN), 'it must be a JSON list of issuers'],
    ['[1]', '[0] must be an object, but is 1'],
    [JSON.stringify(Array(21).fill(WRITTEN)), 'there are more than 20 issuers'],
    [JSON.stringify([WRITTEN, WRITTEN]), '[1].issuer is that of [0] again'],
    [JSON.stringify([WRITTEN, { ...WRITTEN, issuer: 'https://b.example', scopes: 'a' }]), '[1].scopes: "a" is no scope of this server'],
    ...(
      [
        [{ issuer: 'http://a.example' }, '.issuer must be an https URL, as it stands in iss, but is "http://a.example"'],
        [{ issuer: undefined }, '.issuer is missing: an https URL, as it stands in iss'],
        [{ jwksUri: 'http://a.example/keys' }, '.jwksUri must be an https URL, but is "http://a.example/keys"'],
        [{ jwksUri: 'file:///etc/passwd' }, '.jwksUri must be an https URL, but is "file:///etc/passwd"'],
        [{ audience: '' }, '.audience must be a text, as it stands in aud, but is ""'],
        [{ audience: ['a'] }, '.audience must be a text, as it stands in aud, but is ["a"]'],
        [{ scopes: '' }, '.scopes must be a text of scopes with spaces between, but is ""'],
        [{ scopes: ['system/*.rs'] }, '.scopes must be a text of scopes with spaces between, but is ["system/*.rs"]'],
        [{ scopes: 'system/*.rs system/Nonsense.rs' }, '.scopes: "system/Nonsense.rs" is no scope of this server'],
        [{ tenants: [] }, `.tenants must be ${tenants}, but is []`],
        [{ tenants: 'a b' }, `.tenants must be ${tenants}, but is "a b"`],
        [{ claims: 'a' }, '.claims must be an object, but is "a"'],
        [{ claims: { scope: '' } }, '.claims.scope must be the name of a claim, but is ""'],
        [{ claims: { scope: 'a"b' } }, '.claims.scope must be the name of a claim, but is "a\\"b"'],
        [{ claims: { sub: 'oid' } }, '.claims.sub is not a claim that can be renamed. Accepted: scope, client, patient, fhirUser, tenant'],
        [
          { claims: { toString: 'a' } },
          '.claims.toString is not a claim that can be renamed. Accepted: scope, client, patient, fhirUser, tenant',
        ],
        [{ claims: { client: 'sub' } }, '.claims.client must be a claim of its own, but is that of subject: users would count as clients'],
        [
          { claims: { client: 'p', patient: 'p' } },
          '.claims.client must be a claim of its own, but is that of patient: users would count as clients',
        ],
        [
          { claims: { client: 'fhirUser' } },
          '.claims.client must be a claim of its own, but is that of fhirUser: users would count as clients',
        ],
        [
          { claims: { tenant: 'client_id' } },
          '.claims.client must be a claim of its own, but is that of tenant: users would count as clients',
        ],
        ...['nightly', [''], {}, { azpacr: '2', acr: '1' }, { azpacr: 2 }, { 'a b': '2' }].map(
          (assertion) =>
            [
              { assertion },
              `.assertion must be a list of clients, or an object with one claim and its value, but is ${JSON.stringify(assertion)}`,
            ] as const,
        ),
        [{ tenants: ['a'] }, '.tenants opens nothing here: with FHIR_TENANCY off there is only "default"'],
        [{ tenant: 'a' }, '.tenant is not a member of an issuer. Accepted: issuer, audience, jwksUri, tenants, scopes, claims, assertion'],
        [{ issuer: 'x'.repeat(1_000) }, `.issuer must be an https URL, as it stands in iss, but is "${'x'.repeat(99)}…`],
      ] as const
    ).map(([more, why]) => [JSON.stringify([{ ...WRITTEN, ...more }]), `[0]${why}`] as const),
  ] as const)('is rejected: %s', (text, why) => {
    const told = (): unknown => {
      try {
        return readConfig({ FHIR_EXTERNAL_ISSUERS: text })
      } catch (error) {
        return error instanceof RangeError ? error.message : error
      }
    }
    expect(told()).toEqual(
      typeof why === 'string' ? `FHIR_EXTERNAL_ISSUERS: ${why}` : expect.stringContaining('it is no JSON: Unexpected token'),
    )
  })
})
