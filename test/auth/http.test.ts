/** The authorization server over HTTP: where it is found, in which form it refuses, and what it knows of who asks. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { pathBelowBase } from '../../lambdas/http/base-path.ts'
import { requestOf } from '../../lambdas/http/gateway-event.ts'
import { openConnection } from '../http/front.ts'
import { CLIENT_SECRET, claimsOf } from './authorization.ts'
import { type AuthServer, startAuthServer } from './served.ts'

let there: AuthServer

beforeAll(async () => {
  there = await startAuthServer()
  await there.auth.addClient('app')
})

afterAll(() => there.close())

const FORM = { client_id: 'app', client_secret: CLIENT_SECRET, grant_type: 'client_credentials' }

it('its configuration is also served at the root of the origin', async () => {
  const { base, origin } = there
  for (const name of ['smart-configuration', 'openid-configuration', 'oauth-authorization-server']) {
    const wanted = (await (await fetch(`${base}/.well-known/${name}`)).json()) as { readonly issuer: string }
    for (const url of [`${origin}/.well-known/${name}`, `${origin}/.well-known/${name}/fhir`]) {
      const response = await fetch(url)
      expect([url, response.status, await response.json()]).toEqual([url, 200, wanted])
    }
    expect(wanted.issuer).toBe(base)
  }
  for (const path of [
    '/.well-known/other',
    '/.well-known/smart-configuration/other',
    '/.well-known/smart-configuration/fhir/more',
    '/auth/token',
  ])
    expect([path, (await fetch(origin + path)).status]).toEqual([path, 404])
  expect([pathBelowBase('/.well-known/openid-configuration', ''), pathBelowBase('/a', '/ab'), pathBelowBase('/ab/c', '/ab')]).toEqual([
    '/.well-known/openid-configuration',
    undefined,
    '/c',
  ])
})

it('a token names the address of its client', async () => {
  const response = await fetch(`${there.base}/auth/token`, { method: 'POST', body: new URLSearchParams(FORM) })
  const { access_token } = (await response.json()) as { access_token: string }
  expect(claimsOf(access_token).clientAddress).toBe('127.0.0.1')
  const event = { httpMethod: 'POST', resource: '/auth/token', requestContext: { identity: { sourceIp: '203.0.113.7', userArn: null } } }
  expect(requestOf(event)).toMatchObject({ address: '203.0.113.7', path: '/auth/token' })
  expect(requestOf(event).arn).toBeUndefined()
})

it('overload is answered 503, as an OAuth error or an OperationOutcome', async () => {
  const busy = await startAuthServer({}, 0)
  try {
    const response = await fetch(`${busy.base}/auth/token`, { method: 'POST', body: new URLSearchParams(FORM) })
    expect([response.status, response.headers.get('retry-after'), await response.json()]).toEqual([
      503,
      '1',
      { error: 'temporarily_unavailable', error_description: expect.any(String) },
    ])
    const fhir = await fetch(`${busy.base}/Patient`)
    expect([fhir.status, ((await fhir.json()) as { resourceType: string }).resourceType]).toEqual([503, 'OperationOutcome'])
  } finally {
    await busy.close()
  }
})

it('a form above 64 kB is rejected with 413 while it arrives', async () => {
  const asked = new URLSearchParams(FORM).toString()
  const padded = (bytes: number) => `${asked}&x=`.padEnd(bytes, 'x')
  const post = (body: string) =>
    fetch(`${there.base}/auth/token`, { method: 'POST', body, headers: { 'content-type': 'application/x-www-form-urlencoded' } })
  expect([(await post(padded(65_536))).status, (await post(padded(65_537))).status]).toEqual([200, 413])
  const head = ['POST /fhir/auth/token HTTP/1.1', 'host: 127.0.0.1', 'content-length: 900000', '', ''].join('\r\n')
  // What is beyond is waited for a while, for who sends reads last; not to its end.
  const line = openConnection(Number(new URL(there.origin).port), head + 'x'.repeat(4 * 65_536 + 1))
  expect(await line.ended).toMatch(/^HTTP\/1\.1 413 .*connection: close.*"error":"invalid_request"/is)
  const event = { httpMethod: 'POST', resource: '/auth/token', body: padded(65_537) }
  expect((await there.auth.serve(requestOf(event), 'id')).status).toBe(413)
})

it('HEAD is answered like GET, OPTIONS with CORS headers', async () => {
  const head = await fetch(`${there.base}/auth/jwks`, { method: 'HEAD' })
  expect([head.status, Number(head.headers.get('content-length')) > 300, await head.text()]).toEqual([200, true, ''])
  const origin = { origin: 'http://localhost:3000' }
  const options = await fetch(`${there.base}/auth/token`, { method: 'OPTIONS', headers: origin })
  expect([options.status, options.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
})

it('a server for this machine only rejects foreign origins with 403', async () => {
  const response = await fetch(`${there.base}/auth/jwks`, { headers: { origin: 'https://evil.example' } })
  expect([response.status, await response.json()]).toEqual([403, { error: 'access_denied', error_description: expect.any(String) }])
})

it('a path in another spelling has the same errors and CORS headers', async () => {
  const { base } = there
  const headers = { origin: 'http://127.0.0.1:1' }
  for (const path of ['//auth/token', '/%61uth/token', '/auth//token', '/auth/token/']) {
    const body = new URLSearchParams({ ...FORM, client_secret: 'wrong' })
    const response = await fetch(base + path, { method: 'POST', body, headers })
    expect([path, response.status, ((await response.json()) as { readonly error: string }).error]).toEqual([path, 401, 'invalid_client'])
    expect([path, response.headers.get('access-control-allow-origin')]).toEqual([path, '*'])
  }
  for (const path of ['//auth/nothing', '/%61uth/nothing']) {
    const response = await fetch(base + path)
    expect([path, response.status, Object.keys((await response.json()) as object)]).toEqual([path, 404, ['error', 'error_description']])
  }
  for (const path of ['//auth/account', '/%61uth/account', '/auth/account', '/auth/%61ccount']) {
    const response = await fetch(base + path, { headers, redirect: 'manual' })
    expect([path, response.headers.get('access-control-allow-origin')]).toEqual([path, null])
  }
})
