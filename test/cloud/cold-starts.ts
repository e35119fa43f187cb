/** What a first request costs: a fresh process loads the bundle and answers, against one whose handler is empty. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Credentials } from '../fixtures/token-provider.ts'
import { LAKE_SCHEDULE } from './assembly.ts'
import { startFunction } from './function-host.ts'
import type { HostedDeployment } from './hosted-deployment.ts'

const ROUNDS = 2

const PATIENT = JSON.stringify({ resourceType: 'Patient', id: 'cold', active: true })

const APPLIED = JSON.stringify({
  resourceType: 'Parameters',
  parameter: [
    { name: 'fhirPath', valueString: 'active' },
    { name: 'resource', resource: JSON.parse(PATIENT) },
  ],
})

type Event = { readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>; readonly [other: string]: unknown }

const http = (httpMethod: string, resource: string, pathParameters: object = {}, body?: string): Event => ({
  httpMethod,
  resource,
  pathParameters,
  multiValueHeaders: { 'content-type': [body?.startsWith('[') ? 'application/json-patch+json' : 'application/fhir+json'] },
  ...(body === undefined ? {} : { body }),
})
const form = (resource: string, fields: Readonly<Record<string, string>>): Event => ({
  ...http('POST', resource, {}, new URLSearchParams(fields).toString()),
  multiValueHeaders: { 'content-type': ['application/x-www-form-urlencoded'] },
})
const cold = { type: 'Patient', id: 'cold' }

/** `update` makes what the others ask for. */
const EVENTS: Readonly<Record<string, Event>> = {
  update: http('PUT', '/{type}/{id}', cold, PATIENT),
  read: http('GET', '/{type}/{id}', cold),
  vread: http('GET', '/{type}/{id}/_history/{versionId}', { ...cold, versionId: '1' }),
  history: http('GET', '/{type}/{id}/_history', cold),
  search: http('GET', '/{type}', { type: 'Patient' }),
  create: http('POST', '/{type}', { type: 'Patient' }, PATIENT),
  patch: http('PATCH', '/{type}/{id}', cold, '[{"op":"add","path":"/active","value":true}]'),
  delete: http('DELETE', '/{type}/{id}', { type: 'Patient', id: 'nobody' }),
  bundle: http('POST', '/', {}, JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry: [] })),
  capabilities: http('GET', '/metadata'),
  health: http('GET', '/health'),
  meta: http('GET', '/{type}/{id}/$meta', cold),
  everything: http('GET', '/{type}/{id}/$everything', cold),
  validate: http('POST', '/{type}/$validate', { type: 'Patient' }, PATIENT),
  'apply-fhirpath': http('POST', '/$apply-fhirpath', {}, APPLIED),
  fallback: http('OPTIONS', '/{type}', { type: 'Patient' }),
  indexer: { Records: [] },
  export: { ...http('GET', '/$export'), multiValueHeaders: { accept: ['application/fhir+json'], prefer: ['respond-async'] } },
  'export-status': http('GET', '/export/{id}', { id: 'nobodys' }),
  'export-cancel': http('DELETE', '/export/{id}', { id: 'nobodys' }),
  'export-schedule': { schedule: { ...LAKE_SCHEDULE, tenant: 'default', level: 'system' }, time: '2031-01-01T03:00:00Z' },
  'export-step': { action: 'plan', job: 'nobodys', attempt: 1 },
  'export-sweep': { sweep: 'schedules', schedules: [] },
}

/** `token` has KMS sign; what `revoke` is told of is none. */
const authEvents = ({ id, secret }: Credentials, token: string): Readonly<Record<string, Event>> => {
  const who = { client_id: id, client_secret: secret }
  return {
    token: form('/auth/token', { ...who, grant_type: 'client_credentials' }),
    introspect: form('/auth/introspect', { ...who, token }),
    revoke: form('/auth/revoke', { ...who, token: 'none' }),
    discovery: http('GET', '/.well-known/smart-configuration'),
    authorize: http('GET', '/auth/account'),
    'tend-keys': { sweep: 'keys' },
  }
}

/** With the token of who asks for resources. */
const bearing = (event: Event, token: string): Event =>
  event.multiValueHeaders === undefined
    ? event
    : { ...event, multiValueHeaders: { ...event.multiValueHeaders, authorization: [`Bearer ${token}`] } }

const eventsOf = (administrator: Credentials, token: string): Readonly<Record<string, Event>> => ({
  ...Object.fromEntries(Object.entries(EVENTS).map(([name, event]) => [name, bearing(event, token)])),
  ...authEvents(administrator, token),
})

/** Milliseconds: to load the bundle, and from the start of the process to its first answer. */
type Start = { readonly loaded: number; readonly answered: number }

/** `token`: one of the administrator's. */
export async function measureColdStarts(
  { functions }: HostedDeployment,
  administrator: Credentials,
  token: string,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-empty-'))
  const empty = join(folder, 'empty.cjs')
  writeFileSync(empty, 'exports.handler = async () => ({ statusCode: 200, body: "" })')
  try {
    const base = await quickest(empty, {}, {})
    const rows = [`| (empty) | | ${round(base.loaded)} ms | ${round(base.answered)} ms | 1.0 |`]
    for (const [name, event] of Object.entries(eventsOf(administrator, token))) {
      const { bundle, environment } = functions[name]!
      const { loaded, answered } = await quickest(bundle, environment, event)
      const size = Math.round(statSync(bundle).size / 1_000)
      rows.push(`| ${name} | ${size} kB | ${round(loaded)} ms | ${round(answered)} ms | ${(answered / base.answered).toFixed(1)} |`)
    }
    return ['| function | bundle | loads in | first answer | against an empty handler |', '|---|---|---|---|---|', ...rows]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const round = (ms: number): string => ms.toFixed(0)

async function quickest(bundle: string, environment: Readonly<Record<string, string>>, event: object): Promise<Start> {
  const starts: Start[] = []
  for (let i = 0; i < ROUNDS; i++) starts.push(await start(bundle, environment, event))
  return starts.reduce((a, b) => (a.answered < b.answered ? a : b))
}

function start(bundle: string, environment: Readonly<Record<string, string>>, event: object): Promise<Start> {
  const began = performance.now()
  const child = startFunction(bundle, environment)
  let loaded = 0
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('exit', () => reject(new Error(`${bundle} ended`)))
    child.on('message', (message: { readonly loaded?: number; readonly error?: string; readonly result?: string }) => {
      if (message.loaded !== undefined) {
        loaded = message.loaded
        return
      }
      const answered = performance.now() - began
      child.removeAllListeners('exit').kill('SIGKILL')
      const fault = message.error ?? faultIn(message.result)
      if (fault === undefined) resolve({ loaded, answered })
      else reject(new Error(`${bundle}: ${fault}`))
    })
    child.send({ id: 1, event: JSON.stringify(event), remaining: 29_000 })
  })
}

/** Who is refused is answered sooner than who is served. */
function faultIn(result = 'null'): string | undefined {
  const { statusCode = 200 } = (JSON.parse(result) ?? {}) as { readonly statusCode?: number }
  return [401, 403].includes(statusCode) || statusCode >= 500 ? result : undefined
}
