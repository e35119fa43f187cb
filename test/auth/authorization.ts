/** The authorization server below the network, on stores in memory and a clock that a test sets. */

import { randomBytes } from 'node:crypto'
import { AesSeal } from '../../lambdas/adapters/in-process/seal.ts'
import { withExplorerClient } from '../../lambdas/auth/clients/explorer-client.ts'
import type { AuthChoices, AuthPorts, FoundPatient } from '../../lambdas/auth/endpoint.ts'
import { endpoints } from '../../lambdas/auth/endpoints/endpoints.ts'
import type { KeySource } from '../../lambdas/auth/key-source.ts'
import { fingerprintOf } from '../../lambdas/auth/random-secret.ts'
import { openAuthenticator } from '../../lambdas/http/authenticators.ts'
import type { HttpRequest } from '../../lambdas/http/exchange.ts'
import { authorizingSteps } from '../../lambdas/http/pipelines/authorizing.ts'
import { type Serve, server } from '../../lambdas/http/server.ts'
import type { Client } from '../../lambdas/ports/rows/clients.ts'
import type { User } from '../../lambdas/ports/rows/users.ts'
import type { AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import { patientVisibility } from '../../lambdas/runtime/authorization/patient-visibility.ts'
import { MemoryGrants } from '../fixtures/memory/grants.ts'
import { MemoryClients, MemoryUsers } from '../fixtures/memory/registered.ts'
import { MemoryRevocations } from '../fixtures/memory/revocations.ts'
import { MemorySigningKeys } from '../fixtures/memory/signing-keys.ts'
import type { Tree } from '../fixtures/resources.ts'

export const BASE_URL = 'https://fhir.example/fhir'
export const START_TIME = Date.UTC(2026, 0, 1)

export type TestResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: Tree
}

export type RequestContent = {
  readonly form?: Readonly<Record<string, string>> | string
  /** Body of the type application/json. A string is sent as it is. */
  readonly json?: unknown
  readonly query?: Readonly<Record<string, string>> | string
  readonly headers?: Readonly<Record<string, string>>
  readonly address?: string
}

export type AuthorizationSettings = {
  readonly choices?: Partial<AuthChoices>
  readonly patients?: readonly FoundPatient[]
  /** `of`: the id of a patient. */
  readonly encounters?: readonly { readonly id: string; readonly of: string; readonly tenant?: string }[]
  readonly keySource?: KeySource
  readonly mayFetchKeys?: AuthPorts['mayFetchKeys']
  readonly baseUrl?: string
  readonly loopbackOnly?: boolean
  /** Whether the client of the explorer is built in, as in the deployments. */
  readonly hasExplorer?: boolean
  /** Milliseconds since 1970; without it, only `later` moves the clock. */
  readonly wall?: () => number
}

const noKeys: KeySource = async () => {
  throw new Error('nothing is fetched here')
}

export async function createAuthorization({
  choices,
  patients = [],
  encounters = [],
  keySource = noKeys,
  mayFetchKeys = async () => true,
  baseUrl = BASE_URL,
  loopbackOnly = false,
  hasExplorer = false,
  wall = () => START_TIME,
}: AuthorizationSettings = {}) {
  let passed = 0
  let ids = 0
  const clock = { now: () => wall() + passed, newId: () => `id-${++ids}` }
  const audited: AuditRecord[] = []
  const reported: unknown[] = []
  const [clients, users, keys] = [new MemoryClients(), new MemoryUsers(), new MemorySigningKeys()]
  const [grants, revocations] = [new MemoryGrants(clock.now), new MemoryRevocations(clock.now)]
  await keys.make(START_TIME - 3_600_000)
  const checked: string[] = []
  const acting = new Map<string, readonly string[]>()
  const ports: AuthPorts = {
    seal: new AesSeal(randomBytes(32)),
    ...{ users, keys, grants, revocations, clock, keySource, mayFetchKeys },
    registrations: clients,
    clients: hasExplorer ? withExplorerClient(clients, revocations, baseUrl) : clients,
    choices: { tenancy: false, tenantClaim: 'tenant', pkce: 'accept', organizationName: '', ...choices },
    async checkPassword(typed, user) {
      checked.push(typed)
      return user?.password === typed
    },
    isDecidable: async (_tenants, _type, query) => !query.split('&').some((each) => /^[^=]*(?:[.]|_has)/.test(each)),
    patients: {
      find: async (_user, tenants, text) =>
        patients.filter((each) => isIn(tenants, each) && each.name.toLowerCase().includes(text.toLowerCase())),
      get: async (_user, tenants, id) => patients.find((each) => isIn(tenants, each) && each.id === id),
      recordsOf: async (tenants, type, id) =>
        (type === 'Patient' ? patients.map((each) => ({ ...each, of: each.id })) : encounters)
          .filter((each) => each.id === id && isIn(tenants, each))
          .map(({ of, tenant = 'default' }) => ({ type, tenant, patient: of })),
      isTenant: async (tenant) => tenant === 'default' || patients.some((each) => each.tenant === tenant),
    },
    partnerMembers: { find: async () => undefined, limitsOf: async () => ({ at: wall() + passed, excluded: ['urn:x|sensitive'] }) },
    mayReadPatient: patientVisibility({
      reading: () => ({ baseUrl }),
      resources: {
        current: async (keys) =>
          keys.map(({ tenant, type, id }) => {
            const found = patients.find((each) => each.id === id && isIn([tenant], each))
            const body = Buffer.from(JSON.stringify({ resourceType: 'Patient', id, gender: found?.sex }))
            const version = { tenant, type, id, versionId: 1, lastUpdated: START_TIME, deleted: false, compartments: [`Patient/${id}`] }
            return found === undefined ? undefined : { ...version, body }
          }),
      },
    }),
    patientsOf: async (fhirUser) =>
      acting.has(fhirUser) ? acting.get(fhirUser) : /^RelatedPerson/.test(fhirUser) ? patients.map(({ id }) => id) : undefined,
  }
  const steps = authorizingSteps({
    audit: { prepare: () => undefined, record: (entry) => void audited.push(entry), close: async () => undefined },
    ...{ clock, authenticator: openAuthenticator, origins: '*', loopbackOnly },
    report: (error) => void reported.push(error),
  })
  const serve = server({ interactions: {}, endpoints: endpoints(ports), steps, site: { baseUrl, reading: () => ({}) as never } })
  return {
    ...{ ports, clock, clients, users, keys, grants, revocations, audited, reported, checked, acting, serve },
    now: clock.now,
    later(milliseconds: number) {
      passed += milliseconds
    },
    ask: (method: string, path: string, sent?: RequestContent) => ask(serve, method, path, sent),
    addClient: (id: string, more: Partial<Client> = {}) => clients.change(id, () => clientOf(id, more)),
    addUser: (name: string, more: Partial<User> = {}) => users.change(name, () => userOf(name, more)),
  }
}

export type TestAuthorization = Awaited<ReturnType<typeof createAuthorization>>

const isIn = (tenants: readonly string[], { tenant }: { readonly tenant?: string }): boolean =>
  tenant === undefined || tenants.includes('*') || tenants.includes(tenant)

export const CLIENT_SECRET = 'the-secret-of-a-client'

const clientOf = (id: string, more: Partial<Client>): Client => ({
  id,
  name: `The app ${id}`,
  authentication: { kind: 'secret', hashes: [fingerprintOf(CLIENT_SECRET)] },
  scopes: ['system/*.rs'],
  redirectUris: [],
  tenants: ['*'],
  mayIntrospect: false,
  changedAt: START_TIME,
  ...more,
})

const userOf = (name: string, more: Partial<User>): User => ({
  name,
  subject: `subject-of-${name}`,
  password: `password-of-${name}`,
  tenants: ['*'],
  scopes: ['user/*.cruds'],
  changedAt: START_TIME,
  ...more,
})

const encoded = (pairs: Readonly<Record<string, string>> | string): string =>
  typeof pairs === 'string' ? pairs : new URLSearchParams(pairs).toString()

/** Returns the body of a request, and the header that names its type. Both are absent in a request without one. */
export function encodeBody({ form, json }: RequestContent): { readonly headers: Readonly<Record<string, string>>; readonly body?: string } {
  if (json !== undefined)
    return { headers: { 'content-type': 'application/json' }, body: typeof json === 'string' ? json : JSON.stringify(json) }
  if (form === undefined) return { headers: {} }
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: encoded(form) }
}

async function ask(
  serve: Serve,
  method: string,
  path: string,
  { query = '', headers = {}, address, ...content }: RequestContent = {},
): Promise<TestResponse> {
  const { headers: type, body = '' } = encodeBody(content)
  const request: HttpRequest = {
    ...{ method, path, query: encoded(query), headers: { ...type, ...headers } },
    body: new TextEncoder().encode(body),
    address: address ?? '192.0.2.1',
  }
  const response = await serve(request, 'request-1')
  const text = Buffer.concat(response.body ?? []).toString('utf8')
  const isJson = (response.headers['content-type'] ?? '').includes('json')
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
}

/** Of a JWT, unverified. */
export const claimsOf = (token: string): Tree => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString('utf8'))
