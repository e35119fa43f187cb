/** Where clients find the endpoints: SMART's configuration, OpenID's, and that of RFC 8414. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { capabilities } from '../../../lambdas/interactions/capabilities/capabilities.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { BASE_URL, createAuthorization, type TestAuthorization } from '../authorization.ts'

let auth: TestAuthorization

beforeAll(async () => {
  auth = await createAuthorization()
})

describe('the configuration', () => {
  it.each(['smart-configuration', 'openid-configuration', 'oauth-authorization-server'])(
    '%s names endpoints and grant types that exist',
    async (name) => {
      const { status, headers, body } = await auth.ask('GET', `/.well-known/${name}`)
      expect([status, headers['content-type'], headers['cache-control']]).toEqual([
        200,
        'application/json; charset=utf-8',
        'public, max-age=300',
      ])
      expect(body).toMatchObject({ issuer: BASE_URL, jwks_uri: `${BASE_URL}/auth/jwks`, token_endpoint: `${BASE_URL}/auth/token` })
      for (const [key, url] of Object.entries(body))
        if (/_endpoint$|_uri$/.test(key)) {
          const path = String(url).slice(BASE_URL.length)
          const statuses = [(await auth.ask('GET', path)).status, (await auth.ask('POST', path, { form: {} })).status]
          expect([key, statuses.includes(404)]).toEqual([key, false])
        }
      for (const grant_type of body.grant_types_supported)
        expect((await auth.ask('POST', '/auth/token', { form: { grant_type } })).body.error).not.toBe('unsupported_grant_type')
    },
  )

  it('omits code_challenge_methods_supported if PKCE is off', async () => {
    const off = await createAuthorization({ choices: { pkce: 'off' } })
    expect((await off.ask('GET', '/.well-known/smart-configuration')).body.code_challenge_methods_supported).toBeUndefined()
  })
})

it('the JWKS holds public keys only', async () => {
  const { body } = await auth.ask('GET', '/auth/jwks')
  expect(body).toEqual({ keys: [{ kty: 'RSA', n: expect.any(String), e: 'AQAB', alg: 'RS256', use: 'sig', kid: expect.any(String) }] })
})

it('the CapabilityStatement names the OAuth endpoints for access by token only', async () => {
  const restOf = async (access: 'token' | 'iam' | 'open') => {
    const answer = capabilities({ clock: { now: () => 0, newId: () => '' }, choices: { ...readConfig({}), access } })
    const { body } = await answer({ baseUrl: BASE_URL, reading: {} } as never)
    return (body as unknown as { rest: { security?: { extension: { extension: { url: string; valueUri: string }[] }[] } }[] }).rest[0]!
  }
  const uris = (await restOf('token')).security!.extension[0]!.extension
  const { body } = await auth.ask('GET', '/.well-known/smart-configuration')
  expect(Object.fromEntries(uris.map(({ url, valueUri }) => [url, valueUri]))).toEqual({
    authorize: body.authorization_endpoint,
    token: body.token_endpoint,
    introspect: body.introspection_endpoint,
    revoke: body.revocation_endpoint,
    register: body.registration_endpoint,
    manage: body.management_endpoint,
  })
  expect([(await restOf('open')).security, (await restOf('iam')).security]).toEqual([undefined, undefined])
})
