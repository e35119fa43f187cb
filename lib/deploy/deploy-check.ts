/**
 * Finds problems before a deployment, one line each: capabilities that the account lacks, and unwanted changes that the deployment would
 * make. It only reads, with the credentials of the user who is about to deploy.
 */
import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway'
import { CloudFormationClient, DescribeStacksCommand, GetTemplateCommand } from '@aws-sdk/client-cloudformation'
import { CloudFrontClient, ListDistributionsCommand } from '@aws-sdk/client-cloudfront'
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam'
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { ListInstanceTypeDetailsCommand, ListVersionsCommand, OpenSearchClient } from '@aws-sdk/client-opensearch'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { QUOTAS } from '../model/quotas.ts'
import type { Settings } from '../settings/settings.ts'
import { findRetainedMaximum } from './deploy-check-capacity.ts'
import { findRestoredTableProblems } from './deploy-check-tables.ts'
import { functionEnvironmentsOf, readDeployedResources } from './deployed-variables.ts'
import { ignoreErrorsNamed } from './error-names.ts'
import { findReplacements, type StackTemplate } from './replacement-check.ts'

export type DeployCheckInput = {
  readonly settings: Settings
  /** Whether the settings file of the stage names `access`. If so, a change of it counts as intended. */
  readonly namesAccess: boolean
  /** Template of the data stack, created with these settings. */
  readonly template: StackTemplate
}

/** Search domain in a template, for example `OpenSearch_3.7` on `t3.small.search`. A stage that uses another cluster has none. */
type Domain = { readonly EngineVersion: string; readonly instanceTypes: readonly string[] }

function domainIn({ Resources }: StackTemplate): Domain | undefined {
  const found = Object.values(Resources).find(({ Type }) => Type === 'AWS::OpenSearchService::Domain')
  if (found === undefined) return undefined
  type Properties = { EngineVersion: string; ClusterConfig: { InstanceType: string; DedicatedMasterType?: string } }
  const { EngineVersion, ClusterConfig } = found.Properties as Properties
  return {
    EngineVersion,
    instanceTypes: [ClusterConfig.InstanceType, ...(ClusterConfig.DedicatedMasterType ? [ClusterConfig.DedicatedMasterType] : [])],
  }
}

type Lines = readonly string[]

/** Bootstrap version that this version of the CDK requires: https://docs.aws.amazon.com/cdk/v2/guide/bootstrapping-env.html */
const BOOTSTRAP = { name: '/cdk-bootstrap/hnb659fds/version', least: 6 }
/** Concurrency that Lambda never lets an account reserve: https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html */
const MIN_UNRESERVED = 100
const OPENSEARCH_ROLE = 'AWSServiceRoleForAmazonOpenSearchService'
const MAKE_ROLE = 'aws iam create-service-linked-role --aws-service-name opensearchservice.amazonaws.com'

type Check = (input: DeployCheckInput) => Promise<Lines>

const CHECKS: Readonly<Record<string, Check>> = {
  Bootstrap: bootstrap,
  Stacks: stacks,
  Access: access,
  Lambda: concurrency,
  'API Gateway': gateway,
  CloudFront: front,
  TLS: tls,
  OpenSearch: search,
  Tables: findRestoredTableProblems,
  Capacity: findRetainedMaximum,
}

/** Checks whose lines are advice: the stage can be deployed nevertheless. */
const ADVISORY: readonly string[] = ['Lambda', 'API Gateway', 'TLS', 'Capacity']

export const isAdvice = (line: string): boolean => ADVISORY.some((name) => line.startsWith(`${name}: `))

/** Returns the problems found; none means that no visible problem prevents the deployment. A check that cannot read is a problem. */
export async function findDeployProblems(input: DeployCheckInput): Promise<Lines> {
  // Every identity may ask for its own account. A failure means invalid credentials. In another account no other check matters.
  const others = await linesOf('Account', account, input)
  if (others.length > 0) return others
  const found = await Promise.all(Object.entries(CHECKS).map(([name, check]) => linesOf(name, check, input)))
  return found.flat()
}

async function linesOf(name: string, check: Check, input: DeployCheckInput): Promise<Lines> {
  const lines = await check(input).catch((error: Error) => [`the check failed: ${error.name}: ${error.message}`])
  return lines.map((line) => `${name}: ${line}`)
}

async function account({ settings }: DeployCheckInput): Promise<Lines> {
  const input = new STSClient({ region: settings.region }).send(new GetCallerIdentityCommand())
  const identity = await input.catch((error: Error) => error)
  if (identity instanceof Error)
    return [
      `AWS credentials are missing or invalid in ${settings.region}: log in (aws login, aws sso login) or set AWS_PROFILE. Nothing else was checked (${identity.name}: ${identity.message})`,
    ]
  const { Account } = identity
  return settings.account === undefined || settings.account === Account
    ? []
    : [`the credentials belong to ${Account}, but the setting account is ${settings.account}`]
}

async function bootstrap({ settings: { region } }: DeployCheckInput): Promise<Lines> {
  const input = new SSMClient({ region }).send(new GetParameterCommand({ Name: BOOTSTRAP.name }))
  const found = await input.catch(ignoreErrorsNamed('ParameterNotFound'))
  const version = Number(found?.Parameter?.Value ?? 0)
  return version >= BOOTSTRAP.least ? [] : [`run npx cdk bootstrap aws://ACCOUNT/${region}. Its version is ${version || 'none'}`]
}

/** Finds deployed stacks in a state that blocks a deployment, and resources of the data stack that it would delete or replace. */
async function stacks({ settings: { stage, region }, template }: DeployCheckInput): Promise<Lines> {
  const client = new CloudFormationClient({ region })
  const lines: string[] = []
  for (const StackName of [`fhir-${stage}-data`, `fhir-${stage}-service`, `fhir-${stage}-operation`]) {
    // CloudFormation answers with ValidationError if the stack does not exist.
    const described = await client.send(new DescribeStacksCommand({ StackName })).catch(ignoreErrorsNamed('ValidationError'))
    const stack = described?.Stacks?.[0]
    const status = stack?.StackStatus ?? ''
    // In REVIEW_IN_PROGRESS no resource of the stack was ever created.
    if (stack === undefined || status === 'REVIEW_IN_PROGRESS') continue
    if (/FAILED$|^ROLLBACK_COMPLETE$|_IN_PROGRESS$/.test(status)) lines.push(`${StackName} is ${status}`)
    if (status === 'ROLLBACK_COMPLETE' && stack.EnableTerminationProtection)
      lines.push(
        `aws cloudformation update-termination-protection --no-enable-termination-protection --stack-name ${StackName}, or it cannot be created again`,
      )
    else if (StackName.endsWith('-data') && status !== 'ROLLBACK_COMPLETE') {
      const { TemplateBody = '' } = await client.send(new GetTemplateCommand({ StackName, TemplateStage: 'Processed' }))
      lines.push(...findReplacements(JSON.parse(TemplateBody) as StackTemplate, template).map((line) => `${StackName}: ${line}`))
    }
  }
  return lines
}

/** Finds a change of `access` that only the default causes. It would change the base URL and the authentication of the stage's clients. */
async function access({ settings: { stage, region, access }, namesAccess }: DeployCheckInput): Promise<Lines> {
  if (namesAccess) return []
  const resources = await readDeployedResources(new CloudFormationClient({ region }), `fhir-${stage}-service`)
  const deployed = functionEnvironmentsOf(resources).find(
    ({ FHIR_ACCESS }) => FHIR_ACCESS !== undefined && FHIR_ACCESS !== access,
  )?.FHIR_ACCESS
  if (deployed === undefined) return []
  // guard: deployed-access-stays
  return [
    `fhir-${stage}-service is deployed with access "${deployed}", and its settings do not name one: the default "${access}" would reject every client. Add "access": "${deployed}" to .fhir/${stage}.settings.json to keep it, or "access": "${access}" to change it`,
  ]
}

async function concurrency({ settings }: DeployCheckInput): Promise<Lines> {
  const { AccountLimit } = await new LambdaClient({ region: settings.region }).send(new GetAccountSettingsCommand())
  const { ConcurrentExecutions: all = 0 } = AccountLimit ?? {}
  const { concurrency, exportWriters } = settings
  const reserved = Object.values(concurrency).reduce((sum, each) => sum + each, 0)
  const half = Math.max(1, Math.floor((all - reserved) / 2))
  return [
    ...(exportWriters > half && concurrency['export-step'] === undefined
      ? [
          `an export runs ${exportWriters} functions at once, but the account has ${all - reserved} unreserved. Requests may fail during an export: set exportWriters to at most ${half}, or request a higher quota (Service Quotas, ${QUOTAS.concurrency.code})`,
        ]
      : []),
    ...(reserved > 0 && all - reserved < MIN_UNRESERVED
      ? [`the setting concurrency reserves ${reserved} of ${all}, but ${MIN_UNRESERVED} must stay unreserved`]
      : []),
  ]
}

/** Warns if the deployment would replace the role that API Gateway writes logs with. An account has one such role in each region. */
async function gateway({ settings: { stage, region } }: DeployCheckInput): Promise<Lines> {
  const { cloudwatchRoleArn } = await new APIGatewayClient({ region }).send(new GetAccountCommand())
  return cloudwatchRoleArn === undefined || cloudwatchRoleArn.includes(`fhir-${stage}-service`)
    ? []
    : [`it writes logs with ${cloudwatchRoleArn}. The deployment replaces this role, for all APIs of the region`]
}

/** Checks whether CloudFront is available. It rejects new accounts until AWS Support has verified them. */
async function front(): Promise<Lines> {
  const refused = await new CloudFrontClient({ region: 'us-east-1' })
    .send(new ListDistributionsCommand({ MaxItems: 1 }))
    .then(() => undefined)
    .catch((error: Error) => {
      if (!/verif/i.test(error.message)) throw error
      return error.message
    })
  return refused === undefined ? [] : [`${refused} Ask AWS Support`]
}

/** Advises a stage for production to use its own domain. CloudFront's default certificate permits no minimum version of TLS. */
async function tls({ settings: { access, customDomain, search } }: DeployCheckInput): Promise<Lines> {
  const isProduction = 'size' in search && search.size !== 'demo'
  return isProduction && access === 'token' && customDomain === undefined
    ? ['the address of CloudFront accepts TLS 1.0 and 1.1. Set customDomain, which accepts TLS 1.2 and later only']
    : []
}

async function search({ settings: { region, vpc }, template }: DeployCheckInput): Promise<Lines> {
  const domain = domainIn(template)
  if (domain === undefined) return []
  const { EngineVersion, instanceTypes } = domain
  const client = new OpenSearchClient({ region })
  if (!(await isOffered(client, EngineVersion))) return [`${EngineVersion} is not offered in ${region}`]
  const missing: string[] = []
  for (const InstanceType of instanceTypes) {
    const { InstanceTypeDetails = [] } = await client.send(new ListInstanceTypeDetailsCommand({ EngineVersion, InstanceType }))
    if (InstanceTypeDetails.length === 0) missing.push(InstanceType)
  }
  return [
    ...missing.map((type) => `${region} has no ${type} with ${EngineVersion}: choose another size (setting search)`),
    ...(vpc === undefined || (await hasRole(region)) ? [] : [`run ${MAKE_ROLE}: a domain in a VPC requires this role`]),
  ]
}

async function isOffered(client: OpenSearchClient, version: string): Promise<boolean> {
  let NextToken: string | undefined
  do {
    const page = await client.send(new ListVersionsCommand({ ...(NextToken === undefined ? {} : { NextToken }) }))
    if (page.Versions?.includes(version as never)) return true
    NextToken = page.NextToken
  } while (NextToken !== undefined)
  return false
}

const hasRole = async (region: string): Promise<boolean> =>
  (await new IAMClient({ region })
    .send(new GetRoleCommand({ RoleName: OPENSEARCH_ROLE }))
    .catch(ignoreErrorsNamed('NoSuchEntityException'))) !== undefined
