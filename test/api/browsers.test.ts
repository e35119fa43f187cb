/** Browsers at the embedded server, over the network: from its root and from FHIR addresses to the explorer. Other clients notice nothing. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ENDPOINT_ROUTES, ROUTES } from '../../lambdas/catalogue/catalogue.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { CLIENTS, NAVIGATIONS, pathOf, SHOWN_ROUTES } from '../http/navigations.ts'
import { startServer } from './server.ts'

/** Base URL of the server. Its port differs from that of the connection. */
const BASE = 'http://127.0.0.1/fhir'
const READABLE = Object.entries(CLIENTS).filter(([, accept]) => accept === undefined || /[/+]json|\*\/\*/.test(accept))
const GET_ROUTES = [...ROUTES, ...ENDPOINT_ROUTES].filter(({ method }) => method === 'GET').map(({ path }) => path)

type Access = 'open' | 'token'
const started = {} as Record<Access, { readonly embedded: EmbeddedServer; readonly base: string }>

beforeAll(async () => {
  for (const access of ['open', 'token'] as const) started[access] = await startServer({ FHIR_ACCESS: access })
  const body = JSON.stringify({ resourceType: 'Patient', id: '1', active: true })
  await fetch(`${started.open.base}/Patient/1`, { method: 'PUT', body, headers: { 'content-type': 'application/fhir+json' } })
  await fetch(`${started.open.base}/Patient?_summary=count`)
})
afterAll(() => Promise.all(Object.values(started).map(({ embedded }) => embedded.close())))

async function get(access: Access, path: string, accept: string | undefined, headers: Readonly<Record<string, string>> = {}) {
  const sent = { 'x-request-id': 'request-1', ...(accept === undefined ? {} : { accept }), ...headers }
  const response = await fetch(`${started[access].base.replace(/\/fhir$/, '')}${path}`, { headers: sent, redirect: 'manual' })
  const { date: _, ...rest } = Object.fromEntries(response.headers)
  return { status: response.status, headers: rest, text: await response.text() }
}

describe.each(['open', 'token'] as const)('with access %s', (access) => {
  // A kick-off accepts only one spelling of JSON.
  it.each(GET_ROUTES.filter((route) => !route.endsWith('$export')))('%s is the same for every client that reads JSON', async (route) => {
    const path = `/fhir${pathOf(route)}`
    const expected = await get(access, path, 'application/fhir+json')
    for (const [name, accept] of READABLE) expect([name, stable(await get(access, path, accept))]).toEqual([name, stable(expected)])
  })

  it.each(Object.entries(NAVIGATIONS))('a navigation of %s is redirected from pages only, without a login', async (_, accept) => {
    for (const route of GET_ROUTES) {
      const path = pathOf(route)
      const { status, headers } = await get(access, `/fhir${path}`, accept)
      // Other redirects lead an unfinished login to its start.
      const location = headers.location?.startsWith(`${BASE}/explorer`) ? headers.location : undefined
      expect([route, location]).toEqual([route, SHOWN_ROUTES.has(`GET ${route}`) ? `${BASE}/explorer${path}` : undefined])
      if (location !== undefined) expect([status, headers.vary, headers['cache-control']]).toEqual([303, 'Accept', 'no-store'])
    }
  })

  it('the root leads a browser to the base, and no other client', async () => {
    for (const accept of Object.values(NAVIGATIONS)) {
      const { status, headers } = await get(access, '/', accept)
      expect([status, headers.location, headers.vary, headers['cache-control']]).toEqual([303, '/fhir/', 'Accept', 'no-store'])
      for (const path of ['/favicon.ico', '/index.html', '/?a=b', '//', '//fhir/', '/fhirs'])
        expect([path, (await get(access, path, accept)).status]).toEqual([path, 404])
    }
    for (const accept of Object.values(CLIENTS)) expect((await get(access, '/', accept)).status).toBe(404)
  })

  it('the document has the policy, and no header for other origins', async () => {
    const { status, headers } = await get(access, '/fhir/explorer/Patient/1', NAVIGATIONS.Chrome, { origin: 'http://localhost:3000' })
    expect([status, headers['content-type'], headers['x-frame-options']]).toEqual([200, 'text/html; charset=utf-8', 'DENY'])
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })
})

/** Leaves out times and random values: the login page has a token against forged requests. */
const stable = ({ status, headers: { 'set-cookie': _, 'content-length': __, ...headers }, text }: Awaited<ReturnType<typeof get>>) => ({
  status,
  headers,
  text: text.replace(/name="csrf" value="[^"]*"/g, ''),
})
