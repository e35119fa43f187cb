/**
 * Lets the functions work that nobody asks by HTTP, on a deployment that runs here: the rebuild and an export by their state machines, the
 * settler, the migration, what tends the signing keys, what takes up what exports left.
 */
import { randomBytes } from 'node:crypto'
import { StateMachine } from 'aws-local-stepfunctions'
import { jobIdAt } from '../../lambdas/export/schedules/schedules.ts'
import { MIN_PART_BYTES } from '../../lambdas/export/write/multipart-uploads.ts'
import type { TestClient, TestResponse } from '../api/server.ts'
import { LAKE_SCHEDULE } from './assembly.ts'
import type { AwsCalls, Tree } from './aws-calls.ts'
import { invokeCustomResource, resultOf } from './custom-resource.ts'
import { jobIdOf, kickOff, pollManifest, RESPOND_ASYNC, runExportWorkflow, runScheduledExport } from './exports.ts'
import type { HostedDeployment } from './hosted-deployment.ts'
import type { LocalDeployment } from './local-deployment.ts'
import { NICKNAME_PARAMETER } from './nickname.ts'

/** Bytes of a resource, and how many of them make a part of an export's file. */
const LARGE = 900_000
const PART_OF = Math.ceil(MIN_PART_BYTES / LARGE) + 1

/** `token`: of an administrator. */
export async function runWorkers(
  aws: AwsCalls,
  { hosted: { functions, host } }: LocalDeployment,
  baseUrl: string,
  token: string,
): Promise<void> {
  const send = (path: string, method: string, body?: object) => sent(baseUrl + path, method, token, body)
  const put = (resource: Tree) => send(`/${resource.resourceType}/${resource.id}`, 'PUT', resource)
  for (let i = 0; i < 5; i++) await put({ resourceType: 'Patient', id: `nick-${i}`, name: [{ use: 'nickname', given: [`N${i}`] }] })
  // More than an item of the table takes, however it is packed.
  for (let i = 0; i < PART_OF; i++)
    await put({ resourceType: 'Basic', id: `large-${i}`, code: { text: randomBytes(LARGE / 2).toString('hex') } })
  await put(NICKNAME_PARAMETER)
  // A rebuild tells of their canonicals: of several at once, and of one alone.
  for (const id of ['nicks', 'more-nicks'])
    await put({ resourceType: 'CodeSystem', id, url: `urn:${id}`, status: 'active', content: 'complete' })
  await put({
    resourceType: 'ValueSet',
    id: 'nicks',
    url: 'urn:all-nicks',
    status: 'active',
    compose: { include: [{ system: 'urn:nicks' }] },
  })
  for (const type of ['Patient', 'CodeSystem', 'ValueSet']) await send(`/$reindex?type=${type}`, 'POST')
  // What is defined reaches the index by the stream.
  await until(async () => (await send('/$reindex-status', 'GET')).parameter.some(({ name }: Tree) => name === 'rebuild'))
  await runRebuild(aws, { functions, host })
  resultOf(await host.invoke('indexer', { sweep: 'index' }))
  for (const sweep of ['transactions', 'bodies']) resultOf(await host.invoke('settle-transactions', { sweep }))
  await invokeCustomResource((event) => host.invoke('migrate', event), 'Update')
  await runExport(aws, { functions, host }, baseUrl, token)
  // The last, since no token counts any more.
  const removeKeys = () => invokeCustomResource((event) => host.invoke('tend-keys', event), 'Delete')
  // The sweep makes another, and looks at what is in no list.
  await removeKeys()
  resultOf(await host.invoke('tend-keys', { sweep: 'keys' }))
  await removeKeys()
}

/** Outside of jest. */
function clientAt(baseUrl: string, token: string): Pick<TestClient, 'base' | 'get' | 'post' | 'delete'> {
  const send = async (
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: unknown,
  ): Promise<TestResponse> => {
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'content-type': 'application/fhir+json' }
    const response = await fetch(baseUrl + path, { method, headers: { authorization: `Bearer ${token}`, ...type, ...headers }, ...content })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text.startsWith('{') ? JSON.parse(text) : undefined }
  }
  return {
    base: () => baseUrl,
    get: (path, headers) => send('GET', path, headers),
    post: (path, body, headers) => send('POST', path, headers, body),
    delete: (path, headers) => send('DELETE', path, headers),
  }
}

/** Each of its functions, among them a job that is cancelled when it is complete, and one whose files are left. */
async function runExport(
  aws: AwsCalls,
  { functions, host }: Pick<HostedDeployment, 'functions' | 'host'>,
  baseUrl: string,
  token: string,
): Promise<void> {
  const KeyId = functions['export-status']!.environment.FHIR_LINK_KEY!
  await invokeCustomResource((event) => host.invoke('link-key', event), 'Create', { KeyId })
  const client = clientAt(baseUrl, token)
  const machine = functions.export!.environment.FHIR_EXPORT_WORKFLOW!
  await sent(`${baseUrl}/Group/of-nicks`, 'PUT', token, {
    ...{ resourceType: 'Group', id: 'of-nicks', type: 'person', actual: true },
    member: [{ entity: { reference: 'Patient/nick-0' } }],
  })
  const levels: readonly (readonly [string, Tree?])[] = [
    ['/$export'],
    ['/Group/of-nicks/$export?_typeFilter=Patient%3Fname%3Dn0'],
    ['/Patient/$export', { resourceType: 'Parameters', parameter: [{ name: 'patient', valueReference: { reference: 'Patient/nick-0' } }] }],
  ]
  const exported = async ([path, parameters]: (typeof levels)[number]): Promise<void> => {
    const job = await kickOff(client, path, parameters)
    await client.get(job)
    await runExportWorkflow(aws, machine, host, { job: jobIdOf(job), attempt: 1 })
    await pollManifest(client, job)
    await client.delete(job)
  }
  // Each waits until what was written before it has settled.
  await Promise.all([...levels.map(exported), runCopy(aws, host, machine)])
  const schedule = { name: 'nightly', client: 'tests', tenant: 'default', level: 'patient', sinceLast: true }
  // An hour after its last call a schedule is forgotten that is set no more.
  const time = new Date(Date.now() - 2 * 3_600_000).toISOString()
  resultOf(await host.invoke('export-schedule', { schedule, time }))
  resultOf(await host.invoke('export-sweep', { sweep: 'schedules', schedules: [{ name: schedule.name, late: 3_600_000 }] }))
  await client.delete(`/export/${jobIdAt(schedule.name, Date.parse(time))}`)
  await refusedOne(client)
  // Nobody works on this one; after that it is ended with files that are not complete.
  const job = await kickOff(client, '/$export')
  resultOf(await host.invoke('export-sweep', { sweep: 'jobs' }))
  const input = { job: jobIdOf(job), attempt: 2 }
  const planned = async () => resultOf(await host.invoke('export-step', { action: 'plan', ...input }))
  await until(async () => (await planned()).wait === 0)
  const { segments } = await planned()
  for (const segment of segments) resultOf(await host.invoke('export-step', { action: 'write', segment, ...input }))
  resultOf(await host.invoke('export-step', { action: 'fail', ...input }))
  resultOf(await host.invoke('export-sweep', { sweep: 'expired', schedules: [LAKE_SCHEDULE.name] }))
}

async function runCopy(aws: AwsCalls, host: HostedDeployment['host'], machine: string): Promise<void> {
  await aws.send('s3', 'PUT', `/${LAKE_SCHEDULE.bucket}`)
  await runScheduledExport(aws, host, machine, new Date().toISOString())
}

/** Of one that is too many its row goes at once; the others are cancelled. */
async function refusedOne(client: ReturnType<typeof clientAt>): Promise<void> {
  const running: string[] = []
  for (;;) {
    const { status, headers, text } = await client.get('/$export', RESPOND_ASYNC)
    if (status === 429) break
    if (status !== 202 || running.length > 100) throw new Error(`${running.length} exports run, and then: ${status} ${text}`)
    running.push(headers.get('content-location')!.slice(client.base().length))
  }
  for (const job of running) await client.delete(job)
}

async function sent(url: string, method: string, token: string, body?: object): Promise<Tree> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/fhir+json' }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const text = await response.text()
  if (response.status >= 300) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 600; i++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('that did not happen')
}

/** The deployed machine, its steps run here. */
export async function runRebuild(aws: AwsCalls, { functions, host }: Pick<HostedDeployment, 'functions' | 'host'>): Promise<void> {
  const stateMachineArn = functions.reindex!.environment.FHIR_REBUILD_WORKFLOW!
  const step = (event: object) => host.invoke('rebuild-step', event).then(resultOf)
  const { definition }: Tree = await aws.json('states', 'AWSStepFunctions.DescribeStateMachine', { stateMachineArn })
  const names = ['Step', 'Fill']
  const execution = new StateMachine(JSON.parse(definition)).run({} as never, {
    overrides: { taskResourceLocalHandlers: Object.fromEntries(names.map((name) => [name, step])) as never },
    context: { Execution: { Name: `run-${crypto.randomUUID()}` } } as never,
  })
  await execution.result
}
