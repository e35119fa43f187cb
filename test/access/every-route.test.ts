/**
 * Every route there is, asked over HTTP by whoever has not proved who it is: 401, nothing is reached, and nothing of what was sent is read. A new
 * route is walked by itself.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { publicLetterOf, ROUTES, type Route, requiresToken } from '../../lambdas/catalogue/catalogue.ts'
import { tokenAuthenticator } from '../../lambdas/http/authenticators.ts'
import { publicAdmission } from '../../lambdas/http/public-read/admission.ts'
import type { FhirRequest } from '../../lambdas/interactions/interaction.ts'
import { startTestServer, type TestServer } from '../http/front.ts'
import { createTestIssuer, KEY, OTHER_KEY, SECOND_MS, signToken } from './issuing.ts'

const site = createTestIssuer()
const tenancy = createTestIssuer({ tenancy: true })
const reached: FhirRequest[] = []
let front: TestServer
let frontOfTenants: TestServer
let publicFront: TestServer

beforeAll(async () => {
  const answer = async (asked: FhirRequest) => {
    reached.push(asked)
    return { status: 200 }
  }
  front = await startTestServer(answer, {}, undefined, tokenAuthenticator(site.verify))
  frontOfTenants = await startTestServer(answer, {}, undefined, tokenAuthenticator(tenancy.verify))
  const tokenOf = publicAdmission({ publicRead: 'system/Location.rs', publicReadTenant: '' })
  const publicRead = { tokenOf, prepare: () => undefined }
  publicFront = await startTestServer(answer, {}, undefined, tokenAuthenticator(site.verify), undefined, publicRead)
})
afterAll(() => Promise.all([front, frontOfTenants, publicFront].map((each) => each.close())))

/** What nothing takes as what it should be: who is let in learns of it, nobody else. */
const NONSENSE = '{'

const revoked = site.claims({ jti: 'revoked' })
site.revoked.set('jti:revoked', site.now)

const HEADERS: Readonly<Record<string, () => Record<string, string>>> = {
  'no token': () => ({}),
  garbage: () => ({ authorization: 'Bearer garbage' }),
  'another scheme': () => ({ authorization: `Basic ${btoa('app:secret')}` }),
  'an expired token': () => ({ authorization: `Bearer ${site.token({ exp: site.now / SECOND_MS - 1 })}` }),
  'a revoked token': () => ({ authorization: `Bearer ${signToken(KEY, revoked)}` }),
  'a token of another issuer': () => ({ authorization: `Bearer ${site.token({ iss: 'https://evil.example' }, OTHER_KEY)}` }),
  'a token signed with a foreign key': () => ({ authorization: `Bearer ${site.token({}, OTHER_KEY)}` }),
  'a token for another server': () => ({ authorization: `Bearer ${site.token({ aud: 'https://other.example' })}` }),
  'an ID token': () => ({ authorization: `Bearer ${site.token({ typ: 'ID' })}` }),
}

/** Reads and searches. All others are writes or operations. */
const READS: ReadonlySet<string> = new Set(
  'read vread history-instance history-type history-system search-type search-system capabilities'.split(' '),
)

const pathOf = ({ path }: Route, type: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name) => (name === 'type' ? type : name === 'owner' ? 'Patient' : '1'))

async function ask(route: Route, headers: Record<string, string>, { port, audited } = front, type = 'Patient') {
  reached.length = audited.length = 0
  const sent = route.method === 'GET' ? {} : { body: NONSENSE, headers: { 'content-type': 'text/nonsense', ...headers } }
  const response = await fetch(`http://127.0.0.1:${port}${pathOf(route, type)}`, { method: route.method, headers, ...sent })
  const text = await response.text()
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate') ?? '',
    code: JSON.parse(text || '{}').issue?.[0].code,
  }
}

describe.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  const isForAnybody = !requiresToken(route.interaction)

  it.each(Object.keys(HEADERS).filter((name) => !(isForAnybody && name === 'no token')))('rejects %s', async (name) => {
    const { status, challenge, code } = await ask(route, HEADERS[name]!())
    expect([status, code, reached.length]).toEqual([401, 'login', 0])
    expect(challenge).toMatch(
      name === 'no token' ? /^Bearer realm="fhir"$/ : /^Bearer realm="fhir", error="invalid_token", error_description="[ -!#-[\]-~]+"$/,
    )
    expect(front.audited).toMatchObject([{ interaction: route.interaction, tenant: '', status: 401 }])
    expect(front.audited[0]).not.toHaveProperty('client')
  })

  if (!isForAnybody) {
    const isPublic = publicLetterOf(route.interaction) !== undefined && !route.path.startsWith('/{owner}')

    it(`${isPublic ? 'answers' : 'rejects'} a request without a token for a type of public read`, async () => {
      const { status } = await ask(route, { 'content-type': 'application/x-www-form-urlencoded' }, publicFront, 'Location')
      const caller = { tenant: 'default', client: 'public', isPublic: true }
      expect([status, reached]).toMatchObject(isPublic ? [200, [caller]] : [401, []])
    })

    it.each(Object.keys(HEADERS))('rejects %s for another type beside public read', async (name) => {
      expect(await ask(route, HEADERS[name]!(), publicFront)).toMatchObject({ status: 401, code: 'login' })
      expect(reached).toEqual([])
    })

    it.each(Object.keys(HEADERS).filter((name) => name !== 'no token'))('never takes %s for a request of public read', async (name) => {
      expect(await ask(route, HEADERS[name]!(), publicFront, 'Location')).toMatchObject({ status: 401, code: 'login' })
      expect(reached).toEqual([])
    })
  }

  if (!isForAnybody)
    it.each(['', 'application/xml'])('is 401 without a token, not 406, for Accept: %s', async (accept) => {
      const { status, code } = await ask(route, { accept })
      expect([status, code, reached.length]).toEqual([401, 'login', 0])
    })

  it('admits a valid token, and audits its caller', async () => {
    const who = { sub: 'u-1', preferred_username: 'jane', patient: 'p-1', scope: 'patient/*.rs system/admin' }
    const { status } = await ask(route, { authorization: `Bearer ${site.token(who)}` })
    expect(status).not.toBe(401)
    expect(front.audited).toMatchObject([
      { tenant: 'default', client: 'app', subject: 'u-1', user: 'jane', patient: 'p-1', scopes: 'patient/*.rs system/admin', status },
    ])
    if (route.method === 'GET') expect(reached).toMatchObject([{ tenant: 'default', client: 'app' }])
  })

  it('opens the tenant of an array of one', async () => {
    const authorization = `Bearer ${tenancy.token({ tenant: ['a'], scope: 'system/*.cruds system/admin' })}`
    const { status } = await ask(route, { authorization }, frontOfTenants)
    expect(frontOfTenants.audited).toMatchObject([{ tenant: 'a', client: 'app', status }])
  })

  it('is about one tenant, which X-Tenant-Id chooses', async () => {
    const authorization = `Bearer ${tenancy.token({ tenant: ['a', 'b'], scope: 'system/*.cruds system/admin' })}`
    const refused = READS.has(route.interaction) ? [400, 'required'] : [422, 'business-rule']
    const { status, code } = await ask(route, { authorization }, frontOfTenants)
    expect([status, code, reached.length]).toEqual([...refused, 0])
    await ask(route, { authorization, 'x-tenant-id': 'b' }, frontOfTenants)
    expect(frontOfTenants.audited).toMatchObject([{ tenant: 'b', client: 'app' }])
  })

  if (isForAnybody)
    it('requires no token, and then has no tenant', async () => {
      expect(await ask(route, {})).toMatchObject({ status: 200 })
      expect(reached).toMatchObject([{ tenant: '', client: '' }])
    })
})
