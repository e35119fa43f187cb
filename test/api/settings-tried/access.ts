/** Settings of who is let in, and to what. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { addUser, openAdministration } from '../../../lambdas/runtime/control/administration.ts'
import { OTHER_KEY, signToken } from '../../access/issuing.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../../auth/assertions.ts'
import type { RequestContent } from '../../auth/authorization.ts'
import { allowAccess, logIn, openBrowser, redirectOf } from '../../auth/browser.ts'
import { runFhirWithEnvironment } from '../../bin/process.ts'
import { patient } from '../../fixtures/resources.ts'
import type { Tree } from '../server.ts'
import { clientCredentialsForm, type SettingsServer, type SettingTrial, withSettings } from './setting-server.ts'

const BASE = 'http://127.0.0.1/fhir'

// biome-ignore format: a table
export const accessTrials: readonly SettingTrial[] = [
  ['token', 'requests without a token are 401', (value) => withSettings({ FHIR_ACCESS: value }, async ({ as, get }) => {
    expect([(await as().get('/Patient')).status, (await get('/Patient')).status]).toEqual([401, 200])
  })],
  ['open', 'requests need no token', (value) => withSettings({ FHIR_ACCESS: value }, async ({ as }) => {
    expect((await as().get('/Patient')).status).toBe(200)
  })],
  ['iam', 'the start fails, and names AWS', async (value) => {
    const { code, err } = await runFhirWithEnvironment({ ...process.env, FHIR_ACCESS: value }, 'start', '--memory')
    expect([code, err]).toEqual([1, 'fhir: FHIR_ACCESS=iam is for a deployment on AWS: here it is token, or open (--open)\n'])
  }],
]

/** What a client of this tenant gets for a token: the status of its own search, or why there is none. */
async function tenantTokenStatus({ register, token }: SettingsServer, tenant: string): Promise<Tree> {
  const secret = await register(`of-${tenant}`, { tenants: [tenant] })
  return (await token(clientCredentialsForm(`of-${tenant}`, secret))).body
}

const claimsOf = (token: string): Tree => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())

// biome-ignore format: a table
export const tenancyTrials: readonly SettingTrial[] = [
  ['on', 'each tenant sees its own data', (value) => withSettings({ FHIR_TENANCY: value }, async (server) => {
    const [north, south] = [await tenantTokenStatus(server, 'north'), await tenantTokenStatus(server, 'south')]
    await server.as(north.access_token).put('/Patient/n', patient('n'))
    const seen = async ({ access_token }: Tree) => (await server.as(access_token).get('/Patient')).body.total
    expect([await seen(north), await seen(south)]).toEqual([1, 0])
  })],
  ['off', 'clients of other tenants get no token', (value) => withSettings({ FHIR_TENANCY: value }, async (server) => {
    expect([(await tenantTokenStatus(server, 'north')).error, (await tenantTokenStatus(server, 'default')).token_type]).toEqual([
      'unauthorized_client', 'Bearer',
    ])
  })],
]

const withClaim = (value: string): Promise<void> =>
  withSettings({ FHIR_TENANCY: 'on', FHIR_TENANT_CLAIM: value }, async (server) => {
    const { access_token: token } = await tenantTokenStatus(server, 'north')
    expect(claimsOf(token)[value]).toBe('north')
    expect((await server.as(token).get('/Patient')).status).toBe(200)
  })

export const claimTrials: readonly SettingTrial[] = [
  ['tenant', 'tokens name the tenant in this claim', withClaim],
  ['organization', 'tokens name the tenant in this claim', withClaim],
  ['https://example.org/tenant', 'tokens name the tenant in this claim', withClaim],
]

/** Status of a read of a definition of the tenant `commons` by another tenant. */
const sharedTrial =
  (expected: number) =>
  (value: string): Promise<void> =>
    withSettings({ FHIR_TENANCY: 'on', FHIR_SHARED_TENANT: value }, async ({ put, get }) => {
      await put('/ValueSet/v', { resourceType: 'ValueSet', id: 'v', status: 'active' }, { 'x-tenant-id': 'commons' })
      expect((await get('/ValueSet/v', { 'x-tenant-id': 'north' })).status).toBe(expected)
    })

export const sharedTenantTrials: readonly SettingTrial[] = [
  ['', 'no tenant sees definitions of another', sharedTrial(404)],
  ['commons', 'each tenant sees the definitions of this tenant', sharedTrial(200)],
]

const [cert, key] = ['crt', 'key'].map((kind) => readFileSync(new URL(`../../fixtures/tls/localhost.${kind}`, import.meta.url), 'utf8'))

/** Keys published on https://localhost, which is this machine. */
async function withPublished(keys: readonly object[], proof: (uri: string) => Promise<void>): Promise<void> {
  const publisher = createServer({ cert, key }, (_, response) => response.end(JSON.stringify({ keys })))
  await new Promise<void>((resolve) => publisher.listen(0, 'localhost', resolve))
  try {
    await proof(`https://localhost:${(publisher.address() as AddressInfo).port}/keys`)
  } finally {
    publisher.closeAllConnections()
    publisher.close()
  }
}

const ISSUER = 'https://auth.example.org'

async function externalIssuerStatuses({ as }: SettingsServer): Promise<readonly number[]> {
  const now = Math.floor(Date.now() / 1_000)
  const claims = { iss: ISSUER, aud: 'api://fhir', sub: 'x', client_id: 'app', iat: now, exp: now + 300, scope: 'system/*.cruds' }
  const client = as(signToken(OTHER_KEY, claims))
  return [(await client.get('/Patient')).status, (await client.put('/Patient/a', patient('a'))).status]
}

// biome-ignore format: a table
export const issuersTrials: readonly SettingTrial[] = [
  ['', 'tokens of other issuers are 401', (value) => withSettings({ FHIR_EXTERNAL_ISSUERS: value }, async (server) => {
    expect(await externalIssuerStatuses(server)).toEqual([401, 401])
  })],
  ['[{issuer, …}]', 'its tokens grant at most the configured scopes', () => withPublished([OTHER_KEY.published], (jwksUri) => {
    const issuers = JSON.stringify([{ issuer: ISSUER, audience: 'api://fhir', jwksUri, scopes: 'system/*.rs' }])
    return withSettings({ FHIR_EXTERNAL_ISSUERS: issuers, FHIR_PRIVATE_HOSTS: 'localhost' }, async (server) => {
      expect(await externalIssuerStatuses(server)).toEqual([200, 403])
    })
  })],
]

/** What a client that publishes its keys on this machine is answered at the token endpoint. */
const publishedKeysTrial = (value: string, status: number): Promise<void> => {
  return createKeyPair('ES384', 'k').then((pair) =>
    withPublished([pair.jwk], (uri) =>
      withSettings({ FHIR_PRIVATE_HOSTS: value }, async ({ register, token }) => {
        await register('app', { authentication: { kind: 'uri', uri } })
        const signed = signAssertion(pair, 'app', Date.now(), { claims: { aud: `${BASE}/auth/token` } })
        expect((await token(assertionFormOf(signed))).status).toBe(status)
      }),
    ),
  )
}

const reaches = (value: string): Promise<void> => publishedKeysTrial(value, 200)
const isWalledOff = (value: string): Promise<void> => publishedKeysTrial(value, 503)

export const hostsTrials: readonly SettingTrial[] = [
  ['', 'keys on private hosts are not fetched', isWalledOff],
  ['localhost', 'keys of that host are fetched', reaches],
  ['127.0.0.0/8, ::1/128', 'keys in those networks are fetched', reaches],
  ['keycloak.hospital.example, 10.1.0.0/16', 'keys elsewhere are not fetched', isWalledOff],
]

const BACK = 'https://app.example/back'
const PASSWORD = 'correct horse battery'
const VERIFIER = 'v'.repeat(43)
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** Returns a function that asks for a code as a user, and returns the body of the token response, or the error of the redirect. */
function codeFlow(server: SettingsServer, secret: string) {
  const send = async (method: string, path: string, { query = '', form, headers = {} }: RequestContent = {}) => {
    const body = form === undefined ? {} : { body: new URLSearchParams(form) }
    const url = `${server.base()}${path}?${new URLSearchParams(query)}`
    const response = await fetch(url, { method, headers, redirect: 'manual', ...body })
    return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text(), body: undefined }
  }
  const user = openBrowser({ ask: send }, BASE)
  let isIn = false
  return async (parameters: Record<string, string>, exchanged: Record<string, string> = {}): Promise<Tree> => {
    const request = {
      response_type: 'code',
      client_id: 'app',
      redirect_uri: BACK,
      aud: BASE,
      prompt: 'consent',
      scope: 'user/*.rs',
      ...parameters,
    }
    const opened = await user.open('/auth/authorize', request)
    const page = isIn || opened.status === 303 ? opened : await logIn(user, opened, 'jane', PASSWORD)
    isIn ||= page !== opened
    const { sent } = redirectOf(page.status === 303 ? page : await allowAccess(user, page))
    if (sent.code === undefined) return sent
    const form = {
      ...clientCredentialsForm('app', secret),
      grant_type: 'authorization_code',
      code: sent.code,
      redirect_uri: BACK,
      ...exchanged,
    }
    return (await server.token(form)).body
  }
}

/** Registers an app and a user, and returns their code flow. */
export async function userFlow(server: SettingsServer) {
  const secret = await server.register('app', { scopes: ['user/*.rs'], redirectUris: [BACK] })
  const ports = await openAdministration(server.folder, { isNew: false })
  await addUser(ports, { name: 'jane', scopes: ['user/*.rs'], tenants: ['default'], fhirUser: 'Practitioner/1' }, PASSWORD)
  await ports.close()
  return codeFlow(server, secret)
}

/** What is answered without PKCE, with a verifier that fits, and with one that does not. */
const flows = (value: string, expected: readonly string[]): Promise<void> =>
  withSettings({ FHIR_PKCE: value }, async (server) => {
    const flow = await userFlow(server)
    const challenge = { code_challenge: CHALLENGE, code_challenge_method: 'S256' }
    const answers = [
      await flow({}),
      await flow(challenge, { code_verifier: VERIFIER }),
      await flow(challenge, { code_verifier: 'w'.repeat(43) }),
    ]
    expect(answers.map(({ error, token_type }) => error ?? token_type)).toEqual(expected)
  })

export const pkceTrials: readonly SettingTrial[] = [
  ['off', 'PKCE is ignored', (value) => flows(value, ['Bearer', 'Bearer', 'Bearer'])],
  ['accept', 'a challenge is checked if it is sent', (value) => flows(value, ['Bearer', 'Bearer', 'invalid_grant'])],
  ['require', 'a request without a challenge is rejected', (value) => flows(value, ['invalid_request', 'Bearer', 'invalid_grant'])],
]

const nameTrial = (value: string, name: string): Promise<void> =>
  withSettings({ FHIR_ORGANIZATION_NAME: value }, async ({ base }) => {
    const page = await fetch(`${base()}/auth/account`)
    expect(await page.text()).toContain(`<p class="organization">${name}</p>`)
  })

export const organizationTrials: readonly SettingTrial[] = [
  ['', 'the pages show the host of the base URL', (value) => nameTrial(value, '127.0.0.1')],
  ['Example Hospital', 'the pages show the name', (value) => nameTrial(value, 'Example Hospital')],
]

const patientCountTrial = (value: string, total: number): Promise<void> =>
  withSettings({ FHIR_PATIENT_SCOPES_WITHOUT_CONTEXT: value }, async ({ put, register, token, as }) => {
    await put('/Patient/p', patient('p'))
    const secret = await register('app', { scopes: ['patient/*.rs'] })
    const { body } = await token(clientCredentialsForm('app', secret))
    expect((await as(body.access_token).get('/Patient')).body.total).toBe(total)
  })

export const contextTrials: readonly SettingTrial[] = [
  ['all', 'patient scopes cover all patients', (value) => patientCountTrial(value, 1)],
  ['none', 'patient scopes cover no patient', (value) => patientCountTrial(value, 0)],
]

/** As whom the audit records have who asks for a token through a proxy. */
const proxyAddressTrial = (value: string, expected: string): Promise<void> =>
  withSettings({ FHIR_ADDRESS_HEADER: value, FHIR_AUDIT_DURABILITY: 'strict' }, async ({ base, folder, register }) => {
    const secret = await register('app')
    const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.7' }
    await fetch(`${base()}/auth/token`, { method: 'POST', headers, body: new URLSearchParams(clientCredentialsForm('app', secret)) })
    const lines = auditRecordsOf(folder).filter(({ interaction, client }) => interaction === 'token' && client === 'app')
    expect(lines.map(({ address }) => address)).toEqual([expected])
  })

/** What a server that records strictly has recorded. */
export const auditRecordsOf = (folder: string): readonly Tree[] =>
  readdirSync(join(folder, 'audit')).flatMap((name) =>
    readFileSync(join(folder, 'audit', name), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line)),
  )

export const addressTrials: readonly SettingTrial[] = [
  ['', 'the client address is that of the proxy, whatever the header', (value) => proxyAddressTrial(value, '127.0.0.1')],
  ['X-Forwarded-For', 'the client address is the last one in the header', (value) => proxyAddressTrial(value, '203.0.113.7')],
]

/** Status of a read and the origin it may be read from, of pages of these origins. */
const originsLetIn = (
  value: string,
  baseUrl: string,
  expected: Readonly<Record<string, readonly [number, string | null]>>,
): Promise<void> =>
  withSettings(
    { FHIR_ALLOWED_ORIGINS: value },
    async ({ get }) => {
      for (const [origin, answer] of Object.entries(expected)) {
        const { status, headers } = await get('/metadata?_elements=status', { origin })
        expect([origin, status, headers.get('access-control-allow-origin')]).toEqual([origin, ...answer])
      }
    },
    { baseUrl },
  )

const PUBLIC = 'https://fhir.example.org/fhir'

// biome-ignore format: a table
export const originsTrials: readonly SettingTrial[] = [
  ['*', 'all origins are allowed; on a server for this machine only local ones', async (value) => {
    await originsLetIn(value, PUBLIC, { 'https://app.example.org': [200, '*'] })
    await originsLetIn(value, BASE, { 'http://localhost:3000': [200, '*'], 'https://app.example.org': [403, '*'] })
  }],
  ['https://app.example.org, capacitor://localhost', 'these origins are allowed', (value) =>
    originsLetIn(value, PUBLIC, {
      'https://app.example.org': [200, 'https://app.example.org'], 'capacitor://localhost': [200, 'capacitor://localhost'],
      'https://other.example.org': [200, null],
    })],
  ['', 'no origin is allowed', (value) => originsLetIn(value, PUBLIC, { 'https://app.example.org': [200, null] })],
]
