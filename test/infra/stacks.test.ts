/** What holds for the stacks, whatever their settings. The digests at the end show every change of what is deployed and who may do what. */
import { describe, expect, it } from '@jest/globals'
import { EXPIRY_ATTRIBUTE, INDEX_NAME, TABLE_DEFINITION } from '../../lambdas/adapters/dynamodb/table-keys.ts'
import { type FunctionName, functionsOfStage, portsOfStage } from '../../lambdas/functions/functions.ts'
import { DEPLOYMENT_SETTINGS, SETTINGS, variableOf } from '../../lambdas/runtime/config.ts'
import { DEFAULT_SETTINGS, type Settings } from '../../lib/settings/settings.ts'
import { functionsOf, outputOf, resourcesOfType, type Tree } from './assembly.ts'
import { digest } from './digest.ts'
import { accessOf, demo, production, STAGES, signed, stageEntries, tokens } from './stages.ts'

describe.each(stageEntries)('the stacks: %s', (name, stacks) => {
  const { stage = DEFAULT_SETTINGS.stage }: Partial<Settings> = STAGES[name]
  const { data, service, operation } = stacks
  const names = functionsOfStage(accessOf(stacks))
  const resources = Object.entries<Tree>({ ...data.Resources, ...service.Resources, ...operation.Resources })

  it('have no cycles', () => {
    expect(cycleOf(data)).toBeUndefined()
    expect(cycleOf(service)).toBeUndefined()
    expect(cycleOf(operation)).toBeUndefined()
  })

  it('refer from the service stack to the data stack, never back', () => {
    expect(JSON.stringify(data)).not.toContain('Fn::ImportValue')
    expect(JSON.stringify(service)).toContain('Fn::ImportValue')
  })

  // CloudFormation refuses to change an export that is imported. A service stack could then not replace what an alarm watches.
  it('refer from the operation stack to outputs that are no exports', () => {
    const outputs = JSON.stringify(operation).match(/"Fn::GetStackOutput":\{[^}]*\}/g) ?? []
    expect(outputs.length).toBeGreaterThan(20)
    for (const each of outputs) expect(outputOf(stacks, JSON.parse(`{${each}}`))).toBeDefined()
    expect(JSON.stringify(operation)).not.toContain('Fn::ImportValue')
    expect(JSON.stringify([data, service])).not.toContain('Fn::GetStackOutput')
  })

  it('set no physical names without the stage, so that a second stage can be deployed beside the first', () => {
    const nameProperty =
      /^(?:TableName|BucketName|FunctionName|RoleName|PolicyName|DomainName|TopicName|QueueName|StateMachineName|LogGroupName|AlarmName|DashboardName|GroupName|AliasName)$/
    const found = resources.flatMap(([id, { Type, Properties = {} }]) =>
      NAMED_TYPES.has(Type)
        ? []
        : Object.keys(Properties)
            .filter((name) => nameProperty.test(name) && !String(Properties[name]).includes(`/fhir-${stage}-`))
            .map((name) => `${id} ${name}`),
    )
    expect(found).toEqual([])
  })

  it('require a second step to delete them, keep the data then, and keep nothing of a failed creation', () => {
    expect(stacks.isProtected).toBe(true)
    const lasting = Object.entries<Tree>(data.Resources).filter(([, { Type }]) => LASTING.test(Type))
    expect(lasting.length).toBeGreaterThanOrEqual(5)
    for (const [, { DeletionPolicy, UpdateReplacePolicy }] of lasting) {
      expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain'])
    }
  })

  it('create protected resources after all resources that may fail', () => {
    const idsOf = (type: RegExp) => Object.keys(data.Resources).filter((id) => type.test(data.Resources[id].Type))
    const waitedFor = (id: string): ReadonlySet<string> =>
      new Set([id, ...referencesOf(data.Resources[id], data.Resources)].flatMap((each) => (each === id ? [] : [each, ...waitedFor(each)])))
    const tables = idsOf(/GlobalTable/)
    expect(tables).toHaveLength(2)
    for (const table of tables) {
      const others = idsOf(/S3::Bucket$|OpenSearchService::Domain|EC2::VPC$|KMS::Key/).filter((id) => !id.startsWith('LogsBucket'))
      expect([...waitedFor(table)]).toEqual(expect.arrayContaining(others))
    }
  })

  it('upgrade the domain in place', () => {
    for (const { Type, UpdatePolicy } of Object.values<Tree>(data.Resources)) {
      if (Type === 'AWS::OpenSearchService::Domain') expect(UpdatePolicy).toEqual({ EnableVersionUpgrade: true })
    }
    if (stacks === demo || stacks === signed || stacks === production)
      expect(resourcesOfType(data, 'AWS::OpenSearchService::Domain')).toBeDefined()
  })

  it('can recover a table to any second, and protect it from deletion', () => {
    for (const { Replicas } of Object.values(resourcesOfType(data, 'AWS::DynamoDB::GlobalTable'))) {
      for (const replica of Replicas) {
        expect(replica).toMatchObject({
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          DeletionProtectionEnabled: true,
        })
      }
    }
  })

  it('encrypt tables and data with a key of their own', () => {
    for (const { SSESpecification, Replicas } of Object.values(resourcesOfType(data, 'AWS::DynamoDB::GlobalTable'))) {
      expect(SSESpecification).toMatchObject({ SSEEnabled: true, SSEType: 'KMS' })
      expect(Replicas[0].SSESpecification.KMSMasterKeyId).toBeDefined()
    }
    const bucket = Object.entries(resourcesOfType(data, 'AWS::S3::Bucket')).find(([id]) => id.startsWith('DataBucket'))![1]
    expect(bucket.BucketEncryption.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.SSEAlgorithm).toBe('aws:kms')
    for (const key of Object.values(resourcesOfType(data, 'AWS::KMS::Key'))) expect(key.EnableKeyRotation).toBe(true)
    for (const log of Object.values(resourcesOfType(service, 'AWS::Logs::LogGroup'))) expect(log.KmsKeyId).toBeDefined()
  })

  it('accept only TLS', () => {
    for (const { PolicyDocument } of Object.values(resourcesOfType(data, 'AWS::S3::BucketPolicy'))) {
      const denials = PolicyDocument.Statement.filter(({ Effect }: Tree) => Effect === 'Deny').map(({ Condition }: Tree) => Condition)
      expect(denials).toContainEqual({ Bool: { 'aws:SecureTransport': 'false' } })
      expect(denials).toContainEqual({ NumericLessThan: { 's3:TlsVersion': 1.2 } })
    }
    for (const { DistributionConfig } of Object.values(resourcesOfType(service, 'AWS::CloudFront::Distribution'))) {
      expect(DistributionConfig.DefaultCacheBehavior.ViewerProtocolPolicy).toBe('https-only')
      expect(DistributionConfig.Origins[0].CustomOriginConfig.OriginProtocolPolicy).toBe('https-only')
      // Under a name of CloudFront's it is its own choice.
      if (stacks === production) expect(DistributionConfig.ViewerCertificate.MinimumProtocolVersion).toBe('TLSv1.2_2021')
    }
  })

  it('show no bucket to the public', () => {
    for (const { PublicAccessBlockConfiguration } of Object.values(resourcesOfType(data, 'AWS::S3::Bucket'))) {
      expect(Object.values(PublicAccessBlockConfiguration)).toEqual([true, true, true, true])
    }
  })

  it('expire stored queries after 3 days, token lists after 2, failed records after 90, disclosures after six years, and large bodies never', () => {
    const bucket = Object.entries(resourcesOfType(data, 'AWS::S3::Bucket')).find(([id]) => id.startsWith('DataBucket'))![1]
    const expiring = bucket.LifecycleConfiguration.Rules.filter((rule: Tree) => rule.ExpirationInDays !== undefined)
    expect(expiring.map(({ Prefix, ExpirationInDays }: Tree) => [Prefix, ExpirationInDays])).toEqual([
      ['queries/', 3],
      ['aws/lambda/', 90],
      ['disclosures/', 2196],
      ['tokens/', 2],
    ])
  })

  it('have every function, with its own role', () => {
    const functions = functionsOf(service)
    expect(Object.keys(functions).sort()).toEqual([...names].sort())
    expect(new Set(Object.values(functions).map(({ Role }) => JSON.stringify(Role))).size).toBe(names.length)
    for (const properties of Object.values(functions)) {
      expect(properties).toMatchObject({ Runtime: 'nodejs24.x', Architectures: ['arm64'], LoggingConfig: { LogGroup: expect.anything() } })
    }
  })

  // Step Functions adds every other log to a policy of the account, which may have 5,120 characters.
  it('name the logs of state machines with the prefix that AWS permits once for all of them', () => {
    const logs = Object.values(resourcesOfType(service, 'AWS::StepFunctions::StateMachine')).map(({ LoggingConfiguration }) => {
      const [logId] = LoggingConfiguration.Destinations[0].CloudWatchLogsLogGroup.LogGroupArn['Fn::GetAtt']
      return service.Resources[logId].Properties.LogGroupName
    })
    expect(logs.toSorted()).toEqual(['Exporting', 'Rebuild'].map((name) => `/aws/vendedlogs/states/fhir-${stage}-${name}`))
  })

  it('expire logs', () => {
    for (const { RetentionInDays } of Object.values(resourcesOfType(service, 'AWS::Logs::LogGroup'))) expect(RetentionInDays).toBe(90)
  })

  it('allow no action by a wildcard, anywhere', () => {
    const wild = resources.flatMap(([id, { Type, Properties = {} }]) =>
      documentsOf(Properties)
        .flatMap(({ Statement }) => Statement as Tree[])
        .filter(({ Effect }) => Effect === 'Allow')
        .flatMap(({ Action }) => [Action].flat() as string[])
        .filter((action) => action.includes('*') && !(Type === 'AWS::KMS::Key' && action === 'kms:*'))
        .map((action) => `${id} ${action}`),
    )
    // The key's `kms:*` for the account leaves it to the policies of its roles.
    expect(wild).toEqual([])
  })

  it('give every function the variables of its ports, and no setting that equals its default', () => {
    for (const [name, { Environment }] of Object.entries(functionsOf(service))) {
      const variables = Object.keys(Environment?.Variables ?? {})
      const known = name === 'indexer' ? [STREAMS_URL] : []
      expect([name, variables.filter((each) => !isKnown(each) && !known.includes(each))]).toEqual([name, []])
      const expected = placesOf(name as FunctionName, accessOf(stacks))
      const places = variables.filter((each) => PLACE_VARIABLES.has(each) && !OPTIONAL_VARIABLES.has(each))
      expect([name, places.sort()]).toEqual([name, expected.sort()])
      expect(Environment.Variables.FHIR_MAX_BODY_BYTES).toBe('5000000')
    }
  })
})

const LASTING = /GlobalTable|S3::Bucket$|KMS::Key|OpenSearchService/

/** A policy's name is one within its role; others name the function or the log group they belong to. */
const NAMED_TYPES = new Set(['AWS::IAM::Policy', 'AWS::Lambda::EventSourceMapping', 'AWS::Lambda::Permission', 'AWS::Logs::MetricFilter'])

/** Variable of the AWS SDK. Only functions in a VPC have it. */
const STREAMS_URL = 'AWS_ENDPOINT_URL_DYNAMODB_STREAMS'

const PLACE_VARIABLES = new Set(DEPLOYMENT_SETTINGS.map(({ name }) => variableOf(name)))
/** Only stages with the setting have them: search-domain.test.ts. */
const OPTIONAL_VARIABLES = new Set(['FHIR_SEARCH_SHARDS', 'FHIR_SEARCH_REPLICAS'])
const isKnown = (variable: string): boolean => PLACE_VARIABLES.has(variable) || SETTINGS.some(({ name }) => variableOf(name) === variable)

/** What a port is found by, where that is not the table of state. */
const PLACES_OF: Readonly<Record<string, readonly string[]>> = {
  resources: ['FHIR_TABLE', 'FHIR_BUCKET'],
  'own-definitions': ['FHIR_TABLE', 'FHIR_BUCKET'],
  persons: ['FHIR_TABLE', 'FHIR_BUCKET'],
  canonicals: ['FHIR_TABLE'],
  identifiers: ['FHIR_TABLE'],
  writer: ['FHIR_TABLE', 'FHIR_BUCKET', 'FHIR_INDEX_SHARDS'],
  settler: ['FHIR_TABLE', 'FHIR_BUCKET'],
  heartbeats: ['FHIR_TABLE', 'FHIR_STATE_TABLE'],
  pulse: ['FHIR_TABLE', 'FHIR_STATE_TABLE'],
  index: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING'],
  'conditional-searches': ['FHIR_CONDITIONAL_VERSIONS'],
  documents: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING', 'FHIR_BUCKET'],
  rebuilding: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING'],
  blobs: ['FHIR_BUCKET'],
  packages: ['FHIR_BUCKET'],
  disclosures: ['FHIR_BUCKET'],
  workflow: ['FHIR_REBUILD_WORKFLOW'],
  keys: ['FHIR_STATE_TABLE', 'FHIR_STAGE'],
  audit: ['FHIR_STATE_TABLE', 'FHIR_STAGE'],
  guesses: ['FHIR_STATE_TABLE', 'FHIR_STAGE'],
  links: ['FHIR_EXPORT_ORIGIN', 'FHIR_LINK_KEY', 'FHIR_LINK_KEY_PAIR'],
  'link-key': [],
  'export-files': ['FHIR_EXPORT_BUCKET'],
  'removed-files': ['FHIR_EXPORT_BUCKET'],
  'match-requests': ['FHIR_EXPORT_BUCKET'],
  'start-exports': ['FHIR_EXPORT_WORKFLOW'],
  'stop-exports': ['FHIR_EXPORT_WORKFLOW'],
  'watch-exports': ['FHIR_EXPORT_WORKFLOW'],
  'restored-tables': [],
}

/** Of those that are asked before there is an address: CloudFront waits for what they tell. */
const BEFORE: ReadonlySet<string> = new Set(['link-key'])

const placesOf = (name: FunctionName, access: string): string[] => [
  ...new Set([
    ...(BEFORE.has(name) ? [] : ['FHIR_BASE_URL', 'FHIR_OWN_BASES']),
    ...portsOfStage(name, access).flatMap((port) => PLACES_OF[port] ?? ['FHIR_STATE_TABLE']),
    ...(name === 'rebuild-step' ? ['FHIR_REBUILD_WAIT'] : []),
    ...(['rebuild-step', 'indexer'].includes(name) ? ['FHIR_KEPT_INDEX_DAYS'] : []),
    ...(['indexer', 'export-sweep'].includes(name) ? ['FHIR_STAGE'] : []),
    ...(name === 'indexer' ? ['FHIR_STREAM', 'FHIR_STREAM_PARALLELIZATION'] : []),
  ]),
]

/** Of a template: the first way that comes back to where it began. */
function cycleOf({ Resources }: Tree): string | undefined {
  const edges = new Map(
    Object.entries<Tree>(Resources).map(([id, resource]) => [id, [...referencesOf(resource, Resources)].filter((to) => to !== id)]),
  )
  const done = new Set<string>()
  const visit = (id: string, path: readonly string[]): string | undefined => {
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id].join(' → ')
    if (done.has(id)) return undefined
    done.add(id)
    return edges.get(id)!.reduce<string | undefined>((found, next) => found ?? visit(next, [...path, id]), undefined)
  }
  return [...edges.keys()].reduce<string | undefined>((found, id) => found ?? visit(id, []), undefined)
}

function* referencesOf(tree: Tree, resources: Tree): Iterable<string> {
  if (typeof tree !== 'object' || tree === null) return
  for (const [key, value] of Object.entries<Tree>(tree)) {
    if (key === 'Ref' || key === 'DependsOn') yield* [value].flat().filter((id: string) => Object.hasOwn(resources, id))
    else if (key === 'Fn::GetAtt') yield value[0]
    else if (key === 'Fn::Sub')
      for (const [, id] of String([value].flat()[0]).matchAll(/\$\{(\w+)/g)) if (Object.hasOwn(resources, id!)) yield id!
    yield* referencesOf(value, resources)
  }
}

function documentsOf(tree: Tree): readonly Tree[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Array.isArray(tree.Statement) ? [tree] : Object.values(tree).flatMap(documentsOf)
}
describe('the table of resources', () => {
  const table = Object.entries(resourcesOfType(production.data, 'AWS::DynamoDB::GlobalTable')).find(([id]) =>
    id.startsWith('ResourceTable'),
  )![1]

  it('has the keys and the index the adapter works with', () => {
    const byName = (attributes: readonly { AttributeName: string }[]) =>
      [...attributes].sort((a, b) => (a.AttributeName < b.AttributeName ? -1 : 1))
    expect(table.KeySchema).toEqual(TABLE_DEFINITION.KeySchema)
    expect(byName(table.AttributeDefinitions)).toEqual(byName(TABLE_DEFINITION.AttributeDefinitions))
    expect(table.GlobalSecondaryIndexes).toMatchObject(TABLE_DEFINITION.GlobalSecondaryIndexes)
    expect(INDEX_NAME).toBe('gsi1')
    expect(table.TimeToLiveSpecification).toEqual({ AttributeName: EXPIRY_ATTRIBUTE, Enabled: true })
  })

  // A stream's view cannot be changed once it is followed, and a replica in another region needs both.
  it('streams new and old images', () => expect(table.StreamSpecification).toEqual({ StreamViewType: 'NEW_AND_OLD_IMAGES' }))

  it('has the configured warm throughput and the configured maximum', () => {
    expect(table).toMatchObject({
      WarmThroughput: { ReadUnitsPerSecond: 20_000, WriteUnitsPerSecond: 8_000 },
      WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 20_000 },
      GlobalSecondaryIndexes: [{ WarmThroughput: { ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 8_000 } }],
    })
    const tables = Object.values(resourcesOfType(production.data, 'AWS::DynamoDB::GlobalTable'))
    expect(tables.find(({ GlobalSecondaryIndexes }) => GlobalSecondaryIndexes === undefined)).toMatchObject({
      WarmThroughput: { ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 25_000 },
    })
  })

  it('has a maximum in the size demo, which its index and the state table lack', () => {
    const maxima = Object.values(resourcesOfType(demo.data, 'AWS::DynamoDB::GlobalTable')).map((each) => [
      each.Replicas[0].ReadOnDemandThroughputSettings?.MaxReadRequestUnits,
      each.WriteOnDemandThroughputSettings?.MaxWriteRequestUnits,
      JSON.stringify(each.GlobalSecondaryIndexes ?? []).includes('OnDemandThroughput'),
    ])
    expect(maxima.toSorted()).toEqual([
      [undefined, undefined, false],
      [12_000, 4_000, false],
    ])
  })
})

describe('Deployed resources and permissions', () => {
  it('match the snapshot of the data stack', () => expect(digest(demo.data)).toMatchSnapshot())
  it('match the snapshot of the operation stack', () => expect(digest(tokens.operation)).toMatchSnapshot())
  it('match the snapshot of the service stack', () => expect(digest(signed.service)).toMatchSnapshot())
  it('match the snapshot of the service stack with access "token"', () => expect(digest(tokens.service)).toMatchSnapshot())
})
