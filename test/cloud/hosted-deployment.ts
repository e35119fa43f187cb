/**
 * A deployment whose functions run here instead of in the stand-in: the code of its assets, the environment it was given, the routes of its
 * template; what they call goes through the recorder.
 */
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type ApiTemplate, apiTemplate } from './api-template.ts'
import type { AwsCalls, Tree } from './aws-calls.ts'
import { type Deployment, readJson } from './deploy.ts'
import { type Firewall, firewallOf } from './firewall.ts'
import { type FunctionHost, functionHost, type HostedFunction, SLOWDOWN_FACTOR } from './function-host.ts'
import { mappingOf, type StreamMapping } from './pump.ts'

export type DeployedFunction = HostedFunction & {
  /** As in functions.ts; the logical id says more than one wants to read. */
  readonly name: string
  readonly logicalId: string
}

export type Endpoints = { readonly aws: string; readonly search: string }

/** `endpoints`: where the functions find AWS and OpenSearch. */
export async function deployedFunctions(
  aws: AwsCalls,
  assembly: string,
  { templates, resources }: Deployment,
  endpoints: Endpoints,
): Promise<readonly DeployedFunction[]> {
  const found = Object.entries(templates).flatMap(([stack, { Resources }]) =>
    Object.entries<Tree>(Resources)
      .filter(([, { Type }]) => Type === 'AWS::Lambda::Function')
      .map(([logicalId, { Properties }]) => ({ stack, logicalId, Properties })),
  )
  return Promise.all(
    found.map(async ({ stack, logicalId, Properties }) => {
      const { file, name } = fileOf(assembly, stack, Properties)
      const configuration = await aws.send('lambda', 'GET', `/2015-03-31/functions/${resources[stack]![logicalId]}/configuration`)
      const { Environment, Timeout }: Tree = JSON.parse(configuration)
      const environment = { ...Environment?.Variables, ...identity(name, endpoints) }
      return { name, logicalId, bundle: file, environment, timeout: Timeout * 1_000 * SLOWDOWN_FACTOR }
    }),
  )
}

/** As the platform gives it to a function. The name as access key tells the recorder who calls; only signed requests carry it. */
const identity = (name: string, { aws, search }: Endpoints): Readonly<Record<string, string>> => ({
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: name,
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_ENDPOINT_URL: aws,
  AWS_LAMBDA_FUNCTION_NAME: name,
  FHIR_SEARCH_ENDPOINT: search,
  FHIR_SEARCH_SIGNING: 'sigv4',
})

/** The file of the asset that exports the handler. */
function fileOf(assembly: string, stack: string, { Code, Handler }: Tree): { readonly file: string; readonly name: string } {
  const { files }: Tree = readJson(join(assembly, `${stack}.assets.json`))
  const asset = Object.values<Tree>(files).find(({ destinations }) =>
    Object.values<Tree>(destinations).some(({ objectKey }) => objectKey === Code.S3Key),
  )
  const module: string = Handler.slice(0, Handler.lastIndexOf('.'))
  const file = join(assembly, asset.source.path, `${module}.js`)
  if (!existsSync(file)) throw new Error(`${file} of ${Handler} is not there`)
  return { file, name: basename(module) }
}

export type HostedDeployment = {
  readonly api: ApiTemplate
  readonly firewall: Firewall
  /** By name. */
  readonly functions: Readonly<Record<string, DeployedFunction>>
  readonly host: FunctionHost
  /** For the gateway, which knows functions by their logical ids. */
  readonly invoke: FunctionHost['invoke']
  /** By name of the function that follows it. */
  readonly streams: Readonly<Record<string, { readonly arn: string; readonly mapping: StreamMapping }>>
}

export async function hostDeployment(
  aws: AwsCalls,
  assembly: string,
  deployment: Deployment,
  endpoints: Endpoints,
): Promise<HostedDeployment> {
  const all = await deployedFunctions(aws, assembly, deployment, endpoints)
  const functions = Object.fromEntries(all.map((each) => [each.name, each]))
  const names = new Map(all.map(({ name, logicalId }) => [logicalId, name]))
  const host = functionHost(functions)
  const templates = Object.values(deployment.templates)
  const api = templates.find(({ Resources }) => Object.values<Tree>(Resources).some(({ Type }) => Type === 'AWS::ApiGateway::RestApi'))
  const streams = templates
    .flatMap(({ Resources }) => Object.values<Tree>(Resources))
    .filter(({ Type }) => Type === 'AWS::Lambda::EventSourceMapping')
    .map((mapping) => {
      const arn = imported(deployment, mapping.Properties.EventSourceArn)
      return [names.get(mapping.Properties.FunctionName.Ref)!, { arn, mapping: mappingOf(mapping) }] as const
    })
  return {
    api: apiTemplate(api),
    firewall: firewallOf(api),
    functions,
    host,
    invoke: (logicalId, event) => host.invoke(names.get(logicalId)!, event),
    streams: Object.fromEntries(streams),
  }
}

/** Returns the value of an output of another stack. The template names the output directly or as an export `stack:output`. */
function imported({ outputs }: Deployment, value: Tree): string {
  const { StackName, OutputName } = value['Fn::GetStackOutput'] ?? {}
  const [stack = '', output = ''] = StackName === undefined ? String(value['Fn::ImportValue']).split(':') : [StackName, OutputName]
  const found = outputs[stack]?.[output]
  if (found === undefined) throw new Error(`no export ${JSON.stringify(value)}`)
  return found
}
