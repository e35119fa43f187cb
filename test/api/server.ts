/**
 * A server for a test file: the one of FHIR_BASE_URL where that is set, made empty by FHIR_FRESH_URL, else an embedded one in a private
 * folder. And a client that speaks to it.
 */
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { type EmbeddedServer, openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { eventually } from '../fixtures/eventually.ts'
import { failOnReport } from '../fixtures/never-reports.ts'
import type { Tree } from '../fixtures/resources.ts'
import { type Credentials, tokenProviderOf } from '../fixtures/token-provider.ts'

export type { Tree }

export type TestResponse = { readonly status: number; readonly headers: Headers; readonly body: Tree; readonly text: string }

export type TestClient = {
  readonly base: () => string
  /** As it is answered, body unread. */
  readonly raw: (path: string, init?: RequestInit) => Promise<Response>
  readonly send: (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<TestResponse>
  readonly get: (path: string, headers?: Record<string, string>) => Promise<TestResponse>
  readonly put: (path: string, body: unknown, headers?: Record<string, string>) => Promise<TestResponse>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Promise<TestResponse>
  readonly patch: (path: string, body: unknown, headers?: Record<string, string>) => Promise<TestResponse>
  readonly delete: (path: string, headers?: Record<string, string>) => Promise<TestResponse>
}

/** Started before the tests of the file, closed after them, and asked with an administrator's token. `settings`: environment variables. */
export function withServer(settings: Readonly<Record<string, string>> = {}): TestClient {
  let base = process.env.FHIR_BASE_URL ?? ''
  let access: Access = () => undefined
  let embedded: EmbeddedServer | undefined
  beforeAll(async () => {
    if (base !== '') {
      const administrator = await emptied(settings)
      if (administrator !== undefined) access = tokenProviderOf(base, administrator)
      return
    }
    const started = await startServer({ FHIR_ACCESS: 'token', ...settings })
    embedded = started.embedded
    base = started.base
    if (settings.FHIR_ACCESS === 'open') return
    const token = await embedded.issue({ isAdministrator: true })
    access = () => token
  })
  afterAll(() => embedded?.close())
  return clientOf(
    () => base,
    () => access(),
  )
}

/** Whether the server is another than the embedded one: its index may follow the store, and an edge stands before it. */
export const isExternalServer = process.env.FHIR_BASE_URL !== undefined

/** For tests of what only the embedded home does itself. */
export function itOnEmbedded(reason: string): (name: string, test: () => Promise<void>) => void {
  if (!isExternalServer) return it
  return (name) => {
    process.stderr.write(`Not tested at FHIR_BASE_URL: "${name}": ${reason}\n`)
    it.skip(name, () => {})
  }
}

/** FHIR_FRESH_URL: where a server is asked to be as if it were new, with these settings. Who may do everything there, unless it is open. */
async function emptied(settings: Readonly<Record<string, string>>): Promise<Credentials | undefined> {
  const url = process.env.FHIR_FRESH_URL
  if (url === undefined) return undefined
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ settings, here: process.env.FHIR_FRESH_HERE === '1' }) })
  if (!response.ok) throw new Error(await response.text())
  return ((await response.json()) as { readonly administrator?: Credentials }).administrator
}

/** Open to all, unless the settings say otherwise. */
export async function startServer(
  settings: Readonly<Record<string, string>> = {},
  dataFolder?: string,
  report: (error: unknown) => void = failOnReport,
): Promise<{ readonly embedded: EmbeddedServer; readonly base: string }> {
  const baseUrl = 'http://127.0.0.1/fhir'
  const embedded = await openEmbeddedServer({
    config: readConfig({ FHIR_ACCESS: 'open', ...settings }),
    baseUrl,
    ...(dataFolder === undefined ? {} : { dataFolder }),
    report,
  })
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  return { embedded, base: `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir` }
}

/** More would not fit into a header. */
const MAX_TOKENS = 40
/** Times that a client waits as long as Retry-After says. */
const MAX_RETRIES = 10

/** The access token to send; undefined: none. */
type Access = () => string | undefined | Promise<string | undefined>

/**
 * Creates a client of a server. The client sends each received X-Index-Token until a search was answered, so that its searches find its own
 * writes. It sends a token only to the tenant of the token.
 */
export function clientOf(base: () => string, access: Access = () => undefined): TestClient {
  const tokensOf = new Map<string, readonly string[]>()
  const authorization = async (): Promise<Record<string, string>> => {
    const token = await access()
    return token === undefined ? {} : { authorization: `Bearer ${token}` }
  }
  const send: TestClient['send'] = async (method, path, body, headers = {}) => {
    const allowed = await authorization()
    const tenant = headers['x-tenant-id'] ?? ''
    const sent = tokensOf.get(tenant) ?? []
    const isText = typeof body === 'string' || body instanceof Uint8Array
    const send = () =>
      fetch(path.startsWith('http') ? path.replace(/^http:\/\/127\.0\.0\.1\/fhir/, base()) : base() + path, {
        method,
        headers: {
          ...(body === undefined || Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
            ? {}
            : { 'content-type': 'application/fhir+json' }),
          ...allowed,
          ...(sent.length === 0 ? {} : { 'x-index-token': sent.join(', ') }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: isText ? (body as string) : JSON.stringify(body) }),
      })
    let response = await send()
    // On a busy machine the index may be behind for longer than a search waits, which then says when to ask again; a Bundle before it does anything.
    const waits = method === 'GET' || (isExternalServer && method === 'POST' && (path === '/' || path.endsWith('/_search')))
    const isBehind = response.status === 503 && ((sent.length > 0 && waits) || (await isTableIndexBehind(response)))
    if (isBehind) {
      let seconds = MAX_RETRIES * Number(response.headers.get('retry-after') ?? 1)
      response = await eventually(send, {
        until: ({ status }) => status !== 503 || seconds-- <= 0,
        within: Number.POSITIVE_INFINITY,
        every: 1_000,
      })
    }
    const text = await response.text()
    const parsed: Tree = text !== '' && /\bjson/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : undefined
    const token = response.headers.get('x-index-token')
    const kept = tokensOf.get(tenant) ?? []
    const left = parsed?.type === 'searchset' ? kept.filter((each) => !sent.includes(each)) : kept
    tokensOf.set(tenant, token === null ? left : [...left, token].slice(-MAX_TOKENS))
    return { status: response.status, headers: response.headers, text, body: parsed }
  }
  return {
    base,
    raw: async (path, init = {}) =>
      fetch(base() + path, { ...init, headers: { ...(await authorization()), ...(init.headers as Record<string, string>) } }),
    send,
    get: (path, headers) => send('GET', path, undefined, headers),
    put: (path, body, headers) => send('PUT', path, body, headers),
    post: (path, body, headers) => send('POST', path, body, headers),
    patch: (path, body, headers) => send('PATCH', path, body, { 'content-type': 'application/json-patch+json', ...headers }),
    delete: (path, headers) => send('DELETE', path, undefined, headers),
  }
}

/** Whether the server answers that the index of the table on AWS is behind. It has then changed nothing, so a client may repeat any request. */
const isTableIndexBehind = async (response: Response): Promise<boolean> =>
  (await response.clone().text()).includes('The index of the table is behind')

let counter = 0
/** An id no other test uses. */
export const newId = (): string => `t-${process.pid}-${Date.now().toString(36)}-${++counter}`

/** Waits until the server stamps a write with an instant after this one, given in milliseconds. The writes are those of another resource. */
export async function waitForStampAfter(put: TestClient['put'], instant: number): Promise<void> {
  const id = newId()
  const stamp = async (): Promise<string> =>
    (await put(`/Binary/${id}`, { resourceType: 'Binary', id, contentType: 'text/plain' })).body.meta.lastUpdated
  await eventually(stamp, { until: (stamped) => Date.parse(stamped) > instant })
}

/** The codes of an OperationOutcome, `severity code expression`. */
export const issuesOf = ({ body }: TestResponse): readonly string[] =>
  (body?.issue ?? []).map(({ severity, code, expression }: Tree) => [severity, code, ...(expression ?? [])].join(' '))
