/**
 * The cloud on one machine: the synthesized stacks on MiniStack, beside a real OpenSearch, behind one address that stays. An empty one, also
 * with other settings of the service, is a new deployment.
 */
import { delimiter, dirname } from 'node:path'
import { type RunningEngine, startAll } from '../engines/engine.ts'
import { ministack } from '../engines/ministack.ts'
import { opensearch } from '../engines/opensearch.ts'
import type { Credentials } from '../fixtures/token-provider.ts'
import { OPEN_ACCESS, type Synthesizer } from './assembly.ts'
import { type AwsCalls, awsCalls, type Tree } from './aws-calls.ts'
import { type Deployment, deploy } from './deploy.ts'
import { distributionOf } from './distribution.ts'
import { type Front, startFront } from './front.ts'
import { INVOKER_TYPES, type LocalDeployment, startLocalDeployment } from './local-deployment.ts'
import type { RecordedCall } from './recorder.ts'
import { registerAdministrator } from './registry.ts'

export type CloudOptions = {
  readonly synthesize: Synthesizer
  readonly report: (line: string) => void
  readonly port?: number
  /** Once it says so, everything is stopped, whatever has been started by then. */
  readonly stopped?: AbortSignal
}

/**
 * `settings`: of the service, by their variables. `here`: the functions and their gateway run in this process, and their calls are recorded;
 * then `follows` is false for a stream that somebody else follows. `onto`: settings of the stage (lib/settings/settings.ts) with which the stacks that
 * are there are deployed once more, and nothing is emptied.
 */
export type DeploymentRequest = {
  readonly settings?: Readonly<Record<string, string>>
  readonly here?: boolean
  readonly follows?: boolean
  readonly onto?: object
}

/** What another process needs to know of a deployment. */
export type DeploymentDescription = {
  readonly awsEndpoint: string
  readonly searchEndpoint: string
  /** Endpoints that functions call. If functions run on this machine, these record the calls. */
  readonly functionEndpoints: { readonly aws: string; readonly search: string }
  readonly assembly: string
  readonly deployment: Deployment
  /** Of the API itself, where it runs here. */
  readonly direct?: string
  /** Who may do everything; absent: everybody may. */
  readonly administrator?: Credentials
}

export type Cloud = {
  readonly baseUrl: string
  /** Takes a Wish by POST. */
  readonly freshUrl: string
  readonly aws: AwsCalls
  readonly searchEndpoint: string
  readonly front: Front
  readonly assembly: string
  readonly deployment: () => Deployment
  readonly administrator: () => Credentials | undefined
  readonly fresh: (wish?: DeploymentRequest) => Promise<LocalDeployment | undefined>
  /** Of all that ran here. */
  readonly recorded: () => readonly RecordedCall[]
  /** What functions told of errors that ran here. */
  readonly errors: () => readonly string[]
  readonly stop: () => Promise<void>
}

export async function startCloud(options: CloudOptions): Promise<Cloud> {
  await Promise.all([ministack.install(), opensearch.install()])
  options.stopped?.throwIfAborted()
  // The functions of MiniStack are run by the node of the path.
  process.env.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const ends: (() => Promise<void>)[] = []
  let stopping = Promise.resolve()
  const stop = () => {
    stopping = stopping.then(async () => {
      for (const end of ends.splice(0).reverse()) await end()
    })
    return stopping
  }
  try {
    return await opened(options, ends, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function opened(
  { synthesize, report, port, stopped }: CloudOptions,
  ends: (() => Promise<void>)[],
  stop: Cloud['stop'],
): Promise<Cloud> {
  const [search, standIn] = (await startAll([opensearch, ministack])) as [RunningEngine, RunningEngine]
  ends.push(search.stop, standIn.stop)
  stopped?.throwIfAborted()
  stopped?.addEventListener('abort', () => void stop())
  const searchEndpoint = search.environment.OPENSEARCH_ENDPOINT!
  const aws = awsCalls(standIn.environment.DYNAMODB_ENDPOINT!)
  const front = await startFront(port ?? 0, async (wish) => {
    await fresh(wish as DeploymentRequest)
    return described()
  })
  ends.push(front.close)
  const baseUrl = `http://127.0.0.1:${front.port}/fhir`
  const usual = await synthesize({ baseUrl, searchEndpoint })
  let assembly = usual
  let [deployment, here, administrator]: [Deployment?, LocalDeployment?, Credentials?] = []
  const described = (): DeploymentDescription => ({
    awsEndpoint: aws.endpoint,
    searchEndpoint,
    functionEndpoints: {
      aws: here?.recorder.awsEndpoint ?? aws.endpoint,
      search: here?.recorder.searchEndpoint ?? searchEndpoint,
    },
    assembly,
    deployment: deployment!,
    ...(here && { direct: here.url }),
    ...(administrator && { administrator }),
  })
  const recorded: RecordedCall[] = []
  const errors: string[] = []
  const leave = async (): Promise<void> => {
    recorded.push(...(here?.recorder.take() ?? []))
    errors.push(...(here?.hosted.host.errors() ?? []))
    const left = here
    here = undefined
    await left?.close()
  }
  ends.push(leave)
  const empty = async (): Promise<void> => {
    await aws.send('s3', 'POST', '/_ministack/reset')
    await fetch(`${searchEndpoint}/fhir-*`, { method: 'DELETE' })
  }
  const fresh: Cloud['fresh'] = async ({ settings = {}, here: runsHere = false, follows = true, onto } = {}) => {
    await leave()
    assembly = onto === undefined ? usual : await synthesize({ baseUrl, searchEndpoint }, onto)
    if (onto === undefined) await empty()
    const without = runsHere ? INVOKER_TYPES : []
    deployment = await deploy(aws, assembly, {
      report: deployment === undefined ? report : () => {},
      variables: settings,
      without,
      isWithoutCode: runsHere,
      isUpdate: onto !== undefined,
    })
    if (onto === undefined)
      administrator = settings.FHIR_ACCESS === OPEN_ACCESS.FHIR_ACCESS ? undefined : await registerAdministrator(aws.endpoint, deployment)
    if (runsHere) here = await startLocalDeployment({ aws, assembly, deployment, searchEndpoint, follows })
    front.forwardTo(here?.url ?? apiUrl(aws, deployment), await distributionOf(aws, deployment))
    return here
  }
  const freshUrl = `http://127.0.0.1:${front.port}/-/fresh`
  return {
    baseUrl,
    freshUrl,
    aws,
    searchEndpoint,
    front,
    assembly: usual,
    deployment: () => deployment!,
    administrator: () => administrator,
    fresh,
    recorded: () => recorded,
    errors: () => errors,
    stop,
  }
}

/** MiniStack's address of the stage. */
function apiUrl({ endpoint }: AwsCalls, { resources, templates }: Deployment): string {
  for (const [stack, { Resources }] of Object.entries(templates)) {
    const stage = Object.values<Tree>(Resources).find(({ Type }) => Type === 'AWS::ApiGateway::Stage')
    if (stage === undefined) continue
    const { RestApiId, StageName } = stage.Properties
    return `${endpoint}/restapis/${resources[stack]![RestApiId.Ref]}/${StageName}/_user_request_`
  }
  throw new Error('no stack has a stage of an API')
}
