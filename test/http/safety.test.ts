/**
 * What keeps the server safe stands on every route there is: each is asked over HTTP from another site, by a broken machine, and as it
 * should be. A new route is walked too; a new kind of safety is one more row of SAFETY.
 */
import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ROUTES, type Route } from '../../lambdas/catalogue/catalogue.ts'
import type { FhirRequest, FhirResponse } from '../../lambdas/interactions/interaction.ts'
import { startTestServer, type TestServer } from './front.ts'

/** What came to an interaction. */
const reached: FhirRequest[] = []

const SECRET = 'the secret of a broken machine'

async function answer(asked: FhirRequest): Promise<FhirResponse> {
  reached.push(asked)
  if (asked.parameters.some(([name]) => name === 'break')) throw new TypeError(SECRET)
  return { status: 200 }
}

let front: TestServer

beforeAll(async () => {
  front = await startTestServer(answer)
})

afterAll(() => front.close())

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }

const JSON_BODY = (resource: object) => ({ type: 'application/fhir+json', text: JSON.stringify(resource) })

/** A body each route takes, where it takes one. */
const bodyOf = ({ method, path, interaction }: Route): { readonly type: string; readonly text: string } | undefined => {
  if (path.endsWith('/_search')) return { type: 'application/x-www-form-urlencoded', text: 'a=b' }
  if (interaction === 'create' || interaction === 'update') return JSON_BODY({ resourceType: 'Patient', id: '1' })
  if (interaction === 'patch') return { type: 'application/json-patch+json', text: '[]' }
  if (interaction === 'export' && method === 'POST') return JSON_BODY({ resourceType: 'Parameters' })
  return interaction === 'bundle' ? JSON_BODY({ resourceType: 'Bundle', type: 'batch' }) : undefined
}

const pathOf = ({ path }: Route): string => path.replace(/\{(\w+)\}/g, (_, name) => (name === 'type' || name === 'owner' ? 'Patient' : '1'))

async function ask(route: Route, headers: Readonly<Record<string, string>> = {}, query = ''): Promise<Answer> {
  front.audited.length = front.reported.length = reached.length = 0
  const body = bodyOf(route)
  const sent = request({
    port: front.port,
    method: route.method,
    path: pathOf(route) + query,
    headers: { accept: '*/*', 'x-request-id': 'given-id', ...(body === undefined ? {} : { 'content-type': body.type }), ...headers },
  })
  sent.end(body?.text)
  const [response] = await once(sent, 'response')
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return { status: response.statusCode, headers: response.headers, text }
}

/** From another site: refused before anything is done, and recorded all the same. */
async function refuses(route: Route, headers: Readonly<Record<string, string>>): Promise<void> {
  const { status, text } = await ask(route, headers)
  expect([status, JSON.parse(text).issue[0].code, reached.length]).toEqual([403, 'security', 0])
  expect(front.audited).toMatchObject([{ interaction: route.interaction, status: 403, requestId: 'given-id' }])
}

const SAFETY: Readonly<Record<string, (route: Route) => Promise<void>>> = {
  'rejects a foreign Host': (route) => refuses(route, { host: 'evil.example' }),
  'rejects a foreign Origin': (route) => refuses(route, { origin: 'http://evil.example' }),
  'rejects Forwarded': (route) => refuses(route, { forwarded: 'for=192.0.2.1;host=fhir.example.org' }),
  'rejects every X-Forwarded header': async (route) => {
    for (const name of ['x-forwarded-for', 'X-Forwarded-Host', 'x-forwarded-prefix']) await refuses(route, { [name]: '' })
  },
  'writes one audit record': async (route) => {
    const { status, headers } = await ask(route)
    expect([status, headers['x-request-id']]).toEqual([200, 'given-id'])
    expect(front.audited).toMatchObject([{ interaction: route.interaction, status: 200, requestId: 'given-id' }])
  },
  'returns only a request id for a machine fault': async (route) => {
    const { status, text } = await ask(route, {}, '?break')
    expect([status, JSON.parse(text).resourceType]).toEqual([500, 'OperationOutcome'])
    expect(text).toContain('given-id')
    expect(text).not.toContain(SECRET)
    expect(front.reported).toMatchObject([{ message: SECRET }])
    expect(front.audited).toMatchObject([{ interaction: route.interaction, status: 500, requestId: 'given-id' }])
  },
  'reads the data of one tenant': async (route) => {
    await ask(route)
    expect([reached.map(({ tenant }) => tenant), front.audited.map(({ tenant }) => tenant)]).toEqual([['default'], ['default']])
  },
}

describe.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  it.each(Object.keys(SAFETY))('%s', (name) => SAFETY[name]!(route))
})

/** What no route leads to, or nobody here answers. */
const ELSEWHERE: readonly Route[] = [
  { method: 'GET', path: '/Patient/1/2/3/4', interaction: 'read' },
  { method: 'DELETE', path: '/metadata', interaction: 'read' },
  { method: 'OPTIONS', path: '/Patient', interaction: 'read' },
]

describe.each(ELSEWHERE.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  it.each([{ host: 'evil.example' }, { origin: 'http://evil.example' }, { 'x-forwarded-proto': 'https' }])(
    'rejects %j',
    async (headers) => {
      const { status, text } = await ask(route, headers as unknown as Record<string, string>)
      expect([status, JSON.parse(text).issue[0].code]).toEqual([403, 'security'])
      expect(front.audited).toMatchObject([{ interaction: 'fallback', status: 403 }])
    },
  )
})
