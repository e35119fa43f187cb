/** Who is let in, and as whom, by each way there is to be known. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { invalidTokenError } from '../../lambdas/access/verification/token-errors.ts'
import { implicitToken } from '../../lambdas/access/verification/verified-token.ts'
import { gatewayAuthenticator, openAuthenticator, tokenAuthenticator, type VerifyToken } from '../../lambdas/http/authenticators.ts'
import type { HttpRequest } from '../../lambdas/http/exchange.ts'
import { requestOf } from '../../lambdas/http/gateway-event.ts'
import type { FhirRequest } from '../../lambdas/interactions/interaction.ts'
import { startTestServer, type TestServer } from './front.ts'

const request = (more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  path: '/Patient/1',
  query: '',
  headers: {},
  body: new Uint8Array(),
  ...more,
})

describe('Without tokens', () => {
  it('an open server grants every client full access', async () => {
    const known = await openAuthenticator(request())
    expect(known).toMatchObject({ tenant: 'default', client: 'open', scopes: ['system/*.cruds', 'system/admin'], issuer: '' })
  })

  const event = { httpMethod: 'GET', resource: '/metadata' }
  it('a function identifies the client by the gateway', async () => {
    const named = requestOf({ ...event, requestContext: { identity: { userArn: 'arn:aws:iam::1:user/a' } } })
    expect(await gatewayAuthenticator(named)).toMatchObject({ tenant: 'default', client: 'arn:aws:iam::1:user/a' })
  })

  it.each([event, { ...event, requestContext: {} }, { ...event, requestContext: { identity: { userArn: null } } }])(
    'a function rejects a request that the gateway does not identify: %j',
    (unnamed) => {
      const asked = requestOf(unnamed)
      expect(() => gatewayAuthenticator(asked)).toThrow(expect.objectContaining({ status: 403 }))
      expect(() => gatewayAuthenticator({ ...asked, headers: { arn: 'arn:aws:iam::1:user/a' } })).toThrow()
    },
  )
})

describe('By token', () => {
  let front: TestServer
  afterEach(() => front.close())

  const verify: VerifyToken = async (authorization, tenant) => {
    if (authorization !== 'Bearer good') throw invalidTokenError('It is not good')
    return { ...implicitToken('app'), tenant: tenant ?? 'one' }
  }

  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const reached: FhirRequest[] = []
    const answer = async (asked: FhirRequest) => {
      reached.push(asked)
      return { status: 200 }
    }
    front = await startTestServer(answer, {}, undefined, tokenAuthenticator(verify))
    const response = await fetch(`http://127.0.0.1:${front.port}${path}`, { headers })
    const body = response.status === 200 ? undefined : ((await response.json()) as { issue: readonly { code: string }[] })
    return { status: response.status, challenge: response.headers.get('www-authenticate'), code: body?.issue[0]?.code, reached }
  }

  it('a request belongs to the client and tenant of its token', async () => {
    const { status, reached } = await ask('/Patient/1', { authorization: 'Bearer good', 'x-tenant-id': 'two' })
    expect([status, reached.map(({ tenant, client }) => [tenant, client])]).toEqual([200, [['two', 'app']]])
    expect(front.audited).toMatchObject([{ tenant: 'two', status: 200 }])
  })

  it('a request without a token is 401 with a challenge and no error', async () => {
    const { reached, ...told } = await ask('/Patient/1')
    expect(told).toEqual({ status: 401, challenge: 'Bearer realm="fhir"', code: 'login' })
    expect([reached, front.audited]).toMatchObject([[], [{ interaction: 'read', tenant: '', status: 401 }]])
  })

  it('a rejected request names the configuration, and no commands on a public server', async () => {
    const told = async (init?: RequestInit) => {
      front = await startTestServer(async () => ({ status: 200 }), {}, undefined, tokenAuthenticator(verify), 'https://fhir.example/fhir')
      const { issue } = (await (await fetch(`http://127.0.0.1:${front.port}/Patient/1`, init)).json()) as {
        issue: readonly { details: { text: string } }[]
      }
      return issue.map(({ details }) => details.text)
    }
    const next = 'https://fhir.example/fhir/.well-known/smart-configuration names where apps get one'
    expect(await told()).toEqual(['Send an access token: Authorization: Bearer …', next])
    await front.close()
    expect(await told({ headers: { authorization: 'Bearer bad' } })).toEqual(['It is not good', next])
  })

  it('an invalid token is rejected, even where none is required', async () => {
    const challenge = 'Bearer realm="fhir", error="invalid_token", error_description="It is not good"'
    expect(await ask('/Patient/1', { authorization: 'Bearer bad' })).toEqual({ status: 401, challenge, code: 'login', reached: [] })
    await front.close()
    expect(await ask('/metadata', { authorization: 'Bearer bad' })).toMatchObject({ status: 401, reached: [] })
  })

  it('metadata requires no token, and then has no tenant', async () => {
    const { status, reached } = await ask('/metadata')
    expect([status, reached.map(({ tenant, client }) => [tenant, client])]).toEqual([200, [['', '']]])
  })

  it.each(['?access_token=good', '?a=b&access%5Ftoken=good'])(
    'a token in the URL is rejected, whatever else is sent: %s',
    async (query) => {
      const { status, challenge, reached } = await ask(`/Patient${query}`, { authorization: 'Bearer good' })
      expect([status, challenge?.includes('error="invalid_request"'), reached]).toEqual([400, true, []])
    },
  )
})
