/** Export requests without a network: rows in memory, and a workflow that records its calls. */
import type { VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import { DEFAULT_ADDITIONAL_RESOURCES } from '../../lambdas/export/additional-resources.ts'
import { JOB_ROWS, type Job } from '../../lambdas/export/job/job.ts'
import type { HttpResponse } from '../../lambdas/http/exchange.ts'
import { exportingSteps } from '../../lambdas/http/pipelines/exporting.ts'
import { server } from '../../lambdas/http/server.ts'
import { cancelExport } from '../../lambdas/interactions/export/cancel.ts'
import { startExport } from '../../lambdas/interactions/export/kick-off.ts'
import { listExports } from '../../lambdas/interactions/export/list.ts'
import { exportStatus } from '../../lambdas/interactions/export/status.ts'
import type { Choices } from '../../lambdas/interactions/interaction.ts'
import { visibleStoreOf } from '../../lambdas/interactions/visible-store.ts'
import type { ExportFile } from '../../lambdas/ports/blobs/file-links.ts'
import type { Workflow } from '../../lambdas/ports/execution/workflow.ts'
import type { AuditRecord } from '../../lambdas/ports/security/audit-log.ts'
import type { ResourceKey, ResourceVersion } from '../../lambdas/ports/store/resource-store.ts'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { MemoryClients } from '../fixtures/memory/registered.ts'
import type { Tree } from '../fixtures/resources.ts'

export const BASE_URL = 'https://fhir.example.org/fhir'
export const NOW = Date.UTC(2031, 0, 1)

export type CallerClaims = Partial<
  Pick<VerifiedToken, 'tenant' | 'client' | 'scopes' | 'patient' | 'clientAuth' | 'subject' | 'fhirUser' | 'actsForItself'>
>

export type TestResponse = {
  readonly status: number
  readonly headers: HttpResponse['headers']
  readonly body: Tree
  readonly text: string
}

export type RequestContent = { readonly headers?: Record<string, string>; readonly body?: unknown; readonly caller?: CallerClaims }

export const KICK_OFF_HEADERS = { accept: 'application/fhir+json', prefer: 'respond-async' }

export type ExportRequests = ReturnType<typeof createExportRequests>

/** `groups`: ids of the existing Groups. */
export function createExportRequests(settings: Partial<Choices> = {}, groups: readonly string[] = []) {
  const rows = new MemoryRows()
  const world = {
    rows,
    clients: new MemoryClients(),
    now: NOW,
    /** Calls of the workflow. */
    workflowCalls: [] as string[],
    removed: [] as string[],
    audited: [] as AuditRecord[],
    reported: [] as unknown[],
    /** Error that the workflow throws. */
    broken: undefined as Error | undefined,
    jobs: async () => {
      const jobs: Job[] = []
      for await (const { value } of rows.list<Job>(JOB_ROWS)) jobs.push(value)
      return jobs
    },
    job: (id: string) => rows.read<Job>(JOB_ROWS, id),
    change: (id: string, more: Partial<Job>) => rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, ...more })),
    send: (method: string, path: string, content: RequestContent = {}) => send(method, path, content),
    kickOff: (path: string, content: RequestContent = {}) =>
      send(content.body === undefined ? 'GET' : 'POST', path, { ...content, headers: { ...KICK_OFF_HEADERS, ...content.headers } }),
  }
  const ports = portsOf(world, settings, groups)
  const steps = exportingSteps({
    audit: { prepare: () => undefined, record: (entry) => void world.audited.push(entry), close: async () => undefined },
    clock: ports.clock,
    origins: '*',
    maxBody: 2_000_000,
    loopbackOnly: false,
    authenticator: ({ headers }) => JSON.parse(headers.authorization!) as VerifiedToken,
    report: (error) => void world.reported.push(error),
  })
  const interactions = {
    export: startExport(ports),
    'export-list': listExports(ports),
    'export-status': exportStatus(ports),
    'export-cancel': cancelExport(ports),
  }
  const serve = server({ interactions, steps, site: { baseUrl: BASE_URL, reading: () => ({ baseUrl: BASE_URL }) } })
  const send = async (method: string, target: string, { headers = {}, body, caller }: RequestContent): Promise<TestResponse> => {
    const [path = '', query = ''] = target.replace(BASE_URL, '').split('?')
    const bytes = body === undefined ? new Uint8Array() : new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
    const sent = { ...headers, authorization: JSON.stringify(tokenOf(caller)) }
    const response = await serve({ ...asHomesSay(method), path, query, headers: sent, body: bytes }, 'request-id')
    const text = Buffer.concat(response.body ?? []).toString()
    return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
  }
  return world
}

const asHomesSay = (method: string) => (method === 'HEAD' ? { method: 'GET', isHead: true } : { method })

type World = {
  now: number
  readonly workflowCalls: string[]
  readonly removed: string[]
  readonly reported: unknown[]
  readonly rows: MemoryRows
  readonly clients: MemoryClients
  broken: Error | undefined
}

function portsOf(world: World, settings: Partial<Choices>, groups: readonly string[]) {
  let ids = 0
  const callWorkflow = async (text: string): Promise<void> => {
    if (world.broken !== undefined) throw world.broken
    world.workflowCalls.push(text)
  }
  const workflow: Workflow = {
    start: (name, input) => callWorkflow(`start ${name} ${JSON.stringify(input)}`),
    stop: (name) => callWorkflow(`stop ${name}`),
    isRunning: async () => false,
  }
  const nothing = async () => []
  const current = async (keys: readonly ResourceKey[]) => keys.map((key) => (groups.includes(key.id) ? groupOf(key) : undefined))
  const resources = { current, versions: nothing, history: async () => ({ versions: [], more: false }) }
  return {
    resources: visibleStoreOf(resources, () => ({ evaluate: () => Promise.reject(new Error('not asked')) })),
    clients: world.clients,
    clock: { now: () => world.now, newId: () => `job-${++ids}` },
    choices: { ...readConfig({}), ...settings },
    exports: {
      rows: world.rows,
      workflow,
      settings: { groupTypes: ['Patient', 'Observation'], additionalResources: DEFAULT_ADDITIONAL_RESOURCES },
      urls: {
        sign: async ({ job, file, client, user }: ExportFile, expires: number) =>
          `${job}/${file} for ${[user, client].filter(Boolean).join(' of ')} until ${expires}`,
      },
      blobs: { remove: async (key: string) => void world.removed.push(key) },
      report: (error: unknown) => void world.reported.push(error),
    },
  }
}

const groupOf = (key: ResourceKey): ResourceVersion => ({
  ...key,
  versionId: 1,
  lastUpdated: NOW,
  deleted: key.id === 'deleted',
  compartments: [],
  body: new TextEncoder().encode(JSON.stringify({ resourceType: 'Group', id: key.id })),
})

const tokenOf = (caller: CallerClaims = {}): VerifiedToken => ({
  tenant: 'north',
  client: 'app',
  subject: caller.client ?? 'app',
  scopes: ['system/*.rs'],
  clientAuth: 'assertion',
  expires: Number.POSITIVE_INFINITY,
  issuer: BASE_URL,
  ...caller,
})
