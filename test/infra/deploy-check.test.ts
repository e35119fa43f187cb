/** What is told before a deployment: of an account that has all it takes nothing, of others what is missing, one line each. */
import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway'
import { CloudFormationClient, DescribeStacksCommand, GetTemplateCommand, type StackStatus } from '@aws-sdk/client-cloudformation'
import { CloudFrontClient, ListDistributionsCommand } from '@aws-sdk/client-cloudfront'
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam'
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { ListInstanceTypeDetailsCommand, ListVersionsCommand, OpenSearchClient } from '@aws-sdk/client-opensearch'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { afterEach, beforeEach, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { lacking } from '../../lib/deploy-check.ts'
import { type Settings, settingsOf } from '../../lib/settings.ts'
import { synthesized, type Tree } from './assembly.ts'

const VPC = { cidr: '10.0.0.0/16', availabilityZones: ['us-east-1a', 'us-east-1b', 'us-east-1c'] }
const { demo, inNetwork, elsewhere } = synthesized({
  demo: {},
  inNetwork: { vpc: VPC },
  elsewhere: { search: { endpoint: 'https://search.example.org' } },
})

const [sts, ssm, formation, lambda, gateway, front, search, iam] = [
  mockClient(STSClient),
  mockClient(SSMClient),
  mockClient(CloudFormationClient),
  mockClient(LambdaClient),
  mockClient(APIGatewayClient),
  mockClient(CloudFrontClient),
  mockClient(OpenSearchClient),
  mockClient(IAMClient),
]
const all = [sts, ssm, formation, lambda, gateway, front, search, iam]
const failing = (name: string, message = name): Error => Object.assign(new Error(message), { name })

/** An account that lacks nothing, and has no deployment. */
beforeEach(() => {
  sts.on(GetCallerIdentityCommand).resolves({ Account: '111111111111' })
  ssm.on(GetParameterCommand).resolves({ Parameter: { Value: '30' } })
  formation.on(DescribeStacksCommand).rejects(failing('ValidationError', 'Stack with id x does not exist'))
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 1_000 } })
  gateway.on(GetAccountCommand).resolves({})
  front.on(ListDistributionsCommand).resolves({})
  search.on(ListVersionsCommand).resolves({ Versions: ['OpenSearch_2.19' as never], NextToken: 'more' })
  search.on(ListVersionsCommand, { NextToken: 'more' }).resolves({ Versions: ['OpenSearch_3.7' as never] })
  search.on(ListInstanceTypeDetailsCommand).resolves({ InstanceTypeDetails: [{}] })
  iam.on(GetRoleCommand).resolves({})
})
afterEach(() => {
  for (const client of all) client.reset()
})

const told = (given: Partial<Settings> = {}, template: Tree = demo.data) => lacking({ settings: settingsOf(given), template })
const there = (StackStatus: StackStatus, EnableTerminationProtection = true): void =>
  void formation
    .on(DescribeStacksCommand, { StackName: 'fhir-dev-data' })
    .resolves({ Stacks: [{ StackName: 'fhir-dev-data', CreationTime: new Date(0), StackStatus, EnableTerminationProtection }] })
const deployed = (template: Tree): void => {
  there('UPDATE_COMPLETE')
  formation.on(GetTemplateCommand).resolves({ TemplateBody: JSON.stringify(template) })
}

it('nothing, of an account that has all it takes', async () => {
  expect(await told({ account: '111111111111', concurrency: { indexer: 20 } })).toEqual([])
  expect(await told({ vpc: VPC }, inNetwork.data)).toEqual([])
})

it('credentials of another account', async () =>
  expect(await told({ account: '222222222222' })).toEqual([
    'Account: the credentials are those of 111111111111, the setting account says 222222222222',
  ]))

it.each([
  ['no bootstrap', undefined, 'none'],
  ['an old one', '5', '5'],
])('%s', async (_, Value, version) => {
  if (Value === undefined) ssm.on(GetParameterCommand).rejects(failing('ParameterNotFound'))
  else ssm.on(GetParameterCommand).resolves({ Parameter: { Value } })
  expect(await told()).toEqual([`Bootstrap: run npx cdk bootstrap aws://ACCOUNT/us-east-1: its version is ${version}`])
})

it('too little concurrency, and more reserved than can be', async () => {
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 10 } })
  expect(await told()).toEqual([expect.stringMatching(/^Lambda: 10 functions run at once in the account, 2 of them in a rebuild/)])
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 110 } })
  expect(await told({ concurrency: { indexer: 20 } })).toEqual([
    expect.stringMatching(/^Lambda: the setting concurrency reserves 20 of 110/),
  ])
})

it('a role of logs that others use', async () => {
  gateway.on(GetAccountCommand).resolves({ cloudwatchRoleArn: 'arn:aws:iam::1:role/theirs' })
  expect(await told()).toEqual([expect.stringMatching(/^API Gateway: .*role\/theirs, which the deployment exchanges/)])
  gateway.on(GetAccountCommand).resolves({ cloudwatchRoleArn: 'arn:aws:iam::1:role/fhir-dev-service-ApiCloudWatchRole' })
  expect(await told()).toEqual([])
})

it('an account that CloudFront has not verified', async () => {
  front.on(ListDistributionsCommand).rejects(failing('AccessDenied', 'Your account must be verified before you can add resources.'))
  expect(await told()).toEqual(['CloudFront: Your account must be verified before you can add resources. Ask AWS Support'])
})

it('an engine or a size that the region does not have, unless the cluster is elsewhere', async () => {
  search.on(ListInstanceTypeDetailsCommand).resolves({ InstanceTypeDetails: [] })
  expect(await told()).toEqual([expect.stringMatching(/^OpenSearch: us-east-1 has no t3.small.search with OpenSearch_3.7/)])
  search.on(ListVersionsCommand, { NextToken: 'more' }).resolves({ Versions: [] })
  expect(await told()).toEqual(['OpenSearch: OpenSearch_3.7 is not offered in us-east-1'])
  expect(await told({ search: { endpoint: 'https://search.example.org' } }, elsewhere.data)).toEqual([])
})

it('the role of OpenSearch, in a VPC only', async () => {
  iam.on(GetRoleCommand).rejects(failing('NoSuchEntityException'))
  expect(await told()).toEqual([])
  expect(await told({ vpc: VPC }, inNetwork.data)).toEqual([expect.stringMatching(/^OpenSearch: aws iam create-service-linked-role/)])
})

it('a creation that failed, and how it can be repeated', async () => {
  there('ROLLBACK_COMPLETE')
  expect(await told()).toEqual([
    'Stacks: fhir-dev-data is ROLLBACK_COMPLETE',
    expect.stringMatching(/^Stacks: aws cloudformation update-termination-protection .* fhir-dev-data/),
  ])
  there('ROLLBACK_COMPLETE', false)
  expect(await told()).toEqual(['Stacks: fhir-dev-data is ROLLBACK_COMPLETE'])
})

it('what would be replaced, and nothing of what stays', async () => {
  deployed(demo.data)
  expect(await told()).toEqual([])
  expect(await told({ vpc: VPC }, inNetwork.data)).toEqual([
    expect.stringMatching(/^Stacks: of fhir-dev-data, SearchDomain\w+: is refused$/),
  ])
  const other = structuredClone(demo.data)
  for (const { Type, Properties } of Object.values<Tree>(other.Resources))
    if (Type === 'AWS::DynamoDB::GlobalTable') Properties.KeySchema[0].AttributeName = 'other'
  deployed(other)
  expect(await told()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Stacks: of fhir-dev-data, ResourceTable\w+: WILL_REPLACE$/)]),
  )
})

it('what cannot be looked at, beside the rest', async () => {
  lambda.on(GetAccountSettingsCommand).rejects(failing('AccessDeniedException', 'not allowed'))
  there('ROLLBACK_COMPLETE', false)
  expect(await told()).toEqual([
    'Stacks: fhir-dev-data is ROLLBACK_COMPLETE',
    'Lambda: cannot be looked at: AccessDeniedException: not allowed',
  ])
})
