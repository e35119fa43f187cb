/**
 * A server with some records and a Group, and a backend-services client that sends the requests of BDT and Inferno's Bulk Data kit.
 * https://github.com/smart-on-fhir/bdt, https://github.com/inferno-framework/bulk-data-test-kit
 */
import { addClient, openAdministration } from '../../../lambdas/runtime/control/administration.ts'
import { startServer } from '../../api/server.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../../auth/assertions.ts'
import { RECORD } from '../../auth/inferno/record.ts'
import { newFolder, runAtEnd } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import type { Tree } from '../../fixtures/resources.ts'

/** `by`: test of the kit, as kit/test. `holds`: the requirement. */
export type KitRow = readonly [by: string, holds: string, check: (site: Site) => Promise<void>]

/** Base URL that the server states. The requests go to a local port instead. */
export const SERVER_URL = 'http://127.0.0.1/fhir'

export type ExportLevel = 'system' | 'patient' | 'group'
export const EXPORT_PATHS: Readonly<Record<ExportLevel, string>> = {
  system: '$export',
  patient: 'Patient/$export',
  group: 'Group/all/$export',
}

export type TestResponse = { readonly status: number; readonly headers: Headers; readonly text: string; readonly body: Tree }

/** `headers`: undefined omits a header. */
export type RequestContent = { readonly headers?: Readonly<Record<string, string | undefined>>; readonly body?: unknown }

export type Site = {
  /** Sends a request. `url`: absolute, or below the base. Without a token the request is anonymous. */
  readonly send: (method: string, url: string, content?: RequestContent, token?: string) => Promise<TestResponse>
  /** Starts an export as the kits do; `content` changes or omits parts of the request. Uses POST if there is a body. */
  readonly kickOff: (
    level: ExportLevel,
    query?: Readonly<Record<string, string | readonly string[]>>,
    content?: RequestContent,
  ) => Promise<TestResponse>
  /** Polls until the export is no longer under way. */
  readonly finished: (kickOff: TestResponse) => Promise<TestResponse>
  readonly cancel: (kickOff: TestResponse) => Promise<TestResponse>
  /** Returns the resources of the output files of a type, or of all types. */
  readonly lines: (manifest: Tree, type?: string) => Promise<readonly Tree[]>
  /** Returns a token of the client with the given scopes. */
  readonly tokenFor: (scope: string) => Promise<string>
}

/** Resources that the kits expect besides the record: a document, its content on the server, and a Group of both patients. */
const MORE: readonly Tree[] = [
  {
    ...{ resourceType: 'DocumentReference', id: 'scan', status: 'current', subject: { reference: 'Patient/1' } },
    content: [{ attachment: { contentType: 'text/plain', url: 'Binary/scan' } }],
  },
  { resourceType: 'Binary', id: 'scan', contentType: 'text/plain', data: 'YQ==' },
  {
    ...{ resourceType: 'Group', id: 'all', type: 'person', actual: true },
    member: ['1', '2'].map((id) => ({ entity: { reference: `Patient/${id}` } })),
  },
]

export async function openSite(): Promise<Site> {
  const folder = newFolder()
  const pair = await createKeyPair('ES384', 'es')
  const ports = await openAdministration(folder, { isNew: true })
  runAtEnd(() => ports.close())
  const common = { name: 'a kit', redirectUris: [], tenants: ['default'], mayIntrospect: false }
  await addClient(ports, { id: 'kit', ...common, authentication: { kind: 'keys', keys: [pair.jwk] }, scopes: ['system/*.cruds'] })
  const { embedded, base } = await startServer({ FHIR_ACCESS: 'token' }, folder)
  runAtEnd(() => embedded.close())
  const send: Site['send'] = async (method, url, { headers = {}, body } = {}, token) => {
    const absolute = url.startsWith('http') ? url : `${SERVER_URL}/${url}`
    if (!absolute.startsWith(`${SERVER_URL}/`)) throw new Error(`${url} is not of the server`)
    const sent = Object.entries({ ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers })
    const answer = await fetch(absolute.replace(SERVER_URL, base), {
      method,
      headers: sent.filter((each): each is [string, string] => each[1] !== undefined),
      ...(body === undefined ? {} : { body: body instanceof URLSearchParams ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    const isJson = /json(?!\w)/.test((answer.headers.get('content-type') ?? '').replace('ndjson', ''))
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined }
  }
  const tokenFor = async (scope: string): Promise<string> => {
    const claims = { aud: `${SERVER_URL}/auth/token`, exp: Math.floor(Date.now() / 1000) + 300 }
    const form = { ...assertionFormOf(signAssertion(pair, 'kit', Date.now(), { claims })), scope }
    return (await send('POST', 'auth/token', { body: new URLSearchParams(form) })).body.access_token
  }
  const token = await tokenFor('system/*.cruds')
  const loaded = await send('POST', `${SERVER_URL}/`, { headers: JSON_BODY, body: bundleOf([...RECORD, ...MORE]) }, token)
  if (loaded.status !== 200) throw new Error(`The record was not loaded: ${loaded.text}`)
  return siteOf(send, tokenFor, token)
}

const JSON_BODY = { 'content-type': 'application/fhir+json' }

const bundleOf = (resources: readonly Tree[]): Tree => ({
  ...{ resourceType: 'Bundle', type: 'transaction' },
  entry: resources.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } })),
})

export function siteOf(send: Site['send'], tokenFor: Site['tokenFor'], token: string): Site {
  const locationOf = ({ headers }: TestResponse): string => headers.get('content-location') ?? `${SERVER_URL}/export/none`
  const site: Site = {
    send,
    tokenFor,
    kickOff(level, query = {}, { headers = {}, body } = {}) {
      const search = new URLSearchParams(
        Object.entries(query).flatMap(([name, value]) => [value].flat().map((each): [string, string] => [name, each])),
      )
      const url = search.size === 0 ? EXPORT_PATHS[level] : `${EXPORT_PATHS[level]}?${search}`
      const usual = { accept: 'application/fhir+json', prefer: 'respond-async', ...(body === undefined ? {} : JSON_BODY) }
      const sent = { headers: { ...usual, ...headers }, ...(body === undefined ? {} : { body }) }
      const isAnonymous = Object.hasOwn(headers, 'authorization')
      return send(body === undefined ? 'GET' : 'POST', url, sent, isAnonymous ? undefined : token)
    },
    finished(kickOff) {
      const poll = () => send('GET', locationOf(kickOff), { headers: { accept: 'application/json' } }, token)
      return eventually(poll, { until: ({ status }) => status !== 202, every: 20 })
    },
    cancel: (kickOff) => send('DELETE', locationOf(kickOff), { headers: { accept: 'application/json' } }, token),
    async lines({ output }, type) {
      const matching = output.filter((file: Tree) => type === undefined || file.type === type)
      const files: TestResponse[] = await Promise.all(matching.map(({ url }: Tree) => send('GET', url)))
      return files.flatMap(({ text }) =>
        text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line)),
      )
    },
  }
  return site
}
