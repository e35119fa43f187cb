/** Backend services: clients that sign what they say, and everything that is no such signature. */
import { sign } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Element } from '../../../lambdas/fhir/resource.ts'
import {
  type AssertionChanges,
  assertionFormOf,
  createKeyPair,
  encodePart,
  type KeyPair,
  signAssertion,
  signHmacAssertion,
} from '../assertions.ts'
import { BASE_URL, CLIENT_SECRET, claimsOf, createAuthorization, START_TIME, type TestAuthorization } from '../authorization.ts'

let auth: TestAuthorization
let rsa: KeyPair
let ec: KeyPair
let other: KeyPair
let fetched: readonly Element[] = []
const asked: (readonly [string, boolean])[] = []

const S = START_TIME / 1000

beforeAll(async () => {
  ;[rsa, ec, other] = [await createKeyPair('RS384', 'rsa'), await createKeyPair('ES384', 'ec'), await createKeyPair('RS384', 'rsa')]
  auth = await createAuthorization({
    async keySource(uri, fresh) {
      asked.push([uri, fresh])
      if (fetched.length === 0) throw new Error('not reached')
      return fetched
    },
  })
  await auth.addClient('signer', { authentication: { kind: 'keys', keys: [rsa.jwk, ec.jwk] } })
  await auth.addClient('elsewhere', { authentication: { kind: 'uri', uri: 'https://keys.example/jwks' } })
  await auth.addClient('secretive')
})

beforeEach(async () => {
  auth.audited.length = asked.length = 0
  // Failures are counted: here each test is the first.
  for (const kept of await auth.grants.listOf('attempts', 'client')) await auth.grants.remove('attempts', kept.key)
})

const send = (text: string, more: Record<string, string> = {}) =>
  auth.ask('POST', '/auth/token', { form: { ...assertionFormOf(text), ...more } })

describe('a client with private_key_jwt', () => {
  it.each(['RS384', 'ES384'])('gets a token of five minutes with client_auth=assertion for %s', async (alg) => {
    const { status, body } = await send(signAssertion(alg === 'RS384' ? rsa : ec, 'signer', START_TIME))
    expect([status, body.expires_in, body.refresh_expires_in]).toEqual([200, 300, 0])
    expect(claimsOf(body.access_token)).toMatchObject({ client_auth: 'assertion', sub: 'signer', iat: S, exp: S + 300 })
    expect(auth.audited).toMatchObject([{ client: 'signer', status: 200 }])
  })

  it('is limited to the same algorithms if its key names none', async () => {
    const { alg: _, ...jwk } = rsa.jwk
    await auth.addClient('loose', { authentication: { kind: 'keys', keys: [jwk] } })
    expect((await send(signAssertion(rsa, 'loose', START_TIME))).status).toBe(200)
    const claims = { iss: 'loose', sub: 'loose', aud: `${BASE_URL}/auth/token`, exp: S + 60, jti: 'weak' }
    const text = `${encodePart({ alg: 'RS256', kid: 'rsa' })}.${encodePart(claims)}`
    expect((await send(`${text}.${sign('sha256', Buffer.from(text), rsa.secret).toString('base64url')}`)).status).toBe(401)
  })

  it('may also send its own client_id, and no other', async () => {
    expect((await send(signAssertion(rsa, 'signer', START_TIME), { client_id: 'signer' })).status).toBe(200)
    expect((await send(signAssertion(rsa, 'signer', START_TIME), { client_id: 'elsewhere' })).status).toBe(401)
  })

  it('may name several audiences with the token endpoint, or the issuer', async () => {
    for (const aud of [['https://other.example', `${BASE_URL}/auth/token`], BASE_URL])
      expect((await send(signAssertion(rsa, 'signer', START_TIME, { claims: { aud } }))).status).toBe(200)
  })

  it('cannot reuse a jti, even concurrently; another client may use the same', async () => {
    const once = signAssertion(rsa, 'signer', START_TIME, { claims: { jti: 'same' } })
    const statuses = await Promise.all([once, once, once].map(async (text) => (await send(text)).status))
    expect(statuses.toSorted()).toEqual([200, 401, 401])
    fetched = [rsa.jwk]
    expect((await send(signAssertion(rsa, 'elsewhere', START_TIME, { claims: { jti: 'same' } }))).status).toBe(200)
  })

  it('cannot reuse an assertion while it is valid, clock tolerance included', async () => {
    const own = await createAuthorization()
    await own.addClient('signer', { authentication: { kind: 'keys', keys: [rsa.jwk] } })
    const statusOf = async (text: string) => (await own.ask('POST', '/auth/token', { form: assertionFormOf(text) })).status
    const [once, unused] = [signAssertion(rsa, 'signer', START_TIME), signAssertion(rsa, 'signer', START_TIME)]
    expect(await statusOf(once)).toBe(200)
    own.later(63_000)
    expect([await statusOf(once), await statusOf(unused)]).toEqual([401, 200])
  })

  it('may name its registered jwks_uri in jku', async () => {
    fetched = [ec.jwk]
    expect((await send(signAssertion(ec, 'elsewhere', START_TIME, changed({ jku: 'https://keys.example/jwks' })))).status).toBe(200)
  })

  it('may be issued within the tolerance of clocks', async () =>
    expect((await send(signAssertion(rsa, 'signer', START_TIME, { claims: { iat: S + 5 } }))).status).toBe(200))

  it('may publish its keys, which are fetched again once for an unknown kid', async () => {
    fetched = [ec.jwk]
    expect((await send(signAssertion(ec, 'elsewhere', START_TIME))).status).toBe(200)
    expect((await send(signAssertion(rsa, 'elsewhere', START_TIME))).status).toBe(401)
    const uri = 'https://keys.example/jwks'
    expect(asked).toEqual([
      [uri, false],
      [uri, false],
      [uri, true],
    ])
    fetched = []
    for (let i = 0; i < 20; i++)
      expect(await send(signAssertion(ec, 'elsewhere', START_TIME))).toMatchObject({
        status: 503,
        body: { error: 'temporarily_unavailable' },
      })
  })
})

const changed = (header: Element, claims?: Element | string): AssertionChanges => ({ header, ...(claims === undefined ? {} : { claims }) })
const right = { iss: 'signer', sub: 'signer', aud: `${BASE_URL}/auth/token`, exp: S + 60, jti: 'x' }

/** Each is refused, and none breaks anything. */
const WRONG: Readonly<Record<string, () => string>> = {
  'alg none': () => `${encodePart({ alg: 'none', kid: 'rsa' })}.${encodePart(right)}.`,
  'alg none with a signature': () => signAssertion(rsa, 'signer', START_TIME, changed({ alg: 'none' })),
  'alg NoNe': () => signAssertion(rsa, 'signer', START_TIME, changed({ alg: 'NoNe' })),
  'a public key as secret of HMAC': () => signHmacAssertion(JSON.stringify(rsa.jwk), { alg: 'HS384', kid: 'rsa' }, right),
  'a public key as secret of HMAC, said to be RSA': () => signHmacAssertion(JSON.stringify(rsa.jwk), { alg: 'RS384', kid: 'rsa' }, right),
  'an alg that is not taken': () => signAssertion(rsa, 'signer', START_TIME, changed({ alg: 'RS256' })),
  'an alg of another key': () => signAssertion(rsa, 'signer', START_TIME, changed({ alg: 'ES384' })),
  'the kid of another key': () => signAssertion(rsa, 'signer', START_TIME, changed({ kid: 'ec' })),
  'an unknown kid': () => signAssertion(rsa, 'signer', START_TIME, changed({ kid: 'unknown' })),
  'no kid': () => signAssertion(rsa, 'signer', START_TIME, { header: JSON.stringify({ alg: 'RS384', typ: 'JWT' }) }),
  'a kid that is a path': () => signAssertion(rsa, 'signer', START_TIME, changed({ kid: '../../etc/passwd' })),
  'a kid that is no text': () => signAssertion(rsa, 'signer', START_TIME, changed({ kid: { a: 1 } })),
  'a foreign key with the same kid': () => signAssertion(other, 'signer', START_TIME),
  'a key that it brings along': () => signAssertion(other, 'signer', START_TIME, changed({ jwk: other.jwk })),
  'a key that it brings along, under another kid': () =>
    signAssertion(other, 'signer', START_TIME, changed({ jwk: other.jwk, kid: 'mine' })),
  'a key from where it says': () => signAssertion(other, 'signer', START_TIME, changed({ jku: 'https://evil.example/jwks', kid: 'mine' })),
  'a certificate from where it says': () =>
    signAssertion(other, 'signer', START_TIME, changed({ x5u: 'https://evil.example/c', x5c: ['AAAA'] })),
  'an unknown crit': () => signAssertion(rsa, 'signer', START_TIME, changed({ crit: ['exp2'], exp2: 1 })),
  'crit that is empty': () => signAssertion(rsa, 'signer', START_TIME, changed({ crit: [] })),
  'a payload that is not encoded': () => signAssertion(rsa, 'signer', START_TIME, changed({ crit: ['b64'], b64: false })),
  'another typ': () => signAssertion(rsa, 'signer', START_TIME, changed({ typ: 'at+jwt' })),
  'a typ that is no text': () => signAssertion(rsa, 'signer', START_TIME, changed({ typ: 7 })),
  'no claims': () => signAssertion(rsa, 'signer', START_TIME, { claims: '{}' }),
  'claims that are a list': () => signAssertion(rsa, 'signer', START_TIME, { claims: '[]' }),
  'claims that are no JSON': () => signAssertion(rsa, 'signer', START_TIME, { claims: 'not json' }),
  'claims that are null': () => signAssertion(rsa, 'signer', START_TIME, { claims: 'null' }),
  'a header that is null': () => signAssertion(rsa, 'signer', START_TIME, { header: 'null' }),
  'claims that stand twice': () => signAssertion(rsa, 'signer', START_TIME, { claims: `{"iss":"admin",${JSON.stringify(right).slice(1)}` }),
  'a header that stands twice': () => signAssertion(rsa, 'signer', START_TIME, { header: '{"alg":"none","alg":"RS384","kid":"rsa"}' }),
  'claims that are very deep': () => signAssertion(rsa, 'signer', START_TIME, { claims: '['.repeat(4_000) }),
  'a signature that is cut': () => signAssertion(rsa, 'signer', START_TIME).slice(0, -10),
  'no signature': () => signAssertion(rsa, 'signer', START_TIME).replace(/[^.]+$/, ''),
  'two parts': () => signAssertion(rsa, 'signer', START_TIME).replace(/\.[^.]+$/, ''),
  'five parts': () => `${signAssertion(rsa, 'signer', START_TIME)}.a.b`,
  'only dots': () => '..',
  'a text other than a JWT': () => 'abc',
  'a signature of other claims': () => {
    const [header, , signature] = signAssertion(rsa, 'signer', START_TIME).split('.')
    return `${header}.${encodePart({ ...right, exp: S + 61 })}.${signature}`
  },
  'a huge one': () => signAssertion(rsa, 'signer', START_TIME, { claims: { ...right, more: 'x'.repeat(20_000) } }),
  'one of another client': () => {
    fetched = [ec.jwk]
    return signAssertion(rsa, 'elsewhere', START_TIME)
  },
  'iss that is not sub': () => signAssertion(rsa, 'signer', START_TIME, { claims: { iss: 'elsewhere' } }),
  'sub that names a member, of a client that is no partner': () =>
    signAssertion(rsa, 'signer', START_TIME, { claims: { sub: 'Patient/1' } }),
  'iss that is no text': () => signAssertion(rsa, 'signer', START_TIME, { claims: { iss: 1, sub: 1 } }),
  'another audience': () => signAssertion(rsa, 'signer', START_TIME, { claims: { aud: 'https://fhir.example' } }),
  'an audience that begins as ours': () => signAssertion(rsa, 'signer', START_TIME, { claims: { aud: `${BASE_URL}/auth/tokens` } }),
  'no audience': () => signAssertion(rsa, 'signer', START_TIME, { claims: { aud: null } }),
  'one that has expired': () => signAssertion(rsa, 'signer', START_TIME, { claims: { exp: S - 6 } }),
  'one that lives too long': () => signAssertion(rsa, 'signer', START_TIME, { claims: { exp: S + 306 } }),
  'one that lives for ever': () => signAssertion(rsa, 'signer', START_TIME, { claims: { exp: 1e300 } }),
  'exp that is no number': () => signAssertion(rsa, 'signer', START_TIME, { claims: { exp: '2030' } }),
  'no exp': () => signAssertion(rsa, 'signer', START_TIME, { claims: { exp: null } }),
  'one that is not valid yet': () => signAssertion(rsa, 'signer', START_TIME, { claims: { nbf: S + 30 } }),
  'one issued in the future': () => signAssertion(rsa, 'signer', START_TIME, { claims: { iat: S + 6 } }),
  'a jku, of a client without one': () => signAssertion(rsa, 'signer', START_TIME, changed({ jku: 'https://keys.example/jwks' })),
  'a jku other than the registered one': () => {
    fetched = [ec.jwk]
    return signAssertion(ec, 'elsewhere', START_TIME, changed({ jku: 'https://evil.example/jwks' }))
  },
  'a space after the signature': () => `${signAssertion(rsa, 'signer', START_TIME)} `,
  'a newline after the signature': () => `${signAssertion(rsa, 'signer', START_TIME)}\n`,
  'a space in the signature': () => signAssertion(rsa, 'signer', START_TIME).replace(/.{9}$/, ' $&'),
  'padding after the signature': () => `${signAssertion(rsa, 'signer', START_TIME)}==`,
  'a newline in the claims': () => signAssertion(rsa, 'signer', START_TIME).replace('.', '.\n'),
  'no jti': () => signAssertion(rsa, 'signer', START_TIME, { claims: { jti: null } }),
  'an empty jti': () => signAssertion(rsa, 'signer', START_TIME, { claims: { jti: '' } }),
  'a jti that is a number': () => signAssertion(rsa, 'signer', START_TIME, { claims: { jti: 7 } }),
  'a jti that is huge': () => signAssertion(rsa, 'signer', START_TIME, { claims: { jti: 'x'.repeat(300) } }),
  'one of a client that has a secret': () => signAssertion(rsa, 'secretive', START_TIME),
}

describe('an invalid assertion', () => {
  it.each(Object.keys(WRONG))('is rejected as invalid_client: %s', async (name) => {
    const { status, body, text } = await send(WRONG[name]!())
    expect([status, body.error]).toEqual([401, 'invalid_client'])
    expect([auth.reported, text.length < 400]).toEqual([[], true])
    expect(auth.audited).toMatchObject([{ interaction: 'token', status: 401, outcome: 'invalid_client' }])
    expect(asked.every(([uri]) => uri === 'https://keys.example/jwks')).toBe(true)
  })

  const clock = `the clock of this server, ${new Date(START_TIME).toISOString()}`

  it.each([
    [{ exp: S - 6 }, `It has expired: exp is 6 seconds behind ${clock}`],
    [{ exp: S + 306 }, `exp is 306 seconds ahead of ${clock}, and at most 300 may be: it counts seconds since 1970`],
    [{ nbf: S + 30 }, `nbf is 30 seconds ahead of ${clock}, and none may be: it counts seconds since 1970`],
    [{ aud: `${BASE_URL}/fhir` }, `aud has to be the token endpoint, ${BASE_URL}/auth/token`],
    [{ exp: '2030' }, 'exp is missing, or not what it has to be: exp, nbf and iat are seconds since 1970'],
    [{ jti: '' }, 'jti has to be a text of 1 to 256 characters, another one each time'],
  ])('is explained in error_description: %j', async (claims, reason) => {
    const { body } = await send(signAssertion(rsa, 'signer', START_TIME, { claims: claims as Element }))
    expect(body.error_description).toBe(`The assertion is invalid: ${reason}`)
  })

  it('is answered 400 for an unknown client, another type, or a missing assertion', async () => {
    expect(await send(signAssertion(rsa, 'nobody', START_TIME))).toMatchObject({ status: 400, body: { error: 'invalid_client' } })
    const form = assertionFormOf(signAssertion(rsa, 'signer', START_TIME))
    for (const wrong of [
      { ...form, client_assertion_type: 'other' },
      { ...form, client_assertion_type: '' },
      { ...form, client_assertion: '' },
      { ...form, client_secret: CLIENT_SECRET },
    ])
      expect(await auth.ask('POST', '/auth/token', { form: wrong })).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
  })

  it('is rejected, without an internal error, if truncated or altered anywhere', async () => {
    const whole = signAssertion(ec, 'signer', START_TIME)
    for (let at = 0; at < whole.length; at += 3) {
      for (const kept of await auth.grants.listOf('attempts', 'client')) await auth.grants.remove('attempts', kept.key)
      const flipped = whole.slice(0, at) + (whole[at] === 'A' ? 'Q' : 'A') + whole.slice(at + 1)
      for (const text of [whole.slice(0, at), flipped]) {
        const { status } = await send(text)
        expect([at, status === 401 || status === 400]).toEqual([at, true])
      }
    }
    expect(auth.reported).toEqual([])
  })
})
