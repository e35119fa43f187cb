/** Access tokens of this server: who they say asks, until when, and how soon one that was revoked no longer counts. */
import { describe, expect, it } from '@jest/globals'
import { CachedToken, TokenCache } from '../../../lambdas/access/verification/token-cache.ts'
import { ALL_TOKENS, type RevocationKey } from '../../../lambdas/ports/rows/revocations.ts'
import { BASE_URL, createTestIssuer, KEY, OTHER_KEY, SECOND_MS, settleBackgroundReads, signToken, type TestIssuer } from '../issuing.ts'

const CHOSEN = { patientScopesWithoutContext: 'all' }
const CLIENT = {
  ...CHOSEN,
  client: 'app',
  subject: 'app',
  scopes: ['system/*.rs'],
  clientAuth: 'secret',
  issuer: BASE_URL,
  tenant: 'default',
}

const refusal = (why: string) => ({
  status: 401,
  issues: [{ severity: 'error', code: 'login', text: why }],
  headers: { 'www-authenticate': `Bearer realm="fhir", error="invalid_token", error_description="${why}"` },
})

describe('A token', () => {
  it('identifies its client and its expiry', async () => {
    const it = createTestIssuer()
    expect(await it.verifyToken(it.token())).toEqual({ ...CLIENT, expires: it.now + 300 * SECOND_MS })
  })

  it('has the consistency of its client', async () => {
    const it = createTestIssuer()
    for (const consistency of ['eventual', 'strong']) expect(await it.verifyToken(it.token({ consistency }))).toMatchObject({ consistency })
    for (const consistency of ['weak', true, undefined])
      expect(await it.verifyToken(it.token({ consistency }))).not.toHaveProperty('consistency')
  })

  it('identifies its user and its context', async () => {
    const it = createTestIssuer()
    it.persons.set('RelatedPerson/1', ['p-1'])
    const user = {
      sub: 'u-1',
      preferred_username: 'jörg',
      fhirUser: 'RelatedPerson/1',
      scope: 'patient/*.rs openid openid',
      client_auth: 'none',
      acts_for: ['p-1'],
    }
    expect(await it.verifyToken(it.token({ ...user, patient: 'p-1', encounter: 'Encounter/e.1' }))).toEqual({
      ...{ client: 'app', subject: 'u-1', user: 'jörg', fhirUser: 'RelatedPerson/1', patient: 'p-1', encounter: 'e.1', tenant: 'default' },
      ...{
        ...CHOSEN,
        scopes: ['patient/*.rs', 'openid'],
        clientAuth: 'none',
        actsFor: ['p-1'],
        issuer: BASE_URL,
        expires: it.now + 300 * SECOND_MS,
      },
    })
  })

  it.each(['bearer', 'BEARER', 'Bearer  '])('is accepted with the scheme as %p', async (scheme) => {
    const it = createTestIssuer()
    expect(await it.verify(`${scheme} ${it.token()}`, undefined)).toMatchObject(CLIENT)
  })

  it.each([
    ['Basic YTpi', 'The header Authorization is not Bearer and a token'],
    ['', 'The header Authorization is not Bearer and a token'],
    ['Bearer', 'The header Authorization is not Bearer and a token'],
    ['Bearer ', 'The token is malformed'],
    ['Bearer a.b.c', 'The token is malformed'],
  ])('is rejected as %p', async (header, why) => {
    await expect(createTestIssuer().verify(header, undefined)).rejects.toMatchObject(refusal(why))
  })

  it('is rejected if there are two', async () => {
    const it = createTestIssuer()
    await expect(it.verify(`Bearer ${it.token()}, Bearer ${it.token()}`, undefined)).rejects.toMatchObject(
      refusal('The token is malformed'),
    )
  })

  it('is rejected above 8 kB without verification', async () => {
    const it = createTestIssuer()
    await expect(it.verifyToken('a'.repeat(8_192))).rejects.toMatchObject(
      refusal('The header Authorization is longer than 8192 characters'),
    )
    expect([it.signatures(), it.callCounts.keys]).toEqual([0, 0])
  })
})

describe('The claims of a token', () => {
  const no = (claim: string) => `The claim ${claim} of the token is missing or malformed`
  it.each([
    [{ iss: 'https://evil.example' }, 'The issuer of the token is not one of this server'],
    [{ iss: `${BASE_URL}/` }, 'The issuer of the token is not one of this server'],
    [{ aud: 'https://evil.example' }, 'The token is not meant for this server'],
    [{ aud: [] }, 'The token is not meant for this server'],
    [{ aud: undefined }, 'The token is not meant for this server'],
    [{ typ: 'ID' }, 'The token is no access token'],
    [{ typ: 'Refresh' }, 'The token is no access token'],
    [{ typ: undefined }, 'The token is no access token'],
    [{ exp: undefined }, 'The token does not say from when until when it counts'],
    [{ iat: undefined }, 'The token does not say from when until when it counts'],
    [{ exp: '1e99' }, 'The token is malformed'],
    [{ jti: undefined }, no('jti')],
    [{ sid: undefined }, no('sid')],
    [{ sub: undefined }, no('sub')],
    [{ client_id: undefined }, no('client_id')],
    [{ client_id: { a: 1 } }, no('client_id')],
    [{ client_id: 'a'.repeat(256) }, no('client_id')],
    [{ preferred_username: 'a\nb' }, no('preferred_username')],
    [{ scope: ['system/*.rs'] }, 'The token is malformed'],
    [{ client_auth: 'guess' }, 'The token does not say how its client proved itself'],
    // What is no patient must not look like none: without one, a client may see all.
    [{ patient: '' }, no('patient')],
    [{ patient: 'Practitioner/1' }, no('patient')],
    [{ patient: 'a b' }, no('patient')],
    [{ patient: null }, no('patient')],
    [{ patient: ['p-1'] }, no('patient')],
    [{ encounter: 'Patient/1' }, no('encounter')],
    [{ acts_for: 'p-1' }, no('acts_for')],
    [{ acts_for: ['Patient/p-1'] }, no('acts_for')],
  ])('are rejected: %j', async (claims, why) => {
    const it = createTestIssuer()
    await expect(it.verifyToken(it.token(claims))).rejects.toMatchObject(refusal(why))
  })

  it('may contain several audiences', async () => {
    const it = createTestIssuer()
    expect(await it.verifyToken(it.token({ aud: ['https://other.example', BASE_URL] }))).toMatchObject(CLIENT)
  })

  it.each([
    [{ exp: 0 }, 'The token has expired'],
    [{ exp: -1 }, 'The token has expired'],
    [{ iat: 61 }, 'The token does not count yet'],
    [{ nbf: 61 }, 'The token does not count yet'],
    [{ exp: 1 }, undefined],
    [{ iat: 60 }, undefined],
    [{ nbf: 60 }, undefined],
  ])('are checked with times in seconds from now, %j: %p', async (times, why) => {
    const it = createTestIssuer()
    const claims = Object.fromEntries(Object.entries(times).map(([name, seconds]) => [name, it.now / SECOND_MS + seconds]))
    const asked = it.verifyToken(it.token(claims))
    if (why === undefined) expect(await asked).toMatchObject(CLIENT)
    else await expect(asked).rejects.toMatchObject(refusal(why))
  })
})

describe('A repeated token', () => {
  it('is verified once, and returns the same object', async () => {
    const it = createTestIssuer()
    const token = it.token()
    const first = await it.verifyToken(token)
    for (let i = 0; i < 100; i++) expect(await it.verifyToken(token)).toBe(first)
    expect([it.signatures(), it.callCounts]).toEqual([1, { keys: 1, revocations: 1, documents: 0, persons: 0 }])
  })

  it('is verified once for a hundred concurrent requests', async () => {
    const it = createTestIssuer()
    const token = it.token()
    await Promise.all(Array.from({ length: 100 }, () => it.verifyToken(token)))
    expect([it.signatures(), it.callCounts]).toEqual([1, { keys: 1, revocations: 1, documents: 0, persons: 0 }])
  })

  it('is valid until it expires', async () => {
    const it = createTestIssuer()
    const token = it.token()
    await it.verifyToken(token)
    it.now += 300 * SECOND_MS - 1
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.now += 1
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token has expired'))
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token has expired'))
  })

  it('is cached within six million characters', () => {
    const remembered = new TokenCache()
    const token = new CachedToken({} as never, { generation: 1 } as never)
    for (let i = 0; i < 6_000; i++) remembered.keep(`hash ${i}`, token, 1_000)
    remembered.forget('hash 3')
    const known = () => [0, 1, 2, 3, 4, 5_999, 6_000, 6_001].filter((i) => remembered.find(`hash ${i}`) !== undefined)
    expect(known()).toEqual([0, 1, 2, 4, 5_999])
    remembered.keep('hash 6000', token, 1_000)
    expect(known()).toEqual([0, 1, 2, 4, 5_999, 6_000])
    remembered.keep('hash 6001', token, 1_001)
    expect(known()).toEqual([2, 4, 5_999, 6_000, 6_001])
  })
})

describe('A revoked token', () => {
  const MARKS = [(jti: string) => `jti:${jti}` as const, () => 'sid:sid-1' as const, () => 'client:app' as const, () => 'user:app' as const]
  const revoking = async (
    it: TestIssuer,
    mark: (jti: string) => `jti:${string}` | 'sid:sid-1' | 'client:app' | 'user:app',
    before: number,
  ) => {
    const claims = it.claims()
    const token = signToken(KEY, claims)
    await it.verifyToken(token)
    it.revoked.set(mark(claims.jti as string), before)
    return token
  }

  it.each(MARKS)('is rejected within three seconds, and then without a lookup: %s', async (mark) => {
    const it = createTestIssuer()
    const token = await revoking(it, mark, it.now)
    it.now += 3 * SECOND_MS - 1
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.now += 1
    for (let i = 0; i < 3; i++) await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token was revoked'))
    expect([it.signatures(), it.callCounts.revocations]).toEqual([1, 2])
  })

  it('is rejected at once without a lag', async () => {
    const it = createTestIssuer({ revocationLag: 0 })
    const token = await revoking(it, () => 'sid:sid-1', it.now)
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token was revoked'))
  })

  it('is one issued before the revocation', async () => {
    const it = createTestIssuer()
    const token = await revoking(it, () => 'client:app', it.now - 1)
    it.now += 3 * SECOND_MS
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.revoked.set('client:app', it.now)
    it.now += 3 * SECOND_MS
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token was revoked'))
    expect(await it.verifyToken(it.token())).toMatchObject(CLIENT)
  })

  it.each([
    ['client', { client_generation: 'g1' }, 'client:app g1'],
    ['user', { sub: 'ann', client_generation: 'g1', user_generation: 'g2' }, 'user:ann g2'],
  ] as const)('is one of a revoked generation of its %s, whenever issued', async (_, claims, mark) => {
    const it = createTestIssuer()
    it.revoked
      .set('client:app', it.now)
      .set('user:ann', it.now)
      .set(mark, it.now + 1_000 * SECOND_MS)
    await expect(it.verifyToken(it.token(claims))).rejects.toMatchObject(refusal('The token was revoked'))
    it.revoked.delete(mark)
    expect((await it.verifyToken(it.token(claims))).client).toBe('app')
  })

  it.each([
    ['a client', {}],
    ['a user', { sub: 'ann', client_generation: 'g1', user_generation: 'g2' }],
    ['a backend service', { client_auth: 'assertion', scope: 'system/*.cruds' }],
  ])('is any issued before the revocation of all tokens, with a reason: %s', async (_, claims) => {
    const it = createTestIssuer()
    const [before, after] = [it.token(claims), it.token({ ...claims, iat: it.now / SECOND_MS + 1 })]
    expect((await it.verifyToken(before)).client).toBe('app')
    it.revoked.set(ALL_TOKENS, it.now)
    it.now += 3 * SECOND_MS
    await expect(it.verifyToken(before)).rejects.toMatchObject(refusal('The token is from before all tokens were ended: log in again'))
    expect((await it.verifyToken(after)).client).toBe('app')
    expect(it.callCounts.revocations).toBe(3)
  })

  it('is rejected within three seconds although the clock was set back', async () => {
    const it = createTestIssuer()
    const token = it.token({ exp: it.now / SECOND_MS + 300, iat: it.now / SECOND_MS - 7_200 })
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.now -= 60 * 60 * SECOND_MS
    it.revoked.set('client:app', it.now)
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token was revoked'))
  })

  it('is not admitted by an earlier lookup, however long it takes', async () => {
    const answers: ((found: ReadonlyMap<RevocationKey, number>) => void)[] = []
    const it = createTestIssuer({ revocations: { revoked: () => new Promise((resolve) => answers.push(resolve)) } })
    const token = it.token()
    const early = it.verifyToken(token)
    await settleBackgroundReads()
    it.now += 3 * SECOND_MS
    const late = it.verifyToken(token)
    await settleBackgroundReads()
    expect(answers.length).toBe(2)
    answers[0]!(new Map())
    expect(await early).toMatchObject(CLIENT)
    answers[1]!(new Map([['client:app', it.now]]))
    await expect(late).rejects.toMatchObject(refusal('The token was revoked'))
    await expect(it.verifyToken(token)).rejects.toMatchObject(refusal('The token was revoked'))
  })

  it('may be any token without the store: then verification is 503', async () => {
    const it = createTestIssuer()
    const token = it.token()
    it.broken.revocations = new Error('the disk is gone')
    for (let i = 0; i < 2; i++)
      await expect(it.verifyToken(token)).rejects.toMatchObject({ fault: 'unavailable', cause: it.broken.revocations })
    it.broken = {}
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.broken.revocations = new Error('again')
    it.now += 3 * SECOND_MS - 1
    expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    it.now += 1
    await expect(it.verifyToken(token)).rejects.toMatchObject({ fault: 'unavailable' })
  })
})

describe('Keys', () => {
  it('are fetched when new, and those that are gone become invalid', async () => {
    const it = createTestIssuer()
    const old = it.token({ exp: it.now / SECOND_MS + 3_600 })
    expect(await it.verifyToken(old)).toMatchObject(CLIENT)
    it.published.push(OTHER_KEY)
    it.now += 10 * SECOND_MS
    expect(await it.verifyToken(it.token({}, OTHER_KEY))).toMatchObject(CLIENT)
    expect(await it.verifyToken(old)).toMatchObject(CLIENT)
    it.published.shift()
    it.now += 10 * SECOND_MS
    await it.verifyToken(it.token({}, OTHER_KEY))
    await settleBackgroundReads()
    await expect(it.verifyToken(old)).rejects.toMatchObject(refusal('The token is signed with a key that is not known'))
  })

  it('become invalid at once after a pause, or if the clock was set back', async () => {
    for (const later of [60 * 60 * SECOND_MS, -60 * 60 * SECOND_MS]) {
      const it = createTestIssuer({})
      const old = it.token({ iat: it.now / SECOND_MS - 7_200, exp: it.now / SECOND_MS + 7_200 })
      expect(await it.verifyToken(old)).toMatchObject(CLIENT)
      it.published.push(OTHER_KEY)
      it.published.shift()
      it.now += later
      await expect(it.verifyToken(old)).rejects.toMatchObject(refusal('The token is signed with a key that is not known'))
    }
  })

  it('are fetched for unknown names once in ten seconds', async () => {
    const it = createTestIssuer()
    await it.verifyToken(it.token())
    for (let i = 0; i < 100; i++) await expect(it.verifyToken(it.token({}, OTHER_KEY))).rejects.toMatchObject({ status: 401 })
    expect(it.callCounts.keys).toBe(1)
    it.now += 10 * SECOND_MS
    await Promise.all(
      Array.from({ length: 100 }, () => expect(it.verifyToken(it.token({}, OTHER_KEY))).rejects.toMatchObject({ status: 401 })),
    )
    expect([it.callCounts.keys, it.signatures()]).toEqual([2, 1])
  })

  it('remain valid if they cannot be read, which is reported once and retried', async () => {
    const it = createTestIssuer()
    const token = it.token()
    await it.verifyToken(token)
    it.broken.keys = new Error('no store')
    it.now += 10 * SECOND_MS
    for (let i = 0; i < 10; i++) expect(await it.verifyToken(token)).toMatchObject(CLIENT)
    await settleBackgroundReads()
    expect([it.callCounts.keys, it.reported]).toEqual([2, [it.broken.keys]])
    it.now += SECOND_MS
    await it.verifyToken(token)
    await settleBackgroundReads()
    expect([it.callCounts.keys, it.reported.length]).toEqual([3, 1])
  })

  it('cause 503 if they were never read', async () => {
    const it = createTestIssuer()
    it.broken.keys = new Error('no store')
    await expect(it.verifyToken(it.token())).rejects.toMatchObject({ fault: 'unavailable' })
    it.broken = {}
    it.now += SECOND_MS
    expect(await it.verifyToken(it.token())).toMatchObject(CLIENT)
  })

  it('are rotated without a rejected token, since each is published before its use', async () => {
    const it = createTestIssuer()
    const keys = [KEY, OTHER_KEY]
    const issued: string[] = []
    const minute = 60 * SECOND_MS
    for (let at = 0; at < 40; at++, it.now += minute / 2) {
      if (at === 5) it.published.push(OTHER_KEY)
      if (at === 36) it.published.shift()
      issued.push(it.token({}, keys[at >= 25 ? 1 : 0]))
      for (const token of issued.slice(-9)) expect(await it.verifyToken(token)).toMatchObject(CLIENT)
      await settleBackgroundReads()
    }
  })
})
