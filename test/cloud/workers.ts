/** Lets the functions work that nobody asks by HTTP, on a deployment that runs here: the rebuild by its state machine, the settler, the migration. */
import { createServer } from 'node:http'
import { StateMachine } from 'aws-local-stepfunctions'
import type { AwsCalls, Tree } from './aws-calls.ts'
import type { Invoked } from './function-host.ts'
import type { Here } from './here.ts'
import { NICKNAME } from './nickname.ts'

export async function workHere(aws: AwsCalls, { hosted: { functions, host } }: Here, baseUrl: string): Promise<void> {
  const step = (event: object) => host.invoke('rebuild-step', event).then(resultOf)
  const put = (resource: Tree) => send(`${baseUrl}/${resource.resourceType}/${resource.id}`, 'PUT', resource)
  for (let i = 0; i < 5; i++) await put({ resourceType: 'Patient', id: `nick-${i}`, name: [{ use: 'nickname', given: [`N${i}`] }] })
  await put(NICKNAME)
  await send(`${baseUrl}/$reindex?type=Patient`, 'POST')
  // What is defined reaches the index by the stream.
  await until(async () => (await send(`${baseUrl}/$reindex-status`, 'GET')).parameter.some(({ name }: Tree) => name === 'rebuild'))
  await rebuild(aws, functions.reindex!.environment.FHIR_REBUILD_WORKFLOW!, step)
  for (const sweep of ['transactions', 'bodies']) resultOf(await host.invoke('settle-transactions', { sweep }))
  await migrate((event) => host.invoke('migrate', event))
}

function resultOf(invoked: Invoked): Tree {
  if (!('result' in invoked)) throw new Error(`${invoked.kind}: ${invoked.message}`)
  return JSON.parse(invoked.result)
}

async function send(url: string, method: string, body?: object): Promise<Tree> {
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/fhir+json' } }
  const response = await fetch(url, { method, ...content })
  const text = await response.text()
  if (response.status >= 300) throw new Error(`${method} ${url}: ${response.status} ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 100; i++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('that did not happen')
}

/** The deployed machine, its steps run here. */
async function rebuild(aws: AwsCalls, stateMachineArn: string, step: (event: object) => Promise<Tree>): Promise<void> {
  const { definition }: Tree = await aws.json('states', 'AWSStepFunctions.DescribeStateMachine', { stateMachineArn })
  const names = ['Take', 'Open', 'Fill', 'Swap']
  const execution = new StateMachine(JSON.parse(definition)).run({} as never, {
    overrides: { taskResourceLocalHandlers: Object.fromEntries(names.map((name) => [name, step])) as never },
    context: { Execution: { Name: `run-${crypto.randomUUID()}` } } as never,
  })
  await execution.result
}

/** As CloudFormation asks it. */
async function migrate(invoke: (event: object) => Promise<Invoked>): Promise<void> {
  const answered: Tree[] = []
  const server = createServer(async (request, response) => {
    answered.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const names = { StackId: 'stack', RequestId: 'request', LogicalResourceId: 'Migration' }
  resultOf(await invoke({ RequestType: 'Update', ResponseURL: `http://127.0.0.1:${port}/`, ...names }))
  server.close()
  server.closeAllConnections()
  if (answered[0]?.Status !== 'SUCCESS') throw new Error(`the migration: ${JSON.stringify(answered)}`)
}
