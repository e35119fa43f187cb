/** Problems reported before a deployment: none for a complete account, otherwise one line for each missing part. */
import { APIGatewayClient, GetAccountCommand } from '@aws-sdk/client-api-gateway'
import {
  CloudFormationClient,
  DescribeStacksCommand,
  GetTemplateCommand,
  ListStackResourcesCommand,
  type StackStatus,
} from '@aws-sdk/client-cloudformation'
import { CloudFrontClient, ListDistributionsCommand } from '@aws-sdk/client-cloudfront'
import { DescribeTableCommand, DynamoDBClient, type OnDemandThroughput, type TableDescription } from '@aws-sdk/client-dynamodb'
import { GetRoleCommand, IAMClient } from '@aws-sdk/client-iam'
import { DescribeKeyCommand, type KeyState, KMSClient } from '@aws-sdk/client-kms'
import { GetAccountSettingsCommand, LambdaClient } from '@aws-sdk/client-lambda'
import { ListInstanceTypeDetailsCommand, ListVersionsCommand, OpenSearchClient } from '@aws-sdk/client-opensearch'
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm'
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { TABLE_DEFINITION } from '../../lambdas/adapters/dynamodb/table-keys.ts'
import { findDeployProblems, isAdvice } from '../../lib/deploy/deploy-check.ts'
import { type Settings, settingsOf } from '../../lib/settings/settings.ts'
import { synthesizeStages, type Tree } from './assembly.ts'
import { DOMAIN } from './stages.ts'

const VPC = { cidr: '10.0.0.0/16', availabilityZones: ['us-east-1a', 'us-east-1b', 'us-east-1c'] }
const RESTORED = { resources: 'restored-1', state: 'state-1', former: 'made', epoch: 1, instant: '2031-01-01T03:00:00Z' }
const STOPPED = { service: { writes: 'stopped' } }
const { demo, signed, inNetwork, elsewhere, stopped, adopted } = await synthesizeStages({
  demo: {},
  signed: { access: 'iam' },
  inNetwork: { vpc: VPC },
  elsewhere: { search: { endpoint: 'https://search.example.org' } },
  stopped: STOPPED,
  adopted: { restored: RESTORED },
})

const [sts, ssm, formation, lambda, gateway, front, search, iam, dynamo, kms] = [
  mockClient(STSClient),
  mockClient(SSMClient),
  mockClient(CloudFormationClient),
  mockClient(LambdaClient),
  mockClient(APIGatewayClient),
  mockClient(CloudFrontClient),
  mockClient(OpenSearchClient),
  mockClient(IAMClient),
  mockClient(DynamoDBClient),
  mockClient(KMSClient),
]
const all = [sts, ssm, formation, lambda, gateway, front, search, iam, dynamo, kms]
const requests = (): number => all.reduce((sum, client) => sum + client.calls().length, 0)
const failing = (name: string, message = name): Error => Object.assign(new Error(message), { name })

/** An account that lacks nothing, and has no deployment. */
beforeEach(() => {
  sts.on(GetCallerIdentityCommand).resolves({ Account: '111111111111' })
  ssm.on(GetParameterCommand).resolves({ Parameter: { Value: '30' } })
  for (const command of [DescribeStacksCommand, GetTemplateCommand, ListStackResourcesCommand])
    formation.on(command as typeof GetTemplateCommand).rejects(failing('ValidationError', 'Stack with id x does not exist'))
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

const problemsOf = (settings: Partial<Settings> = {}, template: Tree = demo.data) =>
  findDeployProblems({ settings: settingsOf(settings), namesAccess: 'access' in settings, template })
const running = ({ service }: { readonly service: Tree }): void =>
  void formation.on(GetTemplateCommand, { StackName: 'fhir-dev-service' }).resolves({ TemplateBody: JSON.stringify(service) })
const mockStack = (StackStatus: StackStatus, EnableTerminationProtection = true): void =>
  void formation
    .on(DescribeStacksCommand, { StackName: 'fhir-dev-data' })
    .resolves({ Stacks: [{ StackName: 'fhir-dev-data', CreationTime: new Date(0), StackStatus, EnableTerminationProtection }] })
const deployed = (template: Tree): void => {
  mockStack('UPDATE_COMPLETE')
  formation.on(GetTemplateCommand, { StackName: 'fhir-dev-data' }).resolves({ TemplateBody: JSON.stringify(template) })
}

it('nothing is reported for a complete account', async () => {
  expect(await problemsOf({ account: '111111111111', concurrency: { indexer: 20 } })).toEqual([])
  expect(await problemsOf({ vpc: VPC }, inNetwork.data)).toEqual([])
})

it('credentials of another account are reported after a single request', async () => {
  expect(await problemsOf({ account: '222222222222' })).toEqual([
    'Account: the credentials belong to 111111111111, but the setting account is 222222222222',
  ])
  expect(requests()).toBe(1)
})

it.each(['CredentialsProviderError', 'ExpiredToken', 'InvalidClientTokenId'])(
  'invalid credentials are reported after a single request: %s',
  async (name) => {
    for (const client of all) client.rejects(failing(name, 'of no use'))
    expect(await problemsOf()).toEqual([
      expect.stringMatching(`^Account: AWS credentials are missing or invalid in us-east-1: .*\\(${name}: of no use\\)$`),
    ])
    expect(requests()).toBe(1)
  },
)

it.each([
  ['none', undefined, 'none'],
  ['an old version', '5', '5'],
])('an insufficient bootstrap is reported: %s', async (_, Value, version) => {
  if (Value === undefined) ssm.on(GetParameterCommand).rejects(failing('ParameterNotFound'))
  else ssm.on(GetParameterCommand).resolves({ Parameter: { Value } })
  expect(await problemsOf()).toEqual([`Bootstrap: run npx cdk bootstrap aws://ACCOUNT/us-east-1. Its version is ${version}`])
})

it('too much reserved concurrency is reported', async () => {
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 110 } })
  expect(await problemsOf({ concurrency: { indexer: 20 } })).toEqual([
    expect.stringMatching(/^Lambda: the setting concurrency reserves 20 of 110/),
  ])
})

it('an export that takes more than half of the concurrency is reported, unless it is reserved', async () => {
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 10 } })
  expect(await problemsOf({ exportWriters: 5 })).toEqual([])
  expect(await problemsOf({ exportWriters: 6 })).toEqual([
    'Lambda: an export runs 6 functions at once, but the account has 10 unreserved. Requests may fail during an export: set exportWriters to at most 5, or request a higher quota (Service Quotas, L-B99A9384)',
  ])
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 170 } })
  expect(await problemsOf({ exportWriters: 40, concurrency: { indexer: 70 } })).toEqual([])
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 100 } })
  expect(await problemsOf({ exportWriters: 40 })).toEqual([])
  lambda.on(GetAccountSettingsCommand).resolves({ AccountLimit: { ConcurrentExecutions: 140 } })
  expect(await problemsOf({ exportWriters: 40, concurrency: { 'export-step': 40 } })).toEqual([])
})

it('a log role of API Gateway that others use is reported', async () => {
  gateway.on(GetAccountCommand).resolves({ cloudwatchRoleArn: 'arn:aws:iam::1:role/theirs' })
  expect(await problemsOf()).toEqual([expect.stringMatching(/^API Gateway: .*role\/theirs. The deployment replaces this role/)])
  gateway.on(GetAccountCommand).resolves({ cloudwatchRoleArn: 'arn:aws:iam::1:role/fhir-dev-service-ApiCloudWatchRole' })
  expect(await problemsOf()).toEqual([])
})

it('a production stage with tokens is advised to use its own domain', async () => {
  const search = { kind: 'domain', size: 'production' } as const
  expect(await problemsOf({ search })).toEqual([
    'TLS: the address of CloudFront accepts TLS 1.0 and 1.1. Set customDomain, which accepts TLS 1.2 and later only',
  ])
  expect(await problemsOf({ search, access: 'iam' })).toEqual([])
  expect(await problemsOf({ search, customDomain: DOMAIN })).toEqual([])
  expect(await problemsOf()).toEqual([])
})

it('limits of the account, the role of logs, TLS and the maximum of a table are advice, and prevent no deployment', () => {
  const lines = ['Lambda: x', 'API Gateway: x', 'TLS: x', 'Capacity: x', 'Account: x', 'Stacks: Lambda: x']
  expect(lines.map(isAdvice)).toEqual([true, true, true, true, false, false])
})

it('an account that CloudFront has not verified is reported', async () => {
  front.on(ListDistributionsCommand).rejects(failing('AccessDenied', 'Your account must be verified before you can add resources.'))
  expect(await problemsOf()).toEqual(['CloudFront: Your account must be verified before you can add resources. Ask AWS Support'])
})

it('an unavailable engine or instance type is reported, unless the cluster is external', async () => {
  search.on(ListInstanceTypeDetailsCommand).resolves({ InstanceTypeDetails: [] })
  expect(await problemsOf()).toEqual([expect.stringMatching(/^OpenSearch: us-east-1 has no t3.small.search with OpenSearch_3.7/)])
  search.on(ListVersionsCommand, { NextToken: 'more' }).resolves({ Versions: [] })
  expect(await problemsOf()).toEqual(['OpenSearch: OpenSearch_3.7 is not offered in us-east-1'])
  expect(await problemsOf({ search: { endpoint: 'https://search.example.org' } }, elsewhere.data)).toEqual([])
})

it('an unavailable instance type of masters is reported', async () => {
  const large = structuredClone(demo.data)
  const domain = Object.values<Tree>(large.Resources).find(({ Type }) => Type === 'AWS::OpenSearchService::Domain')
  domain.Properties.ClusterConfig.DedicatedMasterType = 'm9.large.search'
  search.on(ListInstanceTypeDetailsCommand, { InstanceType: 'm9.large.search' }).resolves({ InstanceTypeDetails: [] })
  expect(await problemsOf({}, large)).toEqual([expect.stringMatching(/^OpenSearch: us-east-1 has no m9.large.search with OpenSearch_3.7/)])
})

it('a missing role of OpenSearch is reported in a VPC only', async () => {
  iam.on(GetRoleCommand).rejects(failing('NoSuchEntityException'))
  expect(await problemsOf()).toEqual([])
  expect(await problemsOf({ vpc: VPC }, inNetwork.data)).toEqual([
    expect.stringMatching(/^OpenSearch: run aws iam create-service-linked-role/),
  ])
})

it('a failed creation is reported with the way to repeat it', async () => {
  mockStack('ROLLBACK_COMPLETE')
  expect(await problemsOf()).toEqual([
    'Stacks: fhir-dev-data is ROLLBACK_COMPLETE',
    expect.stringMatching(/^Stacks: aws cloudformation update-termination-protection .* fhir-dev-data/),
  ])
  mockStack('ROLLBACK_COMPLETE', false)
  expect(await problemsOf()).toEqual(['Stacks: fhir-dev-data is ROLLBACK_COMPLETE'])
})

it('a stack that is updating or failed to roll back is reported', async () => {
  for (const status of ['UPDATE_IN_PROGRESS', 'UPDATE_ROLLBACK_FAILED'] as const) {
    deployed(demo.data)
    mockStack(status)
    expect(await problemsOf()).toEqual([`Stacks: fhir-dev-data is ${status}`])
  }
  mockStack('REVIEW_IN_PROGRESS', false)
  expect(await problemsOf()).toEqual([])
})

it.each(['fhir-dev-service', 'fhir-dev-operation'])('a failed stack without data is reported: %s', async (StackName) => {
  const failed = { StackName, CreationTime: new Date(0), StackStatus: 'UPDATE_ROLLBACK_FAILED' } as const
  formation.on(DescribeStacksCommand, { StackName }).resolves({ Stacks: [failed] })
  expect(await problemsOf()).toEqual([`Stacks: ${StackName} is UPDATE_ROLLBACK_FAILED`])
})

it('resources that would be replaced are reported, and no others', async () => {
  deployed(demo.data)
  expect(await problemsOf()).toEqual([])
  expect(await problemsOf({ vpc: VPC }, inNetwork.data)).toEqual([
    expect.stringMatching(/^Stacks: fhir-dev-data: SearchDomain\w+: cannot move into a VPC$/),
  ])
  const other = structuredClone(demo.data)
  for (const { Type, Properties } of Object.values<Tree>(other.Resources))
    if (Type === 'AWS::DynamoDB::GlobalTable') Properties.KeySchema[0].AttributeName = 'other'
  deployed(other)
  expect(await problemsOf()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Stacks: fhir-dev-data: ResourceTable\w+: WILL_REPLACE$/)]),
  )
})

describe('the check of the maximum of the resource table', () => {
  const PRODUCTION = { search: { kind: 'domain', size: 'production' }, customDomain: DOMAIN } as const
  const table = (OnDemandThroughput?: OnDemandThroughput): void => {
    deployed(demo.data)
    const Outputs = [{ OutputKey: 'ResourceTableName', OutputValue: 'made' }]
    const stack = { StackName: 'fhir-dev-data', CreationTime: new Date(0), StackStatus: 'UPDATE_COMPLETE', Outputs } as const
    formation.on(DescribeStacksCommand, { StackName: 'fhir-dev-data' }).resolves({ Stacks: [stack] })
    dynamo.on(DescribeTableCommand, { TableName: 'made' }).resolves({ Table: { ...(OnDemandThroughput && { OnDemandThroughput }) } })
  }

  it('reports the maximum of a demo that grows, and the command that removes it', async () => {
    table({ MaxReadRequestUnits: 12_000, MaxWriteRequestUnits: 4_000 })
    expect(await problemsOf(PRODUCTION)).toEqual([
      'Capacity: the resource table accepts 12,000 read and 4,000 write units per second. The settings have no maximum, but DynamoDB may retain this one. Set capacity.most, or remove the maximum after the deployment: aws dynamodb update-table --region us-east-1 --table-name made --on-demand-throughput MaxReadRequestUnits=-1,MaxWriteRequestUnits=-1',
    ])
    table({ MaxWriteRequestUnits: 4_000 })
    expect(await problemsOf(PRODUCTION)).toEqual([expect.stringMatching('accepts any number of read and 4,000 write units')])
  })

  it('reports nothing if the settings have a maximum, or the table has none', async () => {
    table({ MaxReadRequestUnits: 12_000, MaxWriteRequestUnits: 4_000 })
    expect(await problemsOf()).toEqual([])
    expect(await problemsOf({ ...PRODUCTION, capacity: { most: { reads: 40_000, writes: 20_000 } } })).toEqual([])
    table()
    expect(await problemsOf(PRODUCTION)).toEqual([])
    table({ MaxReadRequestUnits: -1, MaxWriteRequestUnits: -1 })
    expect(await problemsOf(PRODUCTION)).toEqual([])
  })
})

describe('the check before restored tables are adopted', () => {
  const KEY = 'arn:aws:kms:us-east-1:111111111111:key/1'
  const TABLES = ['restored-1', 'state-1', 'made']
  const ORIGIN = {
    SourceTableArn: 'arn:aws:dynamodb:us-east-1:1:table/made',
    RestoreDateTime: new Date(RESTORED.instant),
    RestoreInProgress: false,
  }
  const table = (name: string, other: Partial<TableDescription> = {}): void =>
    void dynamo.on(DescribeTableCommand, { TableName: name }).resolves({
      Table: {
        ...TABLE_DEFINITION,
        TableStatus: 'ACTIVE',
        SSEDescription: { KMSMasterKeyArn: KEY },
        RestoreSummary: ORIGIN,
        ...other,
      } as TableDescription,
    })
  const key = (KeyState: KeyState): void => void kms.on(DescribeKeyCommand).resolves({ KeyMetadata: { KeyId: '1', Arn: KEY, KeyState } })
  const restored = (other: Partial<typeof RESTORED> = {}) => ({ ...STOPPED, restored: { ...RESTORED, ...other } })

  beforeEach(() => {
    const schema = {
      ResourceType: 'AWS::KMS::Key',
      PhysicalResourceId: '1',
      LogicalResourceId: 'Key',
      LastUpdatedTimestamp: new Date(0),
      ResourceStatus: 'CREATE_COMPLETE',
    } as const
    const other = { ...schema, ResourceType: 'AWS::Logs::LogGroup' }
    const page = { StackName: 'fhir-dev-data' }
    formation.on(ListStackResourcesCommand, page).resolves({ StackResourceSummaries: [other], NextToken: 'more' })
    formation.on(ListStackResourcesCommand, { ...page, NextToken: 'more' }).resolves({ StackResourceSummaries: [schema] })
    running(stopped)
    key('Enabled')
    for (const name of TABLES) table(name)
  })

  it('reports nothing if the tables can be adopted and writes are stopped', async () => {
    expect(await problemsOf(restored())).toEqual([])
    expect(await problemsOf({ ...STOPPED, restored: { resources: 'restored-1', epoch: 1, instant: RESTORED.instant } })).toEqual([])
  })

  it('reports nothing after the adoption, when writes continue', async () => {
    running(adopted)
    expect(await problemsOf({ restored: RESTORED })).toEqual([])
  })

  it.each(TABLES)('reports that the table %s is missing', async (name) => {
    dynamo.on(DescribeTableCommand, { TableName: name }).rejects(failing('ResourceNotFoundException'))
    expect(await problemsOf(restored())).toEqual([expect.stringMatching(`^Tables: there is no table ${name}`)])
  })

  it.each<[string, Partial<TableDescription>]>([
    ['is CREATING: wait until it is ACTIVE', { TableStatus: 'CREATING' }],
    ['has other keys', { KeySchema: [] }],
    ['has no index gsi1', { GlobalSecondaryIndexes: [] }],
    ['is not encrypted with the key of the stage', { SSEDescription: { KMSMasterKeyArn: `${KEY}2` } }],
    ['was not restored from made', { RestoreSummary: { ...ORIGIN, SourceTableArn: 'arn:aws:dynamodb:us-east-1:1:table/other' } }],
    ['was restored to 2030-12-31', { RestoreSummary: { ...ORIGIN, RestoreDateTime: new Date('2030-12-31') } }],
    ['has a stream of another view', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } }],
  ])('reports that a table %s', async (fault, other) => {
    table('restored-1', other)
    expect(await problemsOf(restored())).toEqual([expect.stringMatching(`^Tables: the table restored-1 ${fault}`)])
  })

  it('reports that the key is unusable or that the stage is missing', async () => {
    key('PendingDeletion')
    expect(await problemsOf(restored())).toEqual([expect.stringMatching(/^Tables: the key of the stage is PendingDeletion/)])
    formation.on(ListStackResourcesCommand, { StackName: 'fhir-dev-data' }).rejects(failing('ValidationError'))
    expect(await problemsOf(restored())).toEqual([expect.stringMatching(/^Tables: there is no stack fhir-dev-data/)])
  })

  it('reports that writes continue', async () => {
    running(demo)
    expect(await problemsOf(restored())).toEqual([
      expect.stringMatching(/^Tables: writes continue, and would be lost: .*"writes": "stopped"/),
    ])
  })

  it('reports that the epoch is not the next one', async () => {
    running(adopted)
    const { former: _, ...again } = { ...RESTORED, resources: 'made' }
    expect(await problemsOf({ restored: again })).toEqual([
      expect.stringMatching(/^Tables: restored names other tables .* set epoch 2 for this restore$/),
    ])
    expect(await problemsOf()).toEqual([
      expect.stringMatching(/^Tables: the stage uses tables of the restore with the epoch 1, .*\(restored-1\)$/),
    ])
    running({ service: JSON.parse(JSON.stringify(adopted.service).replaceAll('"FHIR_EPOCH":"1"', '"FHIR_EPOCH":"3"')) })
    expect(await problemsOf(restored())).toEqual(['Tables: restored.epoch is 1, but 3 is deployed, and an epoch never decreases'])
  })
})

it('a change of access is reported if the settings do not name it', async () => {
  running(signed)
  expect(await problemsOf()).toEqual([
    expect.stringMatching(
      /^Access: fhir-dev-service is deployed with access "iam", .*"access": "iam" to \.fhir\/dev\.settings\.json to keep it/,
    ),
  ])
  for (const access of ['iam', 'token'] as const) expect(await problemsOf({ access })).toEqual([])
  running(demo)
  expect(await problemsOf()).toEqual([])
})

it('a failed request is reported beside the other problems', async () => {
  lambda.on(GetAccountSettingsCommand).rejects(failing('AccessDeniedException', 'not allowed'))
  mockStack('ROLLBACK_COMPLETE', false)
  expect(await problemsOf()).toEqual([
    'Stacks: fhir-dev-data is ROLLBACK_COMPLETE',
    'Lambda: the check failed: AccessDeniedException: not allowed',
  ])
})
