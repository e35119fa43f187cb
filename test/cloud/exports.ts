/** An export of a deployed stage as its client sees it: begun, polled, and its files by their links. And the machine that works on it, run here. */
import { setTimeout as wait } from 'node:timers/promises'
import { StateMachine } from 'aws-local-stepfunctions'
import { jobIdAt } from '../../lambdas/export/schedules/schedules.ts'
import { STEPS } from '../../lambdas/export/workflow.ts'
import type { TestClient, TestResponse, Tree } from '../api/server.ts'
import { LAKE_SCHEDULE } from './assembly.ts'
import { type AwsCalls, awsCalls } from './aws-calls.ts'
import type { DeploymentDescription } from './cloud.ts'
import { resultOf } from './custom-resource.ts'
import { type FunctionHost, functionHost } from './function-host.ts'
import { type DeployedFunction, deployedFunctions } from './hosted-deployment.ts'

export const RESPOND_ASYNC = { accept: 'application/fhir+json', prefer: 'respond-async' }

export type ExportClient = Pick<TestClient, 'base' | 'get' | 'post'>

export type FinishedExport = { readonly manifest: Tree; readonly answer: TestResponse }

/** The path of the job. */
export async function kickOff({ base, get, post }: ExportClient, path: string, parameters?: Tree): Promise<string> {
  const { status, headers, text } = await (parameters === undefined ? get(path, RESPOND_ASYNC) : post(path, parameters, RESPOND_ASYNC))
  if (status !== 202) throw new Error(`${path}: ${status} ${text}`)
  return headers.get('content-location')!.slice(base().length)
}

export const jobIdOf = (path: string): string => path.split('/').at(-1)!

/** Polls until there is a manifest. */
export async function pollManifest({ get }: Pick<ExportClient, 'get'>, job: string): Promise<FinishedExport> {
  for (let i = 0; i < 600; i++) {
    const answer = await get(job)
    if (answer.status === 200) return { manifest: answer.body, answer }
    if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
    await wait(250)
  }
  throw new Error(`${job} is not finished`)
}

/**
 * Returns the lines of all files in a list of the manifest. Throws Error if a file has another number of lines than the manifest says.
 * `download`: requests the URL of a file.
 */
export async function linesOf(files: readonly Tree[], download = (url: string): Promise<Response> => fetch(url)): Promise<readonly Tree[]> {
  const all: Tree[] = []
  for (const { url, count, type } of files) {
    const response = await download(url)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${url}: ${response.status} ${text}`)
    const lines = text.split('\n').filter((line) => line !== '')
    if (lines.length !== count) throw new Error(`${type} has ${lines.length} lines, not ${count}`)
    all.push(...lines.map((line) => JSON.parse(line)))
  }
  return all
}

/** `Patient/1/3`, sorted: what was exported, in which version. */
export const versionsOf = (lines: readonly Tree[]): readonly string[] =>
  lines.map(({ resourceType, id, meta }) => `${resourceType}/${id}/${meta.versionId}`).sort()

/** ms before a step is tried again, where the definition waits for seconds. */
const RETRIED_AFTER = 50

/** The definition that is deployed, with the steps of a function that runs here. */
export async function runExportWorkflow(aws: AwsCalls, stateMachineArn: string, host: FunctionHost, input: object): Promise<void> {
  const { definition }: Tree = await aws.json('states', 'AWSStepFunctions.DescribeStateMachine', { stateMachineArn })
  const step = (event: object) => host.invoke('export-step', event).then(resultOf)
  const names = Object.keys(STEPS)
  const forEachName = <Value>(value: Value) => Object.fromEntries(names.map((name) => [name, value]))
  const execution = new StateMachine(JSON.parse(definition)).run(input as never, {
    overrides: { taskResourceLocalHandlers: forEachName(step) as never, retryIntervalOverrides: forEachName(RETRIED_AFTER) as never },
  })
  await execution.result
}

/** A run of LAKE_SCHEDULE, from the call of its rule until its files are copied. The path of its job. */
export async function runScheduledExport(aws: AwsCalls, host: FunctionHost, machine: string, time: string): Promise<string> {
  const { name, bucket } = LAKE_SCHEDULE
  resultOf(await host.invoke('export-schedule', { schedule: { ...LAKE_SCHEDULE, tenant: 'default', level: 'system' }, time }))
  const job = jobIdAt(name, Date.parse(time))
  await runExportWorkflow(aws, machine, host, { job, attempt: 1 })
  resultOf(await host.invoke('export-sweep', { sweep: 'copies', schedules: [{ name, bucket, late: 3_600_000 }] }))
  return `/export/${job}`
}

/** The functions of a deployment, run by this process. */
export async function ownFunctions({ awsEndpoint, functionEndpoints, assembly, deployment }: DeploymentDescription) {
  const aws = awsCalls(awsEndpoint)
  const all = await deployedFunctions(aws, assembly, deployment, functionEndpoints)
  const functions: Readonly<Record<string, DeployedFunction>> = Object.fromEntries(all.map((each) => [each.name, each]))
  return { aws, functions, host: functionHost(functions) }
}
