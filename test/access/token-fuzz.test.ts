/** Whatever is sent as a token, the answer is 401, and never another; what it costs is counted. https://www.rfc-editor.org/rfc/rfc8725 */
import { constants, createHmac, createPublicKey, createSign, sign } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { FhirError } from '../../lambdas/fhir/outcome.ts'
import { type Random, randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../fixtures/long-runs.ts'
import { BASE_URL, base64UrlOf, createTestIssuer, KEY, OTHER_KEY, SECOND_MS, signToken, type TestIssuer } from './issuing.ts'

const ROUNDS = caseCountOf(3_000, 200_000)

/** As it says itself, and by nobody's key. */
const withSignature = (header: object | string, payload: object | string, signature: string): string =>
  `${base64UrlOf(header)}.${base64UrlOf(payload)}.${signature}`

const hmac = (secret: string | Buffer, header: object, payload: object): string => {
  const text = `${base64UrlOf(header)}.${base64UrlOf(payload)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

const { kid, n } = KEY.published
const EVIL = 'https://evil.example/keys'
const publicKey = (type: 'spki' | 'pkcs1', format: 'pem' | 'der') =>
  createPublicKey(KEY.secret).export({ type, format } as never) as unknown as string | Buffer

/** Text of JSON with a member before what stands there. */
const twice = (tree: object, member: string): string => `{${member},${JSON.stringify(tree).slice(1)}`

const ATTACKS: Readonly<Record<string, (it: TestIssuer) => readonly string[]>> = {
  'no algorithm': (it) =>
    ['none', 'None', 'NONE', 'nOnE', ''].flatMap((alg) =>
      ['', 'AAAA'].map((signature) => withSignature({ alg, kid }, it.claims(), signature)),
    ),
  'the public key as a secret': (it) =>
    [
      publicKey('spki', 'pem'),
      publicKey('spki', 'der'),
      publicKey('pkcs1', 'pem'),
      n,
      Buffer.from(n, 'base64url'),
      JSON.stringify(KEY.published),
    ].flatMap((secret) => ['HS256', 'RS256'].map((alg) => hmac(secret, { alg, kid }, it.claims()))),
  'another key under the name of ours': (it) => [signToken(OTHER_KEY, it.claims(), { kid })],
  'our key under another name': (it) =>
    [
      undefined,
      null,
      '',
      1,
      [kid],
      { kid },
      `${kid} `,
      '../../dev/null',
      '__proto__',
      'constructor',
      "' OR 1=1",
      'k'.repeat(5_000),
      OTHER_KEY.published.kid,
    ].map((other) => signToken(KEY, it.claims(), { kid: other })),
  'a key that it brings along': (it) =>
    [{ jwk: OTHER_KEY.published }, { jku: EVIL }, { x5u: EVIL }, { x5c: ['MIIB'] }].flatMap((brought) =>
      [kid, OTHER_KEY.published.kid].map((named) => signToken(OTHER_KEY, it.claims(), { ...brought, kid: named })),
    ),
  'an extension that must be understood': (it) =>
    [['exp'], ['b64'], [], 'exp', null].map((crit) => signToken(KEY, it.claims(), { crit, b64: false })),
  'another algorithm of our key': (it) =>
    ['RS384', 'RS512', 'ES256', 'EdDSA', 'PS256', 'rs256', ' RS256'].map((alg) => signToken(KEY, it.claims(), { alg })),
  'another algorithm than it says': (it) => {
    const text = `${base64UrlOf({ alg: 'RS256', kid })}.${base64UrlOf(it.claims())}`
    const pss = { key: KEY.secret, padding: constants.RSA_PKCS1_PSS_PADDING }
    return [
      createSign('RSA-SHA512').update(text).sign(KEY.secret),
      createSign('RSA-SHA256').update(text).sign(pss),
      sign('RSA-SHA1', Buffer.from(text), KEY.secret),
    ].map((signature) => `${text}.${signature.toString('base64url')}`)
  },
  'parts of several tokens': (it) => {
    const [a, b] = [it.token().split('.'), it.token({ scope: 'system/*.cruds' }).split('.')]
    return [
      `${a[0]}.${b[1]}.${a[2]}`,
      `${a[0]}.${a[1]}.${b[2]}`,
      `${a[0]}.${a[1]}`,
      `${a[0]}.${a[1]}.`,
      `${a.join('.')}.`,
      `.${a.join('.')}`,
      [...a, ...b].join('.'),
      [...a, 'a', 'b'].join('.'),
    ]
  },
  'members twice': (it) => [
    signToken(KEY, twice(it.claims(), '"exp":1')),
    signToken(KEY, twice(it.claims(), '"scope":"system/*.cruds"')),
    signToken(KEY, twice(it.claims(), '"\\u0073cope":"system/*.cruds"')),
    signToken(KEY, it.claims(), twice({ alg: 'RS256', kid }, '"alg":"none"')),
    signToken(KEY, it.claims(), twice({ alg: 'RS256', kid }, `"kid":"${OTHER_KEY.published.kid}"`)),
    signToken(KEY, twice(it.claims(), '"__proto__":{"scope":"system/*.cruds"}')),
  ],
  'what is no object of JSON': (it) =>
    [
      '',
      '[]',
      'null',
      '1',
      '"a"',
      '{',
      '{}',
      '{"a":1}{}',
      `\uFEFF${JSON.stringify(it.claims())}`,
      '['.repeat(3_000),
      '{"a":'.repeat(1_000),
      '\u0000',
      '{"iss":"\\u0000"}',
    ].flatMap((text) => [signToken(KEY, text), signToken(KEY, it.claims(), text)]),
  'bytes that are no text': (it) => {
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url')
    return [`${bytes}.${bytes}.AAAA`, `${base64UrlOf({ alg: 'RS256', kid })}.${bytes}.AAAA`, `${bytes}.${base64UrlOf(it.claims())}.AAAA`]
  },
  'another spelling of the same bytes': (it) => {
    const [head, payload, signature] = it.token().split('.') as [string, string, string]
    const standard = (part: string) => Buffer.from(part, 'base64url').toString('base64')
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const next = last[(last.indexOf(signature.at(-1)!) + 1) % 64]!
    return [
      `${standard(head)}.${standard(payload)}.${standard(signature)}`,
      `${head}.${payload}.${signature}==`,
      `${head}.${payload}.${signature.slice(0, -1)}${next}`,
      `${head}.${payload}.${signature}\u00e9`,
      `${head}.\n${payload}.${signature}`,
      `${head} . ${payload} . ${signature}`,
      `"${head}.${payload}.${signature}"`,
    ]
  },
  'another kind of token': (it) => [
    it.token({ typ: 'ID', nonce: 'n' }),
    it.token({ typ: 'Refresh' }),
    it.token({ typ: undefined, iss: 'app', sub: 'app', aud: `${BASE_URL}/auth/token` }),
    signToken(KEY, { iss: BASE_URL, sub: 'u-1', aud: 'app', exp: it.now / SECOND_MS + 300, iat: it.now / SECOND_MS }),
    // What refresh tokens and codes look like.
    'c29tZSByYW5kb20gYnl0ZXMgb2YgYSByZWZyZXNo',
    `${it.token()}.${it.token()}`.split('.').slice(0, 5).join('.'),
  ],
  'times that are none': (it) =>
    [null, '1', 'Infinity', -1, 0, [it.now], {}, true].flatMap((time) => [
      it.token({ exp: time }),
      ...(time === -1 || time === 0 ? [] : [it.token({ iat: time }), it.token({ nbf: time ?? 'x' })]),
    ]),
  'what is not yet': (it) => [
    it.token({ nbf: it.now / SECOND_MS + 61 }),
    it.token({ iat: it.now / SECOND_MS + 61 }),
    it.token({ nbf: 1e300 }),
    it.token({ iat: 9e15 }),
  ],
  'another issuer or audience': (it) =>
    [undefined, null, '', 'app', [BASE_URL], {}, `${BASE_URL}/`, BASE_URL.toUpperCase(), BASE_URL.replace('https', 'http')].flatMap(
      (other) => [...(Array.isArray(other) ? [] : [it.token({ aud: other })]), it.token({ iss: other })],
    ),
  'more than is looked at': (it) => [
    it.token({ scope: 'system/*.rs '.repeat(2_000) }),
    'a'.repeat(100_000),
    '.'.repeat(8_000),
    'a.'.repeat(4_000),
    ' '.repeat(8_000),
  ],
}

async function refused(it: TestIssuer, token: string): Promise<void> {
  let error: unknown
  try {
    await it.verifyToken(token)
  } catch (thrown) {
    error = thrown
  }
  if (!(error instanceof FhirError)) throw new Error(`${token} was answered by ${error}`)
  const challenge = error.headers['www-authenticate'] ?? ''
  const fits =
    error.status === 401 &&
    error.issues[0]?.code === 'login' &&
    /^Bearer realm="fhir", error="invalid_token", error_description="[ -!#-[\]-~]+"$/.test(challenge)
  if (!fits) throw new Error(`${token} was answered by ${error.status} ${challenge}`)
}

describe('A token that is an attack', () => {
  it.each(Object.keys(ATTACKS))('is rejected, with bounded work: %s', async (name) => {
    const it = createTestIssuer()
    const attacks = ATTACKS[name]!(it)
    for (const token of attacks) await refused(it, token)
    expect(it.signatures()).toBeLessThanOrEqual(attacks.length)
    expect([it.callCounts.keys <= 1, it.callCounts.revocations, it.callCounts.documents, it.reported]).toEqual([true, 0, 0, []])
    expect(await it.verifyToken(it.token())).toMatchObject({ client: 'app' })
  })
})

/** One to three changes somewhere. */
function changed(random: Random, token: string): string {
  const letters = 'ABab01-_.=+/ "{}\u00e9'
  let text = token
  for (let changes = 1 + random.below(3); changes > 0; changes--) {
    const at = random.below(text.length)
    const [before, after] = [text.slice(0, at), text.slice(at)]
    const length = 1 + random.below(40)
    text = random.pick([
      () => before + random.pick([...letters]) + after.slice(1),
      () => before + random.pick([...letters]) + after,
      () => before + after.slice(length),
      () => before + after.slice(0, length) + after,
      () => before,
      () => after,
      () => text.split('.').toReversed().join('.'),
      () => before + random.pick([...letters]).repeat(length * 50) + after,
    ])()
  }
  return text
}

it(`${ROUNDS} mutated tokens are rejected, each verified at most once`, async () => {
  const it = createTestIssuer()
  const random = randomOf(14 + firstSeed())
  const tokens = [it.token(), it.token({ scope: 'patient/*.rs', patient: '1', fhirUser: 'Patient/1' }), it.token({ typ: 'ID' })]
  await it.verifyToken(tokens[0]!)
  for (let round = 0; round < ROUNDS; round++) {
    const token = changed(random, random.pick(tokens))
    if (!tokens.includes(token.trim())) await refused(it, token)
  }
  expect(it.signatures()).toBeLessThanOrEqual(ROUNDS + 1)
  expect([it.callCounts, it.reported]).toEqual([{ keys: 1, revocations: 1, documents: 0, persons: 0 }, []])
})
