/**
 * A server for questions of who may see what: the embedded home below the network, with tenancy. Its tokens are signed as real ones are, and
 * say whatever a test wants.
 */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PersonReader } from '../../lambdas/access/user-patients.ts'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { openDataFolder } from '../../lambdas/adapters/filesystem/data-folder.ts'
import { CheckedClock } from '../../lambdas/adapters/in-process/checked-clock.ts'
import { AesSeal } from '../../lambdas/adapters/in-process/seal.ts'
import { tokenAuthenticator } from '../../lambdas/http/authenticators.ts'
import type { HttpRequest, HttpResponse } from '../../lambdas/http/exchange.ts'
import type { Serve } from '../../lambdas/http/server.ts'
import type { AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import type { QueryDigest } from '../../lambdas/ports/security/query-digest.ts'
import type { Seal } from '../../lambdas/ports/security/seal.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { composeServerCore, type ServerCore, type ServerCoreParts } from '../../lambdas/runtime/embedded/composition.ts'
import { openExports } from '../../lambdas/runtime/embedded/exports.ts'
import { openStores, type Stores } from '../../lambdas/runtime/embedded/stores.ts'
import { searchContextOf } from '../../lambdas/runtime/search-context.ts'
import { BASE_URL, createTestIssuer, SECOND_MS } from '../access/issuing.ts'
import { noMatches } from '../fixtures/exporting.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import type { Tree } from '../fixtures/resources.ts'
import type { Caller } from './isolation/oracle.ts'

export { BASE_URL }

export type RequestContent = { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }

export type TestResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly body: Tree
}

/** Asks as somebody. `target`: path and query below the base. */
export type CallerRequest = (who: Caller, method: string, target: string, sent?: RequestContent) => Promise<TestResponse>

export type Site = {
  readonly ask: CallerRequest
  /** Asks without a look at where references lead. */
  readonly load: CallerRequest
  readonly patients: ServerCore['patients']
  readonly patientsOf: ServerCore['patientsOf']
  readonly audited: AuditRecord[]
  readonly close: () => Promise<void>
}

/** Who may do everything in a tenant. */
export const operatorOf = (tenant: string): Caller => ({ tenant, client: 'operator', scopes: 'system/*.cruds system/admin' })

/** Tokens of a server: one for each who. */
export function createTokens(patientsOf: PersonReader) {
  const issuer = createTestIssuer({ tenancy: true, patientsOf, clock: { now: () => Date.now() } })
  issuer.now = Date.now()
  const made = new Map<Caller, string>()
  const tokenOf = (who: Caller): string => {
    const { client, scopes: scope, patient, fhirUser, actsFor: acts_for } = who
    const isOfUser = who.isUser === true
    const exp = Math.floor(issuer.now / SECOND_MS) + 36_000
    const token =
      made.get(who) ??
      issuer.token({
        tenant: claimOf(who),
        client_id: client,
        azp: client,
        sub: isOfUser ? 'a-user' : client,
        scope,
        patient,
        fhirUser,
        acts_for,
        exp,
      })
    made.set(who, token)
    return token
  }
  return { authenticator: tokenAuthenticator(issuer.verify), tokenOf }
}

export function claimOf({ tenant, claim }: Caller): string | readonly string[] {
  if (claim === undefined) return tenant
  return claim === 'array of one' ? [tenant] : [tenant, tenant === 'north' ? 'south' : 'north']
}

/** Returns the header by which a token of two tenants chooses one. */
export const tenantHeaderOf = ({ tenant, claim }: Caller): Readonly<Record<string, string>> =>
  claim === 'array of two' ? { 'x-tenant-id': tenant } : {}

/** Asks what serves. */
export function callerRequests(serve: Serve, tokenOf: (who: Caller) => string): CallerRequest {
  let requests = 0
  return async (who, method, target, { body, headers = {} } = {}) => {
    const [path = '', query = ''] = target.split(/\?(.*)/s)
    const isBytes = body instanceof Uint8Array
    const request: HttpRequest = {
      ...{ method, path, query },
      headers: {
        ...(body === undefined || isBytes ? {} : { 'content-type': typeof body === 'string' ? FORM : 'application/fhir+json' }),
        authorization: `Bearer ${tokenOf(who)}`,
        ...tenantHeaderOf(who),
        ...headers,
      },
      body: body === undefined ? new Uint8Array() : isBytes ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    }
    const answer = await serve(request, `request-${++requests}`)
    const text = Buffer.concat(await piecesOf(answer)).toString()
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      body: answer.stream === undefined && text.startsWith('{') ? JSON.parse(text) : undefined,
    }
  }
}

async function piecesOf({ body = [], stream }: HttpResponse): Promise<readonly Uint8Array[]> {
  const pieces = [...body]
  if (stream !== undefined) for await (const piece of stream.pieces()) pieces.push(piece)
  return pieces
}

const FORM = 'application/x-www-form-urlencoded'

export type SiteOptions = {
  /** Environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  readonly clock?: CheckedClock
  readonly seal?: Seal & QueryDigest
  /** Watches what is asked of the stores. */
  readonly around?: (stores: Stores) => Stores
  /** Gets what breaks; absent: nothing may. */
  readonly report?: (error: unknown) => void
}

export async function openSite({
  settings = {},
  clock = new CheckedClock(),
  seal,
  around = (stores) => stores,
  report = failOnReport,
}: SiteOptions = {}): Promise<Site> {
  const folder = await mkdtemp(join(tmpdir(), 'fhir-site-'))
  const data = await openDataFolder(folder)
  const audited: AuditRecord[] = []
  const { authenticator, tokenOf } = createTokens((...asked) => home.patientsOf(...asked))
  const config = readConfig({ FHIR_ACCESS: 'token', FHIR_TENANCY: 'on', ...settings })
  const stores = await openStores({
    path: data.path,
    now: () => clock.now(),
    reading: searchContextOf(config, { baseUrl: BASE_URL }),
    budget: config.searchBudget,
    report,
  })
  const parts = {
    ...{ config, baseUrl: BASE_URL, bases: { baseUrl: BASE_URL }, clock, report },
    authorization: { authenticator, endpoints: {}, clients: { get: async () => undefined } } as unknown as ServerCoreParts['authorization'],
    audit: { prepare: () => undefined, record: (entry: AuditRecord) => void audited.push(entry) } as unknown as ServerCoreParts['audit'],
    seal: seal ?? new AesSeal(randomBytes(32)),
    blobs: new FilesystemBlobStore(data.path('blobs')),
  }
  const exports = await openExports({
    ...parts,
    path: data.path,
    stores,
    key: randomBytes(32),
    storeMatch: noMatches,
    isPartner: async () => true,
  })
  const home: Omit<ServerCore, 'close'> = composeServerCore(around(stores), { ...parts, exports })
  const loading = composeServerCore(stores, { ...parts, exports, config: { ...config, referentialIntegrity: false } })
  return {
    ask: callerRequests(home.serve, tokenOf),
    load: callerRequests(loading.serve, tokenOf),
    patients: home.patients,
    patientsOf: home.patientsOf,
    audited,
    async close() {
      await exports.close()
      await stores.close()
      data.unlock()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
