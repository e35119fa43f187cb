/** The grants as clients of others ask for them: openid-client, which is certified, and fhir-kit-client. */
import { generateKeyPair, subtle } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { Client as FhirKitClient } from 'fhir-kit-client'
import { exportJWK } from 'jose'
import * as openid from 'openid-client'
import { CLIENT_SECRET } from './authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from './browser.ts'
import { type AuthServer, startAuthServer } from './served.ts'

const BACK = 'https://app.example/back'
let there: AuthServer
let keys: { readonly key: openid.CryptoKey; readonly kid: string }

beforeAll(async () => {
  there = await startAuthServer({ patients: [{ id: '1', name: 'Ann' }] })
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2_048 })
  const kind = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-384' }
  const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' })
  keys = { key: (await subtle.importKey('pkcs8', pkcs8, kind, false, ['sign'])) as openid.CryptoKey, kid: 'a' }
  const scopes = ['openid', 'fhirUser', 'profile', 'offline_access', 'launch/patient', 'patient/*.rs', 'user/*.rs', 'system/*.rs']
  const common = { scopes, redirectUris: [BACK] }
  await there.auth.addClient('secretive', common)
  await there.auth.addClient('native', { ...common, authentication: { kind: 'public' } })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'a', alg: 'RS384', use: 'sig' }
  await there.auth.addClient('signer', { ...common, authentication: { kind: 'keys', keys: [jwk] } })
  await there.auth.addUser('ann', { fhirUser: 'Practitioner/7' })
})

afterAll(() => there.close())

/** How it proves who it is, and what is to be expected of it. */
const CLIENTS = {
  'a secret in the body': { id: 'secretive', auth: () => openid.ClientSecretPost(CLIENT_SECRET), life: 3_600 },
  'a secret by Basic': { id: 'secretive', auth: () => openid.ClientSecretBasic(CLIENT_SECRET), life: 3_600 },
  'a signed assertion': { id: 'signer', auth: () => openid.PrivateKeyJwt(keys), life: 300 },
  'its name alone': { id: 'native', auth: () => openid.None(), life: 3_600 },
}

async function configured(name: keyof typeof CLIENTS, algorithm: 'oidc' | 'oauth2' = 'oidc'): Promise<openid.Configuration> {
  const { id, auth } = CLIENTS[name]
  return openid.discovery(new URL(there.base), id, undefined, auth(), { algorithm, execute: [openid.allowInsecureRequests] })
}

const names = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]

it.each(names)('a client with %s obtains, refreshes, introspects and revokes tokens of a user', async (name) => {
  const config = await configured(name)
  const [verifier, state, nonce] = [openid.randomPKCECodeVerifier(), openid.randomState(), openid.randomNonce()]
  const asked = {
    redirect_uri: BACK,
    scope: 'openid fhirUser offline_access launch/patient patient/*.rs',
    aud: there.base,
    ...{ state, nonce, code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
  }
  const url = openid.buildAuthorizationUrl(config, { ...asked, prompt: 'consent' })
  const user = openBrowser(there.auth, there.base)
  const picker = await logIn(user, await user.open('/auth/authorize', Object.fromEntries(url.searchParams)), 'ann')
  const { uri, sent } = redirectOf(await allowAccess(user, await user.submit(picker, [['chosen_patient', '1']], 1)))
  const back = new URL(`${uri}?${new URLSearchParams(sent)}`)
  const tokens = await openid.authorizationCodeGrant(config, back, {
    ...{ expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true },
  })
  expect([tokens.patient, tokens.expires_in, tokens.claims()?.fhirUser]).toEqual(['1', CLIENTS[name].life, `${there.base}/Practitioner/7`])
  const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!)
  expect([refreshed.scope, refreshed.claims()?.sub]).toEqual([tokens.scope, 'subject-of-ann'])
  if (name !== 'its name alone')
    expect(await openid.tokenIntrospection(config, refreshed.access_token)).toMatchObject({
      active: true,
      client_id: CLIENTS[name].id,
      patient: '1',
    })
  await openid.tokenRevocation(config, refreshed.refresh_token!)
  await expect(openid.refreshTokenGrant(config, refreshed.refresh_token!)).rejects.toMatchObject({ error: 'invalid_grant', status: 400 })
})

it.each(names.filter((name) => name !== 'its name alone'))('a client with %s obtains tokens for itself', async (name) => {
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const tokens = await openid.clientCredentialsGrant(await configured(name, algorithm), { scope: 'system/Patient.rs' })
    expect([tokens.scope, tokens.expires_in, tokens.token_type]).toEqual(['system/Patient.rs', CLIENTS[name].life, 'bearer'])
  }
})

it('a client with a wrong secret gets a Basic challenge', async () => {
  const config = await openid.discovery(new URL(there.base), 'secretive', undefined, openid.ClientSecretBasic('wrong'), {
    execute: [openid.allowInsecureRequests],
  })
  const wrong = openid.clientCredentialsGrant(config, { scope: 'system/*.rs' })
  await expect(wrong).rejects.toMatchObject({ status: 401, cause: [{ scheme: 'basic', parameters: { realm: there.base } }] })
})

it('fhir-kit-client finds the endpoints', async () => {
  const client = new FhirKitClient({ baseUrl: there.base })
  const { authorizeUrl, tokenUrl } = await client.smartAuthMetadata()
  expect([String(authorizeUrl), String(tokenUrl)]).toEqual([`${there.base}/auth/authorize`, `${there.base}/auth/token`])
})
