/**
 * Lets the functions work that nobody asks by HTTP, on a deployment that runs here: the rebuild by its state machine, the
 * settler, the migration, what tends the signing keys.
 */
import { randomBytes } from 'node:crypto'
import { StateMachine } from 'aws-local-stepfunctions'
import type { AwsCalls, Tree } from './aws-calls.ts'
import { asCustomResource, resultOf } from './custom-resource.ts'
import type { Here } from './here.ts'
import type { Hosted } from './hosted.ts'
import { NICKNAME } from './nickname.ts'

/** `token`: of an administrator. */
export async function workHere(aws: AwsCalls, { hosted: { functions, host } }: Here, baseUrl: string, token: string): Promise<void> {
  const send = (path: string, method: string, body?: object) => sent(baseUrl + path, method, token, body)
  const put = (resource: Tree) => send(`/${resource.resourceType}/${resource.id}`, 'PUT', resource)
  for (let i = 0; i < 5; i++) await put({ resourceType: 'Patient', id: `nick-${i}`, name: [{ use: 'nickname', given: [`N${i}`] }] })
  // More than an item of the table takes, however it is packed.
  await put({ resourceType: 'Basic', id: 'large', code: { text: randomBytes(450_000).toString('hex') } })
  await put(NICKNAME)
  await send('/$reindex?type=Patient', 'POST')
  // What is defined reaches the index by the stream.
  await until(async () => (await send('/$reindex-status', 'GET')).parameter.some(({ name }: Tree) => name === 'rebuild'))
  await rebuildHere(aws, { functions, host })
  for (const sweep of ['transactions', 'bodies']) resultOf(await host.invoke('settle-transactions', { sweep }))
  await asCustomResource((event) => host.invoke('migrate', event), 'Update')
  const removeKeys = () => asCustomResource((event) => host.invoke('tend-keys', event), 'Delete')
  // The sweep makes another, and looks at what is in no list.
  await removeKeys()
  resultOf(await host.invoke('tend-keys', { sweep: 'keys' }))
  await removeKeys()
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
export async function rebuildHere(aws: AwsCalls, { functions, host }: Pick<Hosted, 'functions' | 'host'>): Promise<void> {
  const stateMachineArn = functions.reindex!.environment.FHIR_REBUILD_WORKFLOW!
  const step = (event: object) => host.invoke('rebuild-step', event).then(resultOf)
  const { definition }: Tree = await aws.json('states', 'AWSStepFunctions.DescribeStateMachine', { stateMachineArn })
  const names = ['Take', 'Open', 'Fill', 'Swap']
  const execution = new StateMachine(JSON.parse(definition)).run({} as never, {
    overrides: { taskResourceLocalHandlers: Object.fromEntries(names.map((name) => [name, step])) as never },
    context: { Execution: { Name: `run-${crypto.randomUUID()}` } } as never,
  })
  await execution.result
}
