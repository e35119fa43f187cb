/** Redirect of browsers to the explorer, and the guarantee that no client of the API notices it. */
import { describe, expect, it } from '@jest/globals'
import { ENDPOINT_ROUTES, ENDPOINTS, INTERACTIONS, ROUTES } from '../../../lambdas/catalogue/catalogue.ts'
import type { HttpRequest } from '../../../lambdas/http/exchange.ts'
import { server } from '../../../lambdas/http/server.ts'
import { acceptsPages } from '../../../lambdas/http/steps/redirect-browsers.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import { auditInto, stepsWith } from '../front.ts'
import { CLIENTS, NAVIGATIONS, pathOf, SHOWN_ROUTES } from '../navigations.ts'

const BASE = 'https://fhir.example/fhir'
const CHROME = NAVIGATIONS.Chrome

const audited: AuditRecord[] = []

/** Server whose interactions return a part of their request. */
function serveWith(hasExplorer: boolean) {
  const steps = stepsWith({ audit: auditInto(audited), origins: ['https://app.example'], loopbackOnly: false, hasExplorer })
  const interactions = Object.fromEntries(
    Object.keys(INTERACTIONS).map((code) => [
      code,
      async ({ type, id, parameters, rawAccept }: object & Record<string, unknown>) => ({
        status: 200,
        headers: { etag: 'W/"1"' },
        body: { resourceType: 'Basic', code: { text: JSON.stringify([code, type, id, parameters, rawAccept]) } },
      }),
    ]),
  )
  const endpoints = Object.fromEntries(
    Object.keys(ENDPOINTS).map((code) => [code, async () => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: code })]),
  )
  const site = { baseUrl: BASE, reading: () => ({}) as never }
  return server({ interactions, endpoints, steps, site } as unknown as Parameters<typeof server>[0])
}

const [withExplorer, without] = [serveWith(true), serveWith(false)]

async function responseOf(serve: typeof withExplorer, target: string, accept: string | undefined, more: Partial<HttpRequest> = {}) {
  const [path = '', query = ''] = target.split(/\?(.*)/s)
  const { headers, ...others } = more
  const request = { method: 'GET', path, query, body: new Uint8Array(), ...others }
  const response = await serve({ ...request, headers: { ...(accept === undefined ? {} : { accept }), ...headers } }, 'request-1')
  return { ...response, body: Buffer.concat(response.body ?? []).toString() }
}

const locationOf = async (target: string, accept: string | undefined = CHROME, more: Partial<HttpRequest> = {}) => {
  const { status, headers } = await responseOf(withExplorer, target, accept, more)
  return status === 303 ? headers.location : undefined
}

const ALL_ROUTES = [...ROUTES, ...ENDPOINT_ROUTES].map(({ method, path }) => `${method} ${path}`)

describe.each(ALL_ROUTES)('%s', (route) => {
  const [method = '', template = ''] = route.split(' ')
  const target = pathOf(template)
  const sent = { method, ...(method === 'POST' || method === 'PUT' ? { body: Buffer.from('{"resourceType":"Patient"}') } : {}) }
  const headers = { 'content-type': 'application/fhir+json' }

  it.each(Object.entries(CLIENTS))('is answered to %s as without an explorer', async (_, accept) => {
    for (const query of ['', '?_format=json', '?_count=1'])
      for (const more of [{}, { authorization: 'Bearer x' }, { origin: 'https://app.example' }] as Record<string, string>[]) {
        const all = { ...sent, headers: { ...headers, ...more } }
        const given = await responseOf(withExplorer, `${target}${query}`, accept, all)
        expect(given).toEqual(await responseOf(without, `${target}${query}`, accept, all))
        expect(given.status).not.toBe(303)
      }
  })

  it.each(Object.entries(NAVIGATIONS))('leads a navigation of %s to its page only if it is shown there', async (_, accept) => {
    const given = await responseOf(withExplorer, `${target}?a=b&c=%26`, accept, { ...sent, headers })
    if (!SHOWN_ROUTES.has(route))
      return expect(given).toEqual(await responseOf(without, `${target}?a=b&c=%26`, accept, { ...sent, headers }))
    expect([given.status, given.headers]).toEqual([
      303,
      {
        location: `${BASE}/explorer${target}?a=b&c=%26`,
        vary: 'Accept',
        'cache-control': 'no-store',
        'content-type': 'application/fhir+json; charset=utf-8',
        'x-request-id': 'request-1',
      },
    ])
    expect(JSON.parse(given.body)).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ severity: 'information' }] })
  })

  it('leads neither HEAD nor a request with Authorization or _format away', async () => {
    for (const [more, query] of [
      [{ isHead: true }, ''],
      [{ headers: { authorization: 'Basic x' } }, ''],
      [{ headers: { authorization: '' } }, ''],
      [{}, '?_format=json'],
      [{}, '?_format='],
      [{}, '?%5fformat=html'],
    ] as const)
      expect(await locationOf(`${target}${query}`, CHROME, { ...sent, ...more })).toBeUndefined()
  })
})

describe('a browser', () => {
  it.each(['/Binary/1', '/Binary', '/Binary/1/_history', '/Binary/1/_history/2', '/Binary?_id=1', '/Patient/1/Binary'])(
    'gets a Binary itself: %s',
    async (target) => expect(await locationOf(target)).toBeUndefined(),
  )

  it.each([
    '/metadata',
    '/$meta',
    '/$unknown',
    '/Patient/$everything',
    '/Patient/1/$everything',
    '/Patient/1/%24everything',
    '/Patient/1/_history/1/$meta',
    '/auth/authorize',
    '/auth/unknown',
    '/auth',
    '/.well-known/smart-configuration',
    '/.well-known/unknown',
    '/export/1',
    '/export-files/1/2',
    '/explorer',
    '/explorer/Patient',
    '/%65xplorer/Patient',
    '/%61uth/login',
    '/a/b/c/d/e/f',
  ])('is not redirected from %s', async (target) => expect(await locationOf(target)).toBeUndefined())

  it.each([
    ['/', ''],
    ['', ''],
    ['/?_type=Patient', '/?_type=Patient'],
    ['/Patient/1/*', '/Patient/1/*'],
    ['/Patient/1/Observation?code=a|b', '/Patient/1/Observation?code=a|b'],
    ['/Patient?name=%E2%82%AC%20%22', '/Patient?name=%E2%82%AC%20%22'],
    ['/Patient?name=a&name=b&', '/Patient?name=a&name=b&'],
    ['/Unknown/1', '/Unknown/1'],
  ])('is redirected from %j to the same below the explorer', async (target, expected) =>
    expect(await locationOf(target)).toBe(`${BASE}/explorer${target === '/' ? '/' : expected}`),
  )

  it('stays with the response that depends on Accept, also for caches that other origins use', async () => {
    const { headers } = await responseOf(withExplorer, '/Patient', CHROME, { headers: { origin: 'https://app.example' } })
    expect(headers.vary).toBe('Origin, Accept')
  })

  it.each([
    '//evil.example',
    '//evil.example/Patient',
    '///evil.example',
    '/https://evil.example',
    '/%2F%2Fevil.example',
    '/%5C%5Cevil.example',
    '/\\evil.example',
    '/\\\\evil.example/1',
    '/@evil.example',
    '/.evil.example',
    '/:80@evil.example/1',
    '/javascript:alert(1)',
    '/Patient/1?url=https://evil.example',
    '/Patient?//evil.example',
    '/%2e%2e/x',
    '/%2E%2e/%2e%2E',
    '/../x',
    '/./x',
    '/%2e/x',
    '/Patient/..',
    '/Patient/%2e%2e',
    '/Patient/%2e.',
    '/Patient/1/_history/..',
    '/Patient/.%2E/Observation',
    '/Patient\t/1',
    '/Patient/%0d%0aSet-Cookie:%20a=b',
    '/Patient/%00',
    '/Patient/1%23x',
    '/Patient/1%3Fx=y',
    '/<script>alert(1)</script>',
  ])('never leaves the explorer: %s', async (target) => {
    for (const each of [target, `${target}${target.includes('?') ? '&' : '?'}a=//evil.example`]) {
      const location = await locationOf(each)
      if (location === undefined) continue
      const url = new URL(location)
      expect([url.origin, url.username]).toEqual(['https://fhir.example', ''])
      expect(url.pathname).toMatch(/^\/fhir\/explorer(?:\/|$)/)
      expect(location).not.toMatch(/[\r\n]/)
    }
  })

  it('keeps a query of any length', async () => {
    const query = `name=${'x'.repeat(400_000)}`
    expect(await locationOf(`/Patient?${query}`)).toBe(`${BASE}/explorer/Patient?${query}`)
  })

  it.each(['/%2e%2e/x', '/../x', '/Patient/%2E.', '/Patient/1/_history/..', '/./Patient'])(
    'is answered as any client if a segment would be resolved: %s',
    async (target) => expect(await locationOf(target)).toBeUndefined(),
  )

  it('is redirected before it is authenticated, and the audit record says so', async () => {
    audited.length = 0
    await locationOf('/Patient/1')
    expect(audited).toMatchObject([{ interaction: 'read', status: 303 }])
  })
})

describe('the header Accept', () => {
  it.each(Object.entries(NAVIGATIONS))('shows a navigation of %s', (_, accept) => expect(acceptsPages(accept)).toBe(true))
  it.each(Object.entries(CLIENTS))('shows no navigation for %s', (_, accept) => expect(acceptsPages(accept)).toBe(false))
  it.each([
    ['TEXT/HTML, Application/XHTML+XML', true],
    ['text/html;q=0.9;level=1,application/xhtml+xml;q=0.1', true],
    ['text/html,application/xhtml+xml,application/json', false],
    ['text/html,application/xhtml+xml,application/fhir+json;q=0.1', false],
    ['text/html,application/xhtml+xml,application/json+fhir', false],
    ['text/htmlapplication/xhtml+xml', false],
    ['', false],
  ])('%j: %s', (accept, isRecognized) => expect(acceptsPages(accept)).toBe(isRecognized))
})
