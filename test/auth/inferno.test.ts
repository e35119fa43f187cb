/**
 * What Inferno's SMART App Launch kit (STU 2) asserts of a server, as far as it concerns authorization, row by row; each row in one line as
 * the kit means it. https://github.com/inferno-framework/smart-app-launch-test-kit
 */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { makeLaunch } from '../../lambdas/auth/launches.ts'
import { assertion, assertionForm, type KeyPair, keyPair } from './assertions.ts'
import { type Answer, type Authorization, authorization, BASE, SECRET, T0 } from './authorization.ts'
import { allow, backOf, browser, logIn } from './browser.ts'

const BACK = 'https://inferno.example/redirect'
const SCOPES = ['openid', 'fhirUser', 'offline_access', 'launch', 'launch/patient', 'patient/*.rs', 'user/*.rs', 'system/*.rs']
const AS = { client_id: 'inferno', client_secret: SECRET }
const VERIFIER = 'inferno-verifier-0123456789-0123456789-0123'
const PKCE = { code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'), code_challenge_method: 'S256' }

let auth: Authorization
let signer: KeyPair
/** The answers of a launch each. */
let standalone: Answer
let ehr: Answer

async function ask(scope: string, more: Record<string, string> = {}): Promise<Answer> {
  const user = browser(auth)
  const asked = {
    response_type: 'code',
    client_id: 'inferno',
    redirect_uri: BACK,
    aud: BASE,
    state: 's',
    scope,
    prompt: 'consent',
    ...PKCE,
    ...more,
  }
  const page = await logIn(user, await user.open('/auth/authorize', asked), 'ann')
  return allow(user, page.text.includes('Choose a patient') ? await user.submit(page, [['chosen_patient', '1']], 1) : page)
}

const send = (form: Record<string, string>): Promise<Answer> => auth.ask('POST', '/auth/token', { form })
const exchange = (back: Answer): Promise<Answer> =>
  send({ ...AS, grant_type: 'authorization_code', code: backOf(back).sent.code!, redirect_uri: BACK, code_verifier: VERIFIER })
const refresh = (more: Record<string, string> = {}) => send({ ...AS, grant_type: 'refresh_token', ...more })

beforeAll(async () => {
  signer = await keyPair('ES384', 'k')
  auth = await authorization({ patients: [{ id: '1', name: 'Ann', detail: '' }] })
  await auth.addClient('inferno', { redirectUris: [BACK], scopes: SCOPES })
  await auth.addClient('bulk', { scopes: SCOPES, authentication: { kind: 'keys', keys: [signer.jwk] } })
  await auth.addUser('ann', { fhirUser: 'Practitioner/7' })
  standalone = await exchange(await ask('launch/patient openid fhirUser offline_access patient/*.rs'))
  ehr = await exchange(
    await ask('launch openid fhirUser patient/*.rs', {
      launch: await makeLaunch(auth, { client: 'inferno', patient: '1', encounter: 'e' }),
    }),
  )
})

const get = (path: string) => auth.ask('GET', path)
const isUrl = (value: unknown) => expect(URL.canParse(String(value))).toBe(true)

const ROWS: Readonly<Record<string, () => Promise<void>>> = {
  'the well-known endpoint is JSON': async () => {
    const { status, headers } = await get('/.well-known/smart-configuration')
    expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^application\/json/)])
  },
  'the well-known endpoint has the required fields': async () => {
    const { body } = await get('/.well-known/smart-configuration')
    for (const field of ['authorization_endpoint', 'token_endpoint', 'issuer', 'jwks_uri', 'introspection_endpoint', 'revocation_endpoint'])
      isUrl(body[field])
    for (const field of ['capabilities', 'grant_types_supported', 'code_challenge_methods_supported', 'scopes_supported'])
      expect([field, body[field].every((each: unknown) => typeof each === 'string')]).toEqual([field, true])
    expect(body.grant_types_supported).toEqual(expect.arrayContaining(['authorization_code', 'client_credentials']))
    expect(body.code_challenge_methods_supported).toEqual(['S256'])
    expect(body.token_endpoint_auth_methods_supported).toContain('private_key_jwt')
    expect(body.token_endpoint_auth_signing_alg_values_supported).toEqual(expect.arrayContaining(['RS384', 'ES384']))
  },
  'a launch with another aud, another launch, or for another address gets no code': async () => {
    const asked = { response_type: 'code', client_id: 'inferno', redirect_uri: BACK, aud: BASE, scope: 'launch patient/*.rs' }
    for (const wrong of [{ aud: 'https://other.example/fhir' }, { launch: 'invalid' }, { redirect_uri: 'https://other.example' }]) {
      const user = browser(auth)
      await logIn(user, await user.open('/auth/account'), 'ann')
      const { headers, text } = await user.open('/auth/authorize', { ...asked, ...wrong })
      expect([wrong, /[?&]code=/.test(headers.location ?? ''), text.includes('Allow')]).toEqual([wrong, false, false])
    }
  },
  'the state comes back as it was, and the code with it': async () => {
    const { uri, sent } = backOf(await ask('patient/*.rs', { state: '9a8b-ü &=' }))
    expect([uri, sent]).toEqual([BACK, { code: expect.any(String), state: '9a8b-ü &=', iss: BASE }])
  },
  'a token is answered with the required fields, and is not kept by anybody': async () => {
    for (const { status, headers, body } of [standalone, ehr]) {
      expect([status, headers['cache-control'], headers.pragma, headers['content-type']]).toEqual([
        200,
        'no-store',
        'no-cache',
        expect.stringMatching(/^application\/json/),
      ])
      expect([typeof body.access_token, body.token_type.toLowerCase(), Number.isInteger(body.expires_in), typeof body.scope]).toEqual([
        'string',
        'bearer',
        true,
        'string',
      ])
    }
  },
  'the context of the launch comes with it': async () => {
    expect([standalone.body.patient, ehr.body.patient, ehr.body.encounter]).toEqual(['1', '1', 'e'])
    expect([typeof ehr.body.need_patient_banner, ehr.body.smart_style_url]).toEqual(['boolean', `${BASE}/auth/style`])
    expect((await get('/auth/style')).body.color_text).toEqual(expect.any(String))
  },
  'a code is refused with another verifier, without one, and for another client': async () => {
    const code = backOf(await ask('patient/*.rs')).sent.code!
    const form = { grant_type: 'authorization_code', code, redirect_uri: BACK }
    for (const wrong of [
      { ...AS, code_verifier: `${VERIFIER}x` },
      AS,
      { ...assertionForm(assertion(signer, 'bulk', T0)), code_verifier: VERIFIER },
    ])
      expect((await send({ ...wrong, ...form })).status).toBe(400)
    expect((await send({ ...AS, ...form, code: 'invalid', code_verifier: VERIFIER })).status).toBe(400)
    expect((await send({ ...AS, ...form, client_id: 'invalid', code_verifier: VERIFIER })).status).toBe(400)
  },
  'the configuration of OpenID has the required fields, and its keys have what verifies': async () => {
    const { body } = await get('/.well-known/openid-configuration')
    for (const field of ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri']) isUrl(body[field])
    for (const field of ['response_types_supported', 'subject_types_supported', 'id_token_signing_alg_values_supported'])
      expect([field, body[field].length > 0]).toEqual([field, true])
    expect([body.issuer, body.id_token_signing_alg_values_supported]).toEqual([BASE, expect.arrayContaining(['RS256'])])
    for (const key of (await get('/auth/jwks')).body.keys)
      expect([key.kty, typeof key.kid, typeof key.n]).toEqual(['RSA', 'string', 'string'])
  },
  'the ID token is signed by RS256 with a published key, and says who the user is': async () => {
    const keys = createLocalJWKSet((await get('/auth/jwks')).body)
    for (const { body } of [standalone, ehr]) {
      expect(decodeProtectedHeader(body.id_token)).toMatchObject({ alg: 'RS256', kid: expect.any(String) })
      const { payload } = await jwtVerify(body.id_token, keys, { issuer: BASE, audience: 'inferno', currentDate: new Date(T0) })
      expect(payload.sub).toMatch(/^[ -~]{1,255}$/)
      expect(payload.fhirUser).toMatch(
        /^https:\/\/fhir\.example\/fhir\/(?:Patient|Practitioner|RelatedPerson|Person)\/[A-Za-z0-9\-.]{1,64}$/,
      )
    }
  },
  'a token is refreshed without scopes and with them; with what is no token it is not': async () => {
    const { body } = await refresh({ refresh_token: standalone.body.refresh_token })
    expect(body.scope).toBe(standalone.body.scope)
    const again = await refresh({ refresh_token: body.refresh_token, scope: body.scope })
    expect([again.status, again.body.scope, again.headers['cache-control'], again.headers.pragma]).toEqual([
      200,
      body.scope,
      'no-store',
      'no-cache',
    ])
    for (const [name, value] of Object.entries({ refresh_token: 'invalid', client_id: 'invalid' }))
      expect([400, 401]).toContain((await refresh({ refresh_token: again.body.refresh_token, [name]: value })).status)
  },
  'introspection says what the token response said; of what is no token that it is not active': async () => {
    const { body } = await auth.ask('POST', '/auth/introspect', { form: { ...AS, token: ehr.body.access_token } })
    const claims = JSON.parse(Buffer.from(ehr.body.id_token.split('.')[1], 'base64url').toString())
    expect([body.active, body.scope, body.client_id, Number.isInteger(body.exp)]).toEqual([true, ehr.body.scope, 'inferno', true])
    expect([body.patient, body.encounter, body.iss, body.sub, body.fhirUser]).toEqual(['1', 'e', claims.iss, claims.sub, claims.fhirUser])
    expect((await auth.ask('POST', '/auth/introspect', { form: { ...AS, token: 'invalid' } })).body).toEqual({ active: false })
  },
  'a revoked token is not active': async () => {
    const { body } = await exchange(await ask('patient/*.rs'))
    expect((await auth.ask('POST', '/auth/revoke', { form: { ...AS, token: body.access_token } })).status).toBe(200)
    expect((await auth.ask('POST', '/auth/introspect', { form: { ...AS, token: body.access_token } })).body).toEqual({ active: false })
  },
  'scopes are granted as they were asked for, of version 1, version 2, and granular ones': async () => {
    for (const scope of [
      'patient/Observation.read',
      'user/Patient.read patient/Condition.r',
      'patient/Observation.rs?category=http://a|laboratory',
    ])
      expect((await exchange(await ask(scope))).body.scope).toBe(scope)
  },
  'backend services: a token for a signed assertion, and none for anything else': async () => {
    const form = assertionForm(assertion(signer, 'bulk', T0))
    const { status, body } = await send({ ...form, scope: 'system/*.rs' })
    expect([status, body.token_type.toLowerCase(), body.expires_in <= 300, body.scope]).toEqual([200, 'bearer', true, 'system/*.rs'])
    const next = () => assertionForm(assertion(signer, 'bulk', T0))
    expect((await send({ ...next(), grant_type: 'not_a_grant_type' })).status).toBe(400)
    expect((await send({ ...next(), client_assertion_type: 'not_an_assertion_type' })).status).toBe(400)
    expect([400, 401]).toContain((await send(assertionForm('not_a_jwt'))).status)
    expect([400, 401]).toContain((await send(assertionForm(assertion(signer, 'bulk', T0, { claims: { iss: 'not_an_iss' } })))).status)
  },
}

describe('Inferno asserts that', () => {
  it.each(Object.keys(ROWS))('%s', (name) => ROWS[name]!())
})
