/**
 * The cloud on one machine: the synthesized stacks on MiniStack, beside a real OpenSearch, behind one address that stays. An empty one, also
 * with other settings of the service, is a new deployment.
 */
import { delimiter, dirname } from 'node:path'
import { freePort } from '../engines/engine.ts'
import { ministack } from '../engines/ministack.ts'
import { opensearch } from '../engines/opensearch.ts'
import { type AwsCalls, awsCalls, type Tree } from './aws-calls.ts'
import { type Deployment, deploy } from './deploy.ts'
import { type Front, startFront } from './front.ts'

export type CloudOptions = {
  /** Makes the assembly for these addresses and returns its folder. */
  readonly synthesize: (addresses: { readonly baseUrl: string; readonly searchEndpoint: string }) => Promise<string>
  readonly report: (line: string) => void
  readonly port?: number
}

export type Cloud = {
  readonly baseUrl: string
  /** Asked by POST for an empty server; the body holds settings of the service by their variables. */
  readonly freshUrl: string
  readonly aws: AwsCalls
  readonly searchEndpoint: string
  readonly front: Front
  readonly assembly: string
  readonly deployment: () => Deployment
  readonly fresh: (settings?: Readonly<Record<string, string>>) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function startCloud({ synthesize, report, port }: CloudOptions): Promise<Cloud> {
  await Promise.all([ministack.install(), opensearch.install()])
  // The functions of MiniStack are run by the node of the path.
  process.env.PATH = [dirname(process.execPath), process.env.PATH].join(delimiter)
  const ends: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const end of ends.reverse().splice(0)) await end()
  }
  try {
    const [index, cloud] = await Promise.all([opensearch.start(), ministack.start()])
    ends.push(index.stop, cloud.stop)
    const searchEndpoint = index.environment.OPENSEARCH_ENDPOINT!
    const aws = awsCalls(cloud.environment.DYNAMODB_ENDPOINT!)
    const front = await startFront(port ?? (await freePort()), (settings) => fresh(settings))
    ends.push(front.close)
    const baseUrl = `http://127.0.0.1:${front.port}/fhir`
    const assembly = await synthesize({ baseUrl, searchEndpoint })
    let deployment: Deployment | undefined
    let isFirst = true
    const fresh: Cloud['fresh'] = async (settings = {}) => {
      await aws.send('s3', 'POST', '/_ministack/reset')
      await fetch(`${searchEndpoint}/fhir-*`, { method: 'DELETE' })
      deployment = await deploy(aws, assembly, { report: isFirst ? report : () => {}, variables: settings })
      isFirst = false
      front.forwardTo(apiUrl(aws, deployment), viewerFunction(deployment))
    }
    await fresh()
    const freshUrl = `http://127.0.0.1:${front.port}/-/fresh`
    return { baseUrl, freshUrl, aws, searchEndpoint, front, assembly, deployment: () => deployment!, fresh, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** MiniStack's address of the stage. */
function apiUrl({ endpoint }: AwsCalls, { resources, templates }: Deployment): string {
  for (const [stack, template] of Object.entries(templates)) {
    const found = Object.entries<Tree>(template.Resources).find(([, { Type }]) => Type === 'AWS::ApiGateway::Stage')
    if (found === undefined) continue
    const { RestApiId, StageName } = found[1].Properties
    return `${endpoint}/restapis/${resources[stack]![RestApiId.Ref]}/${StageName}/_user_request_`
  }
  throw new Error('no stack has a stage of an API')
}

/** The code of the function CloudFront runs before it looks at a request. */
function viewerFunction({ templates }: Deployment): string | undefined {
  const code = Object.values(templates)
    .flatMap(({ Resources }) => Object.values<Tree>(Resources))
    .find(({ Type }) => Type === 'AWS::CloudFront::Function')?.Properties.FunctionCode
  if (code !== undefined && typeof code !== 'string') throw new Error('the code of the viewer function is not text')
  return code
}
