/** Where clients find the endpoints: SMART's configuration, OpenID's, and that of RFC 8414. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type Authorization, authorization, BASE } from './authorization.ts'

let auth: Authorization

beforeAll(async () => {
  auth = await authorization()
})

describe('the configuration', () => {
  it.each(['smart-configuration', 'openid-configuration', 'oauth-authorization-server'])('%s names what there is', async (name) => {
    const { status, headers, body } = await auth.ask('GET', `/.well-known/${name}`)
    expect([status, headers['content-type'], headers['cache-control']]).toEqual([
      200,
      'application/json; charset=utf-8',
      'public, max-age=300',
    ])
    expect(body).toMatchObject({ issuer: BASE, jwks_uri: `${BASE}/auth/jwks`, token_endpoint: `${BASE}/auth/token` })
    for (const [key, url] of Object.entries(body))
      if (/_endpoint$|_uri$/.test(key)) {
        const path = String(url).slice(BASE.length)
        const statuses = [(await auth.ask('GET', path)).status, (await auth.ask('POST', path, { form: {} })).status]
        expect([key, statuses.includes(404)]).toEqual([key, false])
      }
    for (const grant_type of body.grant_types_supported)
      expect((await auth.ask('POST', '/auth/token', { form: { grant_type } })).body.error).not.toBe('unsupported_grant_type')
  })

  it('has no methods of PKCE where it is off', async () => {
    const off = await authorization({ choices: { pkce: 'off' } })
    expect((await off.ask('GET', '/.well-known/smart-configuration')).body.code_challenge_methods_supported).toBeUndefined()
  })
})

it('the keys are public ones', async () => {
  const { body } = await auth.ask('GET', '/auth/jwks')
  expect(body).toEqual({ keys: [{ kty: 'RSA', n: expect.any(String), e: 'AQAB', alg: 'RS256', use: 'sig', kid: expect.any(String) }] })
})
