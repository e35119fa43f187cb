/** What holds for the stacks, whatever their settings. The digests at the end show every change of what is deployed and who may do what. */
import { readFileSync } from 'node:fs'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import validate from 'asl-validator'
import { EXPIRY, INDEX, TABLE } from '../../lambdas/adapters/dynamodb/table.ts'
import { KEY_LIST } from '../../lambdas/adapters/kms/published-keys.ts'
import { exportWorkflow } from '../../lambdas/export/workflow.ts'
import { FUNCTIONS, type FunctionName, functionOf, functionsOfStage, portsOfStage } from '../../lambdas/functions/functions.ts'
import { rebuildWorkflow } from '../../lambdas/indexing/workflow.ts'
import { AUTH_ROUTES, type AuthRoute, isHeadToo, ROUTES, type Route } from '../../lambdas/interactions/routes.ts'
import { PLACES, SETTINGS, variableOf } from '../../lambdas/runtime/config.ts'
import { type ServiceSetting, type Settings, serviceEnvironment, settingsOf } from '../../lib/settings.ts'
import { findingsOf, functionsOf, ofType, type Synthesized, synthesized, type Tree } from './assembly.ts'
import { digest } from './digest.ts'
import { ARNS, allowed, type Call, statementsOf } from './iam.ts'

/** Of each setting of the service another value than the default, but where one is refused. Tenancy needs tokens. */
const TOLD: Readonly<Partial<Record<ServiceSetting, string>>> = {
  clientIds: 'optional',
  conditionalUpdateIdMismatch: 'reject',
  noOpUpdates: 'ignore',
  writes: 'stopped',
  validateProfiles: 'warn',
  versioning: 'off',
  timeZone: 'Europe/Berlin',
  tenantClaim: 'organization',
  externalIssuers: JSON.stringify([
    { issuer: 'https://auth.example.org', audience: 'api://fhir', jwksUri: 'https://auth.example.org/keys', scopes: 'system/*.rs' },
  ]),
  privateHosts: '10.1.0.0/16',
  pkce: 'require',
  patientScopesWithoutContext: 'none',
  maxTransactionEntries: '10',
  maxBodyBytes: '1000000',
  allowedOrigins: 'https://app.example.org',
  auditRetentionDays: '30',
  auditDurability: 'strict',
  exportNeedsAssertion: 'off',
  maxRunningExports: '2',
  exportRetentionDays: '3',
  groupExportTypes: 'Patient',
  searchBudget: '5000',
}
const REFUSED: readonly ServiceSetting[] = [
  'access',
  'addressHeader',
  'exportAdditionalResources',
  'maxRequests',
  'packageRegistry',
  'referentialIntegrity',
]

const DOMAIN = {
  name: 'fhir.example.org',
  certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/1',
  hostedZone: { id: 'Z1', name: 'example.org' },
}
const STAGES = {
  demo: {},
  production: {
    stage: 'prod',
    account: '111111111111',
    region: 'eu-central-1',
    search: { kind: 'domain', size: 'production' },
    customDomain: DOMAIN,
    vpc: { cidr: '10.0.0.0/16', availabilityZones: ['eu-central-1a', 'eu-central-1b', 'eu-central-1c'] },
    capacity: { warm: { reads: 20_000, writes: 8_000 }, most: { reads: 40_000, writes: 20_000 } },
    service: { versioning: 'off', allowedOrigins: 'https://app.example.org' },
    concurrency: { indexer: 20 },
    alarmEmail: 'ops@example.org',
  },
  local: { access: 'open', baseUrl: 'http://127.0.0.1:8080/fhir', search: { endpoint: 'http://127.0.0.1:9200' }, rebuildWait: 1 },
  // A domain of one's own.
  elsewhere: { search: { endpoint: 'https://search.example.org', domainArn: 'arn:aws:es:us-east-1:111111111111:domain/own' } },
  tokens: { access: 'token', account: '111111111111', originSecret: 2, service: { tenancy: 'on' } },
} satisfies Readonly<Record<string, Partial<Settings>>>
const { demo, production, local, elsewhere, tokens, again, changed, named } = await synthesized({
  ...STAGES,
  again: {},
  changed: { service: TOLD },
  named: { access: 'token', customDomain: DOMAIN },
})
const findings = await findingsOf(STAGES)
const each = Object.entries({ demo, production, local, elsewhere, tokens }) as readonly (readonly [keyof typeof STAGES, Synthesized])[]
const names = functionsOfStage('iam')
const accessOf = (stacks: Synthesized): string => functionsOf(stacks.service).read!.Environment.Variables.FHIR_ACCESS

describe.each(each)('the stacks: %s', (stage, stacks) => {
  const { data, service } = stacks
  const names = functionsOfStage(accessOf(stacks))
  const resources = Object.entries<Tree>({ ...data.Resources, ...service.Resources })

  it('have no finding of cdk-nag that is not accepted with a reason', () =>
    expect(findings[stage].filter((finding) => !isOfOpenMethod(finding))).toEqual([]))

  it('have no cycles', () => {
    expect(cycleOf(data)).toBeUndefined()
    expect(cycleOf(service)).toBeUndefined()
  })

  it('refer from what runs to what lasts, never back', () => {
    expect(JSON.stringify(data)).not.toContain('Fn::ImportValue')
    expect(JSON.stringify(service)).toContain('Fn::ImportValue')
  })

  it('name nothing: the same can stand twice', () => {
    const named =
      /^(?:TableName|BucketName|FunctionName|RoleName|PolicyName|DomainName|TopicName|QueueName|StateMachineName|LogGroupName|AlarmName|DashboardName|GroupName|AliasName)$/
    const found = resources.flatMap(([id, { Type, Properties = {} }]) =>
      NAMED_BY_NATURE.has(Type)
        ? []
        : Object.keys(Properties)
            .filter((name) => named.test(name))
            .map((name) => `${id} ${name}`),
    )
    expect(found).toEqual([])
  })

  it('keep the data when they are deleted, which takes a second word, and nothing of a creation that failed', () => {
    expect(stacks.isProtected).toBe(true)
    const lasting = Object.entries<Tree>(data.Resources).filter(([, { Type }]) => LASTING.test(Type))
    expect(lasting.length).toBeGreaterThanOrEqual(5)
    for (const [, { DeletionPolicy, UpdateReplacePolicy }] of lasting) {
      expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain'])
    }
  })

  it('make what is protected from deletion after all that may fail', () => {
    const of = (type: RegExp) => Object.keys(data.Resources).filter((id) => type.test(data.Resources[id].Type))
    const waitedFor = (id: string): ReadonlySet<string> =>
      new Set([id, ...referencesOf(data.Resources[id], data.Resources)].flatMap((each) => (each === id ? [] : [each, ...waitedFor(each)])))
    const tables = of(/GlobalTable/)
    expect(tables).toHaveLength(2)
    for (const table of tables) {
      const others = of(/S3::Bucket$|OpenSearchService::Domain|EC2::VPC$|KMS::Key/).filter((id) => !id.startsWith('LogsBucket'))
      expect([...waitedFor(table)]).toEqual(expect.arrayContaining(others))
    }
  })

  it('upgrade the domain in place', () => {
    for (const { Type, UpdatePolicy } of Object.values<Tree>(data.Resources)) {
      if (Type === 'AWS::OpenSearchService::Domain') expect(UpdatePolicy).toEqual({ EnableVersionUpgrade: true })
    }
    if (stacks === demo || stacks === production) expect(ofType(data, 'AWS::OpenSearchService::Domain')).toBeDefined()
  })

  it('can recover a table to any second, and protect it from deletion', () => {
    for (const { Replicas } of Object.values(ofType(data, 'AWS::DynamoDB::GlobalTable'))) {
      for (const replica of Replicas) {
        expect(replica).toMatchObject({
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          DeletionProtectionEnabled: true,
        })
      }
    }
  })

  it('encrypt tables and data with a key of their own', () => {
    for (const { SSESpecification, Replicas } of Object.values(ofType(data, 'AWS::DynamoDB::GlobalTable'))) {
      expect(SSESpecification).toMatchObject({ SSEEnabled: true, SSEType: 'KMS' })
      expect(Replicas[0].SSESpecification.KMSMasterKeyId).toBeDefined()
    }
    const bucket = Object.entries(ofType(data, 'AWS::S3::Bucket')).find(([id]) => id.startsWith('DataBucket'))![1]
    expect(bucket.BucketEncryption.ServerSideEncryptionConfiguration[0].ServerSideEncryptionByDefault.SSEAlgorithm).toBe('aws:kms')
    for (const key of Object.values(ofType(data, 'AWS::KMS::Key'))) expect(key.EnableKeyRotation).toBe(true)
    for (const log of Object.values(ofType(service, 'AWS::Logs::LogGroup'))) expect(log.KmsKeyId).toBeDefined()
  })

  it('take nothing but TLS', () => {
    for (const { PolicyDocument } of Object.values(ofType(data, 'AWS::S3::BucketPolicy'))) {
      const denials = PolicyDocument.Statement.filter(({ Effect }: Tree) => Effect === 'Deny').map(({ Condition }: Tree) => Condition)
      expect(denials).toContainEqual({ Bool: { 'aws:SecureTransport': 'false' } })
      expect(denials).toContainEqual({ NumericLessThan: { 's3:TlsVersion': 1.2 } })
    }
    for (const { DistributionConfig } of Object.values(ofType(service, 'AWS::CloudFront::Distribution'))) {
      expect(DistributionConfig.DefaultCacheBehavior.ViewerProtocolPolicy).toBe('https-only')
      expect(DistributionConfig.Origins[0].CustomOriginConfig.OriginProtocolPolicy).toBe('https-only')
      // Under a name of CloudFront's it is its own choice.
      if (stacks === production) expect(DistributionConfig.ViewerCertificate.MinimumProtocolVersion).toBe('TLSv1.2_2021')
    }
  })

  it('show no bucket to the public', () => {
    for (const { PublicAccessBlockConfiguration } of Object.values(ofType(data, 'AWS::S3::Bucket'))) {
      expect(Object.values(PublicAccessBlockConfiguration)).toEqual([true, true, true, true])
    }
  })

  it('forget kept queries after three days, lists of tokens after two, records nobody took after 90, and large bodies never', () => {
    const bucket = Object.entries(ofType(data, 'AWS::S3::Bucket')).find(([id]) => id.startsWith('DataBucket'))![1]
    const expiring = bucket.LifecycleConfiguration.Rules.filter((rule: Tree) => rule.ExpirationInDays !== undefined)
    expect(expiring.map(({ Prefix, ExpirationInDays }: Tree) => [Prefix, ExpirationInDays])).toEqual([
      ['queries/', 3],
      ['aws/lambda/', 90],
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

  it('let logs end', () => {
    for (const { RetentionInDays } of Object.values(ofType(service, 'AWS::Logs::LogGroup'))) expect(RetentionInDays).toBe(90)
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

  it('give every function what its ports need in its environment, and no settings that are the defaults', () => {
    for (const [name, { Environment }] of Object.entries(functionsOf(service))) {
      const variables = Object.keys(Environment?.Variables ?? {})
      expect([name, variables.filter((each) => !isKnown(each))]).toEqual([name, []])
      const wanted = placesOf(name as FunctionName, accessOf(stacks))
      expect([name, variables.filter((each) => PLACE_VARIABLES.has(each)).sort()]).toEqual([name, wanted.sort()])
      expect(Environment.Variables.FHIR_MAX_BODY_BYTES).toBe('5000000')
    }
  })
})

const LASTING = /GlobalTable|S3::Bucket$|KMS::Key|OpenSearchService/

/** Which is as it should be: nobody deploys that by mistake. */
const isOfOpenMethod = (finding: string): boolean => findings.local.includes(finding) && finding.startsWith('AwsSolutions-APIG4 ')

/** A policy's name is one within its role; others name the function they belong to. */
const NAMED_BY_NATURE = new Set(['AWS::IAM::Policy', 'AWS::Lambda::EventSourceMapping', 'AWS::Lambda::Permission'])

const PLACE_VARIABLES = new Set(PLACES.map(({ name }) => variableOf(name)))
const isKnown = (variable: string): boolean => PLACE_VARIABLES.has(variable) || SETTINGS.some(({ name }) => variableOf(name) === variable)

/** What a port is found by, where that is not the table of state. */
const PLACES_OF: Readonly<Record<string, readonly string[]>> = {
  resources: ['FHIR_TABLE', 'FHIR_BUCKET'],
  'own-definitions': ['FHIR_TABLE', 'FHIR_BUCKET'],
  canonicals: ['FHIR_TABLE'],
  writer: ['FHIR_TABLE', 'FHIR_BUCKET'],
  settler: ['FHIR_TABLE', 'FHIR_BUCKET'],
  pulse: ['FHIR_TABLE', 'FHIR_STATE_TABLE'],
  index: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING'],
  documents: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING', 'FHIR_BUCKET'],
  rebuilding: ['FHIR_SEARCH_ENDPOINT', 'FHIR_SEARCH_SIGNING'],
  blobs: ['FHIR_BUCKET'],
  packages: ['FHIR_BUCKET'],
  workflow: ['FHIR_REBUILD_WORKFLOW'],
  keys: ['FHIR_STATE_TABLE', 'FHIR_STAGE'],
  audit: ['FHIR_STATE_TABLE', 'FHIR_STAGE'],
  links: ['FHIR_EXPORT_ORIGIN', 'FHIR_LINK_KEY', 'FHIR_LINK_KEY_PAIR'],
  'link-key': [],
  'export-files': ['FHIR_EXPORT_BUCKET'],
  'removed-files': ['FHIR_EXPORT_BUCKET'],
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
  ]),
]

/** Of a template: the first way that comes back to where it began. */
function cycleOf({ Resources }: Tree): string | undefined {
  const edges = new Map(
    Object.entries<Tree>(Resources).map(([id, resource]) => [id, [...referencesOf(resource, Resources)].filter((to) => to !== id)]),
  )
  const done = new Set<string>()
  const visit = (id: string, way: readonly string[]): string | undefined => {
    if (way.includes(id)) return [...way.slice(way.indexOf(id)), id].join(' → ')
    if (done.has(id)) return undefined
    done.add(id)
    return edges.get(id)!.reduce<string | undefined>((found, next) => found ?? visit(next, [...way, id]), undefined)
  }
  return [...edges.keys()].reduce<string | undefined>((found, id) => found ?? visit(id, []), undefined)
}

/** With the names of what it is made of, as far as they stay the same. */
const urlOf = (value: Tree | string): string =>
  typeof value === 'string'
    ? value
    : value['Fn::Join'][1]
        .map((part: Tree | string) => (typeof part === 'string' ? part.replace(/us-east-1|eu-central-1/, 'REGION') : partOf(part)))
        .join('')

const partOf = ({ Ref, 'Fn::GetAtt': got }: Tree): string => (got === undefined ? Ref : got[0].replace(/^.*(Distribution).*$/, '$1'))

function* referencesOf(tree: Tree, known: Tree): Iterable<string> {
  if (typeof tree !== 'object' || tree === null) return
  for (const [key, value] of Object.entries<Tree>(tree)) {
    if (key === 'Ref' || key === 'DependsOn') yield* [value].flat().filter((id: string) => Object.hasOwn(known, id))
    else if (key === 'Fn::GetAtt') yield value[0]
    else if (key === 'Fn::Sub')
      for (const [, id] of String([value].flat()[0]).matchAll(/\$\{(\w+)/g)) if (Object.hasOwn(known, id!)) yield id!
    yield* referencesOf(value, known)
  }
}

function documentsOf(tree: Tree): readonly Tree[] {
  if (typeof tree !== 'object' || tree === null) return []
  return Array.isArray(tree.Statement) ? [tree] : Object.values(tree).flatMap(documentsOf)
}

describe('the table of resources', () => {
  const table = Object.entries(ofType(production.data, 'AWS::DynamoDB::GlobalTable')).find(([id]) => id.startsWith('ResourceTable'))![1]

  it('has the keys and the index the adapter works with', () => {
    const byName = (attributes: readonly { AttributeName: string }[]) =>
      [...attributes].sort((a, b) => (a.AttributeName < b.AttributeName ? -1 : 1))
    expect(table.KeySchema).toEqual(TABLE.KeySchema)
    expect(byName(table.AttributeDefinitions)).toEqual(byName(TABLE.AttributeDefinitions))
    expect(table.GlobalSecondaryIndexes).toMatchObject(TABLE.GlobalSecondaryIndexes)
    expect(INDEX).toBe('gsi1')
    expect(table.TimeToLiveSpecification).toEqual({ AttributeName: EXPIRY, Enabled: true })
  })

  // A stream's view cannot be changed once it is followed, and a replica in another region needs both.
  it('streams what is written, and what was there before', () =>
    expect(table.StreamSpecification).toEqual({ StreamViewType: 'NEW_AND_OLD_IMAGES' }))

  it('takes a load at once where it is told to, up to a limit of costs', () => {
    expect(table).toMatchObject({
      WarmThroughput: { ReadUnitsPerSecond: 20_000, WriteUnitsPerSecond: 8_000 },
      WriteOnDemandThroughputSettings: { MaxWriteRequestUnits: 20_000 },
    })
  })
})

describe('who may do what', () => {
  const MAY_WRITE: readonly FunctionName[] = ['create', 'update', 'patch', 'delete', 'bundle', 'settle-transactions']
  const may = (name: string, call: Call) => allowed(demo.service, name, call)
  const whoMay = (call: Call) => names.filter((name) => may(name, call)).sort()
  const leading = (key: string) => ({ 'dynamodb:LeadingKeys': [key] })
  const via = (service: string) => ({ 'kms:ViaService': `${service}.us-east-1.amazonaws.com` })
  const index = (path: string) => `${ARNS.SearchDomain}/${path}`
  const object = (key: string) => `${ARNS.DataBucket}/${key}`

  it.each(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'ConditionCheckItem'])(
    'only create, update, patch, delete and bundle, and the settler, may write the table: %s',
    (action) => {
      const context = leading('default#ValueSet#a')
      expect(whoMay({ action: `dynamodb:${action}`, resource: ARNS.ResourceTable, context })).toEqual([...MAY_WRITE].sort())
    },
  )

  it('which definitions carry a canonical is told also by who makes an index anew', () => {
    const context = leading('default#CANONICAL#ValueSet#a')
    for (const action of ['PutItem', 'BatchWriteItem'])
      expect(whoMay({ action: `dynamodb:${action}`, resource: ARNS.ResourceTable, context })).toEqual([...MAY_WRITE, 'rebuild-step'].sort())
  })

  it('nobody may scan, empty or change a table', () => {
    for (const resource of [ARNS.ResourceTable, ARNS.StateTable]) {
      for (const action of ['Scan', 'DeleteTable', 'UpdateTable', 'UpdateTimeToLive', 'PartiQLDelete', 'ExportTableToPointInTime']) {
        expect([action, whoMay({ action: `dynamodb:${action}`, resource, context: leading('DEFINITIONS') })]).toEqual([action, []])
      }
    }
  })

  it('only who has the port of audit may write audit records, and nobody may read or remove them', () => {
    const audit = (action: string) =>
      whoMay({ action: `dynamodb:${action}`, resource: ARNS.StateTable, context: leading('AUDIT#2026-01-01T00:00#1') })
    expect(audit('PutItem')).toEqual(names.filter((name) => FUNCTIONS[name].includes('audit')).sort())
    for (const action of ['GetItem', 'Query', 'DeleteItem', 'UpdateItem']) expect([action, audit(action)]).toEqual([action, []])
  })

  it('only migrate may make the key of seals, and only who has its port may read it', () => {
    const seal = { resource: ARNS.StateTable, context: leading('SEAL') }
    expect(whoMay({ action: 'dynamodb:PutItem', ...seal })).toEqual(['migrate'])
    expect(whoMay({ action: 'dynamodb:GetItem', ...seal })).toEqual(names.filter((name) => FUNCTIONS[name].includes('seal')).sort())
  })

  it('only who has the port of definitions may change them', () => {
    const call = { action: 'dynamodb:PutItem', resource: ARNS.StateTable, context: leading('DEFINITIONS') }
    expect(whoMay(call)).toEqual(names.filter((name) => FUNCTIONS[name].includes('definitions')).sort())
  })

  it('only rebuild-step may remove an index or move an alias', () => {
    expect(whoMay({ action: 'es:ESHttpDelete', resource: index('fhir-patient-v1') })).toEqual(['rebuild-step'])
    expect(whoMay({ action: 'es:ESHttpPost', resource: index('_aliases') })).toEqual(['rebuild-step'])
  })

  it('only who indexes may write documents', () =>
    expect(whoMay({ action: 'es:ESHttpPost', resource: index('_bulk') })).toEqual(['indexer', 'rebuild-step']))

  it('nobody may touch other indices, or the settings of the cluster', () => {
    for (const path of [
      'other/_search',
      '_cluster/settings',
      '_snapshot/x',
      '_cat/indices',
      '_plugins/_security/api',
      '_reindex',
      '_all/_search',
    ]) {
      for (const method of ['Get', 'Post', 'Put', 'Delete', 'Head', 'Patch']) {
        expect([path, method, whoMay({ action: `es:ESHttp${method}`, resource: index(path) })]).toEqual([path, method, []])
      }
    }
  })

  it('only who writes resources may put large bodies, and remove them', () => {
    expect(whoMay({ action: 's3:PutObject', resource: object('overflow/default/Patient/1') })).toEqual(
      MAY_WRITE.filter((name) => name !== 'settle-transactions').sort(),
    )
    expect(whoMay({ action: 's3:DeleteObject', resource: object('overflow/default/Patient/1') })).toEqual([...MAY_WRITE].sort())
  })

  it('nobody may remove kept versions of objects, or read what was put aside', () => {
    for (const [action, key] of [
      ['DeleteObjectVersion', 'overflow/x'],
      ['PutBucketPolicy', ''],
      ['DeleteObject', 'queries/x'],
      ['GetObject', 'aws/lambda/x'],
      ['PutObject', 'elsewhere/x'],
    ]) {
      expect([action, whoMay({ action: `s3:${action}`, resource: object(key!) })]).toEqual([action, []])
    }
  })

  it('only who has the port of the workflow may start a rebuild', () =>
    expect(whoMay({ action: 'states:StartExecution', resource: ARNS.RebuildMachine })).toEqual(
      names.filter((name) => FUNCTIONS[name].includes('workflow')).sort(),
    ))

  describe('with tokens', () => {
    const all = functionsOfStage('token')
    const whoMay = (call: Call) => all.filter((name) => allowed(tokens.service, name, call)).sort()
    const onState = (action: string, key: string) =>
      whoMay({ action: `dynamodb:${action}`, resource: ARNS.StateTable, context: leading(key) })
    const having = (...ports: readonly string[]) => all.filter((name) => FUNCTIONS[name].some((port) => ports.includes(port))).sort()
    const SIGNING_KEY = 'arn:aws:kms:us-east-1:111111111111:key/made'
    const ofStage = (stage: string) => ({ 'aws:ResourceTag/fhir-stage': stage })

    it('only those of the authorization server, and who begins exports as clients, read who is registered, and none of them writes it, but for passwords', () => {
      expect(onState('GetItem', 'CLIENTS')).toEqual(['authorize', 'export-schedule', 'introspect', 'revoke', 'token'])
      expect(onState('GetItem', 'USERS')).toEqual(['authorize', 'token'])
      expect(onState('PutItem', 'CLIENTS')).toEqual([])
      expect(onState('PutItem', 'USERS')).toEqual(['authorize'])
      for (const key of ['CLIENTS', 'USERS']) {
        for (const action of ['UpdateItem', 'DeleteItem', 'BatchWriteItem', 'Query', 'BatchGetItem'])
          expect([key, action, onState(action, key)]).toEqual([key, action, []])
      }
    })

    it('only those of the authorization server read and write what it remembers', () => {
      const keeping = ['authorize', 'introspect', 'revoke', 'token']
      for (const action of ['GetItem', 'PutItem', 'DeleteItem'])
        expect([action, onState(action, 'GRANT#code#x')]).toEqual([action, keeping])
      for (const action of ['Query', 'PutItem', 'DeleteItem'])
        expect([action, onState(action, 'OWNED#refresh#x')]).toEqual([action, keeping])
    })

    it('every function that asks who asks reads revocations and keys, and writes neither', () => {
      expect(onState('BatchGetItem', 'REVOKED#x')).toEqual(having('verification', 'revoking'))
      expect(onState('PutItem', 'REVOKED#x')).toEqual(['authorize', 'revoke', 'token'])
      expect(onState('GetItem', KEY_LIST)).toEqual(having('verification', 'published-keys', 'signing', 'keys'))
      expect(onState('PutItem', KEY_LIST)).toEqual(['tend-keys'])
      const resources = names.filter((name) => FUNCTIONS[name].includes('audit') && name !== 'fallback')
      expect(having('verification')).toEqual([...resources, 'introspect'].sort())
    })

    it('only token signs, with keys of this stage', () => {
      const sign = (context: Call['context']) => whoMay({ action: 'kms:Sign', resource: SIGNING_KEY, ...(context && { context }) })
      expect(sign(ofStage('dev'))).toEqual(['token'])
      expect(sign(ofStage('prod'))).toEqual([])
      expect(sign(undefined)).toEqual([])
    })

    it('only tend-keys makes and removes keys, of this stage, which can do nothing but sign', () => {
      const make = { 'aws:RequestTag/fhir-stage': 'dev', 'kms:KeySpec': 'RSA_2048', 'kms:KeyUsage': 'SIGN_VERIFY' }
      const may = (action: string, context: Record<string, string>) => whoMay({ action: `kms:${action}`, resource: SIGNING_KEY, context })
      expect(may('CreateKey', make)).toEqual(['tend-keys'])
      expect(may('CreateKey', { ...make, 'kms:KeyUsage': 'ENCRYPT_DECRYPT' })).toEqual([])
      expect(may('CreateKey', { ...make, 'aws:RequestTag/fhir-stage': 'prod' })).toEqual([])
      expect(may('TagResource', make)).toEqual(['tend-keys'])
      expect(may('TagResource', { ...make, ...ofStage('prod') })).toEqual([])
      for (const action of ['GetPublicKey', 'ScheduleKeyDeletion']) {
        expect(may(action, ofStage('dev'))).toEqual(['tend-keys'])
        expect(may(action, ofStage('prod'))).toEqual([])
      }
      for (const action of ['PutKeyPolicy', 'CreateGrant', 'UntagResource', 'DisableKey']) expect(may(action, ofStage('dev'))).toEqual([])
    })

    it('where requests are signed, nobody reads anything of it', () => {
      for (const key of ['CLIENTS', 'USERS', 'GRANT#code#x', 'REVOKED#x', KEY_LIST])
        for (const name of names)
          expect([
            name,
            allowed(demo.service, name, { action: 'dynamodb:GetItem', resource: ARNS.StateTable, context: leading(key) }),
          ]).toEqual([name, false])
    })
  })

  it('the key is used by tables and bucket only, never by a function itself', () => {
    const call = { action: 'kms:Decrypt', resource: ARNS.Key }
    expect(whoMay(call)).toEqual([])
    expect(whoMay({ ...call, context: via('secretsmanager') })).toEqual([])
    expect(may('read', { ...call, context: via('dynamodb') })).toBe(true)
    expect(whoMay({ action: 'kms:ScheduleKeyDeletion', resource: ARNS.Key, context: via('dynamodb') })).toEqual([])
  })

  it.each<[FunctionName, string, string]>([
    ['read', 'dynamodb:GetItem', ARNS.ResourceTable],
    ['read', 's3:GetObject', object('overflow/default/Patient/1')],
    ['history', 'dynamodb:Query', `${ARNS.ResourceTable}/index/gsi1`],
    ['search', 'es:ESHttpPost', index('fhir-patient,fhir-observation/_search')],
    ['search', 's3:PutObject', object('queries/2026-01-01/x')],
    ['create', 'es:ESHttpPost', index('_mget')],
    ['bundle', 'dynamodb:ConditionCheckItem', ARNS.ResourceTable],
    ['indexer', 'dynamodb:GetRecords', `${ARNS.ResourceTable}/stream/1`],
    ['indexer', 's3:PutObject', object('aws/lambda/1/shard/x')],
    ['indexer', 'es:ESHttpPut', index('fhir-patient-v1')],
    ['indexer', 'es:ESHttpGet', index('fhir-patient-0123456789ab/_mapping')],
    ['rebuild-step', 'es:ESHttpGet', index('fhir-patient-next-0123456789ab/_mapping')],
    ['settle-transactions', 's3:ListBucket', ARNS.DataBucket],
    ['rebuild-step', 'dynamodb:Query', `${ARNS.ResourceTable}/index/gsi1`],
  ])('%s may do what it has to: %s on %s', (name, action, resource) => expect(may(name, { action, resource })).toBe(true))

  it('a search endpoint without an ARN is asked without a signature, and needs no permission', () => {
    for (const name of names) {
      expect(
        statementsOf(local.service, name)
          .flatMap(({ Action }) => [Action].flat() as string[])
          .filter((action) => /^es:/.test(action)),
      ).toEqual([])
    }
    expect(functionsOf(local.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('none')
    expect(functionsOf(demo.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('sigv4')
  })

  it("a domain of one's own is asked with a signature, and permitted by its ARN", () => {
    const call = { action: 'es:ESHttpPost', resource: 'arn:aws:es:us-east-1:111111111111:domain/own/fhir-patient/_search' }
    expect(allowed(elsewhere.service, 'search', call)).toBe(true)
    expect(functionsOf(elsewhere.service).search!.Environment.Variables.FHIR_SEARCH_SIGNING).toBe('sigv4')
  })

  it('the domain takes signed requests of these roles only', () => {
    const [domain] = Object.values(ofType(demo.data, 'AWS::OpenSearchService::Domain'))
    const [statement, ...others] = domain!.AccessPolicies.Statement
    expect(others).toEqual([])
    expect(JSON.stringify(statement.Condition.ArnLike['aws:PrincipalArn'])).toContain(':role/fhir-dev/*')
    const roles = Object.values(ofType(demo.service, 'AWS::IAM::Role')).filter(({ Description }) => /may do$/.test(Description ?? ''))
    expect(roles.map(({ Path }) => Path)).toEqual(names.map(() => '/fhir-dev/'))
    expect(domain).toMatchObject({
      EncryptionAtRestOptions: { Enabled: true },
      NodeToNodeEncryptionOptions: { Enabled: true },
      DomainEndpointOptions: { EnforceHTTPS: true },
    })
  })
})

describe('the API', () => {
  const { service } = demo
  const served: readonly (readonly [string, ReturnType<typeof routesOf>, readonly (Route | AuthRoute)[]])[] = [
    ['with signatures', routesOf(service), ROUTES],
    ['with tokens', routesOf(tokens.service), [...ROUTES, ...AUTH_ROUTES]],
  ]

  it.each(served)('has the method of every route but that of files, and HEAD with every GET that begins nothing: %s', (_, api, routes) => {
    expect(api.filter(({ path }) => path.startsWith('/export-files'))).toEqual([])
    for (const route of routes.filter(({ interaction }) => interaction !== 'export-file')) {
      const { method, path, interaction } = route
      const found = api.filter((each) => fitsRoute(each.path, path))
      expect([path, found.length]).toEqual([path, 1])
      for (const wanted of isHeadToo(route) ? [method, 'HEAD'] : [method]) {
        expect([path, wanted, found[0]!.methods.get(wanted)]).toEqual([path, wanted, functionOf(interaction)])
      }
    }
  })

  it.each(served)('has no other methods, but the fallback for all that is left: %s', (_, api, routes) => {
    for (const { path, methods } of api.filter(({ methods }) => methods.size > 0)) {
      const wanted = routes
        .filter((route) => fitsRoute(path, route.path))
        .flatMap((route) => (isHeadToo(route) ? ['GET', 'HEAD'] : [route.method]))
      expect([path, [...methods.keys()].sort()]).toEqual([path, [...new Set([...wanted, 'ANY', 'OPTIONS'])].sort()])
      expect([methods.get('ANY'), methods.get('OPTIONS')]).toEqual(['fallback', 'fallback'])
    }
  })

  it.each(served)('answers something at every level, so that a static part with parts below never hides a variable one: %s', (_, api) =>
    expect(api.filter(({ methods }) => methods.size === 0).map(({ path }) => path)).toEqual([]),
  )

  it('wants signed requests, but of browsers that ask whether they may', () => {
    const open = Object.values(ofType(service, 'AWS::ApiGateway::Method')).filter(
      ({ AuthorizationType }) => AuthorizationType !== 'AWS_IAM',
    )
    expect(new Set(open.map(({ HttpMethod }) => HttpMethod))).toEqual(new Set(['OPTIONS']))
  })

  it('is open on one machine only: an account refuses it, and what is synthesized goes into no other than that of stand-ins', () => {
    expect(() => settingsOf({ access: 'open', account: '111111111111' })).toThrow('access "open" lets anybody do anything')
    expect(JSON.stringify(local)).toContain('000000000000')
    const methods = Object.values(ofType(local.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('tells every function who is let in, so that none that is updated alone, or rolled back, lets in others', () => {
    const access = (template: Tree): readonly unknown[] =>
      Object.values(ofType(template, 'AWS::Lambda::Function'))
        .map(({ Environment }) => Environment?.Variables.FHIR_ACCESS)
        .filter((value) => value !== undefined)
    expect(new Set(access(service))).toEqual(new Set(['iam']))
    expect(new Set(access(local.service))).toEqual(new Set(['open']))
    expect(new Set(access(tokens.service))).toEqual(new Set(['token']))
    expect(() => settingsOf({ service: { access: 'open' } })).toThrow('"access" stands beside "service"')
    expect(() => settingsOf({ service: { tenancy: 'on' } })).toThrow('tenancy "on" is not possible with access "iam"')
  })

  it('knows every path below the authorization server, also what is none of its endpoints', () => {
    const api = routesOf(tokens.service)
    for (const path of ['/auth', '/auth/{proxy+}', '/.well-known', '/.well-known/{proxy+}'])
      expect([path, [...(api.find((each) => each.path === path)?.methods.values() ?? [])]]).toEqual([path, ['fallback', 'fallback']])
    expect(routesOf(service).filter(({ path }) => /^\/(?:auth|\.well-known)/.test(path))).toEqual([])
  })

  it('lets in requests without a signature where functions want tokens', () => {
    const methods = Object.values(ofType(tokens.service, 'AWS::ApiGateway::Method'))
    expect(new Set(methods.map(({ AuthorizationType }) => AuthorizationType))).toEqual(new Set(['NONE']))
  })

  it('has a stage that is called as the path of the server', () => {
    const [stage] = Object.values(ofType(service, 'AWS::ApiGateway::Stage'))
    expect(stage).toMatchObject({
      StageName: 'fhir',
      MethodSettings: [{ DataTraceEnabled: false, LoggingLevel: 'OFF' }],
    })
  })

  it('logs neither paths nor queries nor addresses', () => {
    const [{ AccessLogSetting }] = Object.values(ofType(service, 'AWS::ApiGateway::Stage')) as [Tree]
    const used = [...String(AccessLogSetting.Format).matchAll(/\$context\.([\w.]+)/g)].map(([, name]) => name)
    expect(used.filter((name) => /^(?:path|identity|authorizer|customDomain|requestOverride)/.test(name!))).toEqual([])
    expect(used).toContain('resourcePath')
  })

  it.each([
    ['MISSING_AUTHENTICATION_TOKEN', '401'],
    ['UNAUTHORIZED', '401'],
    ['ACCESS_DENIED', '403'],
    ['REQUEST_TOO_LARGE', '413'],
    ['THROTTLED', '429'],
    ['INTEGRATION_TIMEOUT', '504'],
    ['DEFAULT_4XX', undefined],
    ['DEFAULT_5XX', undefined],
  ])('answers %s with an OperationOutcome and %s', (type, status) => {
    const answer = Object.values(ofType(service, 'AWS::ApiGateway::GatewayResponse')).find(({ ResponseType }) => ResponseType === type)
    expect(answer.StatusCode).toBe(status)
    const [text] = Object.values<string>(answer.ResponseTemplates)
    expect(JSON.parse(text!)).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', details: { text: expect.anything() } }],
    })
    expect(answer.ResponseParameters).toMatchObject({
      'gatewayresponse.header.Content-Type': "'application/fhir+json; charset=utf-8'",
      'gatewayresponse.header.Cache-Control': "'no-store'",
      'gatewayresponse.header.Access-Control-Allow-Origin': "'*'",
    })
  })

  it('does not know a path it does not know, where requests need no signature', () => {
    const answers = Object.values(ofType(local.service, 'AWS::ApiGateway::GatewayResponse'))
    expect(answers.find(({ ResponseType }) => ResponseType === 'MISSING_AUTHENTICATION_TOKEN').StatusCode).toBe('404')
  })

  it('names the one origin that is allowed in its own errors', () => {
    const [answer] = Object.values(ofType(production.service, 'AWS::ApiGateway::GatewayResponse'))
    expect(answer!.ResponseParameters['gatewayresponse.header.Access-Control-Allow-Origin']).toBe("'https://app.example.org'")
  })
})

/** Path → methods → function. */
function routesOf(service: Tree): readonly { readonly path: string; readonly methods: ReadonlyMap<string, string> }[] {
  const resources = ofType(service, 'AWS::ApiGateway::Resource')
  const handlers = Object.fromEntries(Object.entries(ofType(service, 'AWS::Lambda::Function')).map(([id, { Handler }]) => [id, Handler]))
  const pathOf = (id: string): string =>
    resources[id] === undefined ? '' : `${pathOf(resources[id].ParentId.Ref ?? '')}/${resources[id].PathPart}`
  return ['', ...Object.keys(resources)].map((id) => {
    const methods = Object.values(ofType(service, 'AWS::ApiGateway::Method')).filter(({ ResourceId }) => (ResourceId.Ref ?? '') === id)
    const target = ({ Integration }: Tree): string => {
      const [, functionId] = /"Fn::GetAtt":\["(\w+)","Arn"\]/.exec(JSON.stringify(Integration.Uri))!
      return handlers[functionId!]!.replace(/\.handler$/, '')
    }
    return { path: pathOf(id) || '/', methods: new Map(methods.map((method) => [method.HttpMethod as string, target(method)])) }
  })
}

/** Variables may have any name, `*` stands where a variable does. */
const fitsRoute = (path: string, route: string): boolean => shapeOf(path) === shapeOf(route)
const shapeOf = (path: string): string => path.replace(/\{\w+\}|\*/g, '{}')

describe('what is in front', () => {
  const viewerOf = ({ service }: Synthesized): Tree =>
    Object.entries(ofType(service, 'AWS::CloudFront::Function')).find(([id]) => id.startsWith('Front'))![1]
  const [viewer, viewerOfTokens] = [viewerOf(demo), viewerOf(tokens)]
  const asked = (uri: string, querystring: object = {}, headers: object = {}, { FunctionCode } = viewer): Tree => {
    const request = { uri, querystring, headers: { 'true-client-ip': { value: 'made up' }, ...headers } }
    return runInNewContext(`${FunctionCode}; handler(event)`, { event: { request, viewer: { ip: '192.0.2.1' } } })
  }

  it('encodes what the API refuses or splits at, in every value', () => {
    const value = 'http://loinc.org|1234-5;{x}'
    const { querystring } = asked('/fhir/Observation', {
      code: { value, multiValue: [{ value }, { value: 'a%7Cb' }] },
      _count: { value: '3' },
    })
    const encoded = 'http://loinc.org%7C1234-5%3B%7Bx%7D'
    expect(querystring).toEqual({ code: { value: encoded, multiValue: [{ value: encoded }, { value: 'a%7Cb' }] }, _count: { value: '3' } })
  })

  it('tells the firewall who asks, whatever a client says', () => expect(asked('/fhir').headers['true-client-ip'].value).toBe('192.0.2.1'))

  it('answers other paths by itself', () => {
    const { statusCode, body } = asked('/favicon.ico')
    expect([statusCode, JSON.parse(body.data).resourceType]).toEqual([404, 'OperationOutcome'])
    expect(asked('/fhirs').statusCode).toBe(404)
  })

  it('finds what clients of the authorization server look for at the root, where there is one', () => {
    const found = (uri: string) => asked(uri, {}, {}, viewerOfTokens)
    for (const name of ['smart-configuration', 'openid-configuration', 'oauth-authorization-server']) {
      for (const end of ['', '/fhir']) expect(found(`/.well-known/${name}${end}`).uri).toBe(`/fhir/.well-known/${name}`)
    }
    for (const uri of ['/.well-known/smart-configuration/other', '/.well-known/other', '/x/.well-known/smart-configuration'])
      expect(found(uri).statusCode).toBe(404)
    expect(asked('/.well-known/smart-configuration').statusCode).toBe(404)
  })

  it('answers by itself what is too long for the API', () => {
    const told = ({ statusCode, body }: Tree) => [statusCode, JSON.parse(body.data).issue[0].code]
    const long = { value: 'x'.repeat(1_000) }
    const many = { multiValue: Array.from({ length: 11 }, () => long), ...long }
    expect(told(asked('/fhir/Patient', { name: many }))).toEqual([414, 'too-long'])
    // CloudFront itself refuses more than 8,192.
    expect(told(asked('/fhir/Patient', { name: { value: 'x'.repeat(8_050) } }))).toEqual([414, 'too-long'])
    expect(asked('/fhir/Patient', { name: { value: 'x'.repeat(7_950) } }).uri).toBe('/fhir/Patient')
    expect(told(asked('/fhir/Patient', {}, { cookie: many }))).toEqual([431, 'too-long'])
    expect(asked('/fhir/Patient', { name: { value: 'x'.repeat(4_000) } }, { authorization: { value: 'x'.repeat(4_000) } }).uri).toBe(
      '/fhir/Patient',
    )
  })

  it('passes everything else on, and keeps nothing', () => {
    const [{ DistributionConfig }] = Object.values(ofType(demo.service, 'AWS::CloudFront::Distribution')) as [Tree]
    const { AllowedMethods, CachePolicyId, OriginRequestPolicyId } = DistributionConfig.DefaultCacheBehavior
    expect(AllowedMethods).toEqual(['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'POST', 'DELETE'])
    // AWS's own policies: Managed-CachingDisabled, Managed-AllViewerExceptHostHeader.
    expect([CachePolicyId, OriginRequestPolicyId]).toEqual(['4135ea2d-6df8-44a3-9df3-4b5a84be39ad', 'b689b0a8-53d0-40ab-baf2-68738e2966ac'])
    expect(DistributionConfig.Origins[0].OriginPath).toBeUndefined()
    const kept = DistributionConfig.CustomErrorResponses.map(({ ErrorCode, ErrorCachingMinTTL }: Tree) => [ErrorCode, ErrorCachingMinTTL])
    expect(kept).toEqual([400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504].map((status) => [status, 0]))
  })

  it('refuses bodies no function could take, by their length', () => {
    const [{ Rules }] = Object.values(ofType(demo.service, 'AWS::WAFv2::WebACL')) as [Tree]
    const tooLarge = Rules.find(({ Name }: Tree) => Name === 'TooLarge')
    expect(tooLarge.Action.Block.CustomResponse).toMatchObject({
      ResponseCode: 413,
      ResponseHeaders: [
        { Name: 'Cache-Control', Value: 'no-store' },
        { Name: 'Access-Control-Allow-Origin', Value: '*' },
      ],
    })
    const { RegexString } = tooLarge.Statement.RegexMatchStatement
    // WAF takes no groups that capture: https://docs.aws.amazon.com/waf/latest/developerguide/waf-regex-pattern-support.html
    expect(RegexString).not.toMatch(/\((?!\?:)|\\[1-9]|\(\?[=!<]/)
    const larger = new RegExp(RegexString)
    const lengths = ['0', '4999999', '5000000', '5000001', '5000010', '5999999', '6000000', '9999999', '10000000', '123456789']
    expect(lengths.filter((length) => larger.test(length))).toEqual(lengths.slice(3))
  })

  const rulesOf = ({ service }: Synthesized): Tree[] =>
    Object.values(ofType(service, 'AWS::WAFv2::WebACL'))[0]!.Rules.toSorted((a: Tree, b: Tree) => a.Priority - b.Priority)
  const tooMany = (stacks: Synthesized): Tree => rulesOf(stacks).find(({ Name }) => Name === 'TooMany')

  it.each(each)('lets no answer of its own be kept: %s', (_, { service }) => {
    for (const { ResponseParameters } of Object.values(ofType(service, 'AWS::ApiGateway::GatewayResponse')))
      expect(ResponseParameters['gatewayresponse.header.Cache-Control']).toBe("'no-store'")
    for (const { Rules } of Object.values(ofType(service, 'AWS::WAFv2::WebACL')))
      for (const { Action } of Rules)
        expect(Action.Block.CustomResponse.ResponseHeaders).toContainEqual({ Name: 'Cache-Control', Value: 'no-store' })
  })

  it.each(each)('pays for the metrics of no method, but for the one an alarm looks at: %s', (_, { service }) => {
    const [{ MethodSettings }] = Object.values(ofType(service, 'AWS::ApiGateway::Stage')) as [Tree]
    const measured = MethodSettings.filter(({ MetricsEnabled }: Tree) => MetricsEnabled)
    const watched = Object.values(ofType(service, 'AWS::CloudWatch::Alarm')).flatMap(({ Namespace, Dimensions }) => {
      const value = (name: string): string | undefined => Dimensions?.find(({ Name }: Tree) => Name === name)?.Value
      return Namespace === 'AWS/ApiGateway' && value('Resource') !== undefined ? [`${value('Resource')} ${value('Method')}`] : []
    })
    expect(measured.map(({ ResourcePath, HttpMethod }: Tree) => `${ResourcePath.slice(1).replaceAll('~1', '/')} ${HttpMethod}`)).toEqual(
      watched,
    )
    for (const settings of MethodSettings)
      expect(settings).toMatchObject({ DataTraceEnabled: false, ThrottlingRateLimit: 500, LoggingLevel: 'OFF' })
  })

  it('refuses an address that asks too much', () => {
    const [{ CustomResponseBodies, DefaultAction }] = Object.values(ofType(demo.service, 'AWS::WAFv2::WebACL')) as [Tree]
    expect(tooMany(demo)).toMatchObject({
      Action: { Block: { CustomResponse: { ResponseCode: 429 } } },
      Statement: { RateBasedStatement: { AggregateKeyType: 'IP' } },
    })
    for (const { Content } of Object.values<Tree>(CustomResponseBodies)) expect(JSON.parse(Content).resourceType).toBe('OperationOutcome')
    expect(DefaultAction).toEqual({ Allow: {} })
  })

  describe('with tokens', () => {
    const { DistributionConfig } = Object.values(ofType(tokens.service, 'AWS::CloudFront::Distribution'))[0]!
    const [first, ...others] = rulesOf(tokens)
    const { Statements } = first.Statement.NotStatement.Statement.OrStatement
    const accepted: Tree[] = Statements.map(({ ByteMatchStatement }: Tree) => ByteMatchStatement)

    it('is the only one the API answers: it shows a secret, and while it gets another the one before counts', () => {
      expect(first).toMatchObject({ Name: 'NotThroughFront', Action: { Block: { CustomResponse: { ResponseCode: 403 } } } })
      const [sent] = DistributionConfig.Origins[0].OriginCustomHeaders
      expect(accepted.map(({ FieldToMatch, PositionalConstraint }) => [FieldToMatch.SingleHeader.Name, PositionalConstraint])).toEqual(
        accepted.map(() => [sent.HeaderName, 'EXACTLY']),
      )
      expect(accepted).toHaveLength(2)
      expect(accepted[0].SearchString).toEqual(sent.HeaderValue)
      expect(accepted[1].SearchString).not.toEqual(sent.HeaderValue)
      expect(others.map(({ Name }) => Name)).toEqual(['TooLarge', 'TooMany'])
    })

    it('has secrets that no template holds', () => {
      for (const { SearchString } of accepted) expect(JSON.stringify(SearchString)).toContain('{{resolve:secretsmanager:')
      const secrets = Object.values(ofType(tokens.service, 'AWS::SecretsManager::Secret'))
      expect(secrets.map(({ GenerateSecretString }) => GenerateSecretString.PasswordLength)).toEqual([64, 64])
    })

    it('sends another secret once the firewall accepts it', () => {
      const [distribution] = Object.values<Tree>(tokens.service.Resources).filter(({ Type }) => Type === 'AWS::CloudFront::Distribution')
      expect(distribution.DependsOn.map((id: string) => tokens.service.Resources[id].Type)).toContain('AWS::WAFv2::WebACL')
    })

    it('says who asks too much', () =>
      expect(tooMany(tokens).Statement.RateBasedStatement).toMatchObject({
        AggregateKeyType: 'FORWARDED_IP',
        ForwardedIPConfig: { HeaderName: 'true-client-ip', FallbackBehavior: 'MATCH' },
      }))
  })

  it('shows no secret where requests are signed, and the first has none before it', () => {
    expect(JSON.stringify(demo.service)).not.toContain('secretsmanager')
    expect(() => settingsOf({ access: 'token', originSecret: 0 })).toThrow('originSecret is a whole number from 1 on')
  })
})

describe('what follows the table', () => {
  it.each([
    ['indexer', ['H', 'P']],
    ['settle-transactions', ['T']],
  ])('%s gets records with the sort keys %s, repeats what fails alone, and loses nothing', (name, sorts) => {
    const functionId = Object.entries(ofType(demo.service, 'AWS::Lambda::Function')).find(
      ([, { Handler }]) => Handler === `${name}.handler`,
    )![0]
    const mapping = Object.values(ofType(demo.service, 'AWS::Lambda::EventSourceMapping')).find(
      ({ FunctionName }) => FunctionName.Ref === functionId,
    )
    expect(mapping).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 500,
      MaximumBatchingWindowInSeconds: 0,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      MaximumRetryAttempts: -1,
      MaximumRecordAgeInSeconds: 20 * 60 * 60,
      ParallelizationFactor: 1,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::ImportValue': expect.stringContaining('DataBucket') } } },
    })
    expect(JSON.parse(mapping.FilterCriteria.Filters[0].Pattern)).toEqual({ dynamodb: { Keys: { sk: { S: sorts } } } })
  })

  it('is no more than two functions, as a stream wants it', () =>
    expect(Object.keys(ofType(demo.service, 'AWS::Lambda::EventSourceMapping'))).toHaveLength(2))

  it('takes up every minute, hour and day what was left', () => {
    const rules = Object.values(ofType(demo.service, 'AWS::Events::Rule'))
    expect(rules.map(({ ScheduleExpression, Targets }) => [ScheduleExpression, Targets[0].Input])).toEqual([
      ['rate(1 minute)', '{"sweep":"transactions"}'],
      ['rate(1 day)', '{"sweep":"bodies"}'],
      ['rate(1 minute)', '{"sweep":"index"}'],
      ['rate(1 minute)', '{"sweep":"jobs"}'],
      ['rate(1 hour)', '{"sweep":"expired"}'],
    ])
  })

  it('tends the signing keys every day, which are made before anybody is answered', () => {
    const inputs = Object.values(ofType(tokens.service, 'AWS::Events::Rule')).map(({ Targets }) => Targets[0].Input)
    expect(inputs).toContain('{"sweep":"keys"}')
    const { Resources } = tokens.service
    const made = Object.entries<Tree>(Resources).find(([, { Type }]) => Type === 'Custom::FhirSigningKeys')![0]
    const token = Object.values<Tree>(Resources).find(({ Properties }) => Properties?.Handler === 'token.handler')
    expect(token.DependsOn).toContain(made)
  })

  it.each([
    ['rebuilds by the state machine of lambdas/indexing', 'Rebuild', rebuildWorkflow],
    ['exports by that of lambdas/export', 'Exporting', exportWorkflow],
  ])('%s, whose log has no input', (_, id, definition) => {
    const machines = Object.entries(ofType(demo.service, 'AWS::StepFunctions::StateMachine'))
    const [, machine] = machines.find(([each]) => each.startsWith(`${id}Machine`))!
    const [separator, parts] = machine.DefinitionString['Fn::Join']
    const text = parts.map((part: Tree) => (typeof part === 'string' ? part : 'ARN')).join(separator)
    const limited = JSON.parse(text, (name, value) => (name === 'TimeoutSeconds' ? undefined : value))
    expect(limited).toEqual(definition('ARN'))
    expect([machine.LoggingConfiguration.IncludeExecutionData, machine.StateMachineType]).toEqual([false, undefined])
  })

  it.each([
    ['Rebuild', 'rebuild-step', 6 * 24],
    ['Exporting', 'export-step', 2 * 24],
  ])('%s waits for nothing longer than it may take: its function %s, and itself %i hours', (id, name, hours) => {
    const [, machine] = Object.entries(ofType(demo.service, 'AWS::StepFunctions::StateMachine')).find(([each]) =>
      each.startsWith(`${id}Machine`),
    )!
    const text = machine.DefinitionString['Fn::Join'][1]
      .map((part: Tree) => (typeof part === 'string' ? part : 'arn:aws:lambda:x:0:function:f'))
      .join('')
    const tasks: Tree[] = []
    const definition = JSON.parse(text, (_, value) => {
      if (value?.Type === 'Task') tasks.push(value)
      return value
    })
    expect(definition.TimeoutSeconds).toBe(hours * 60 * 60)
    expect(tasks.length).toBeGreaterThan(3)
    const { Timeout } = functionsOf(demo.service)[name]!
    for (const { TimeoutSeconds, Retry } of tasks) {
      expect([TimeoutSeconds > Timeout, TimeoutSeconds]).toEqual([true, Timeout + 60])
      // Of all errors there are, that of a step that was not answered too.
      expect(Retry.at(-1).ErrorEquals).toEqual(['States.ALL'])
    }
    expect(validate(definition)).toMatchObject({ isValid: true })
  })
})

describe('a deployment', () => {
  const { Resources } = demo.service
  const migration = Resources.Migration

  it('migrates with the new functions behind the stream, before any request is served by the new ones', () => {
    const idOf = (name: string) =>
      Object.entries(ofType(demo.service, 'AWS::Lambda::Function')).find(([, { Handler }]) => Handler === `${name}.handler`)![0]
    const before = ['indexer', 'settle-transactions', 'rebuild-step', 'export-step', 'export-sweep', 'migrate']
    for (const name of before) expect(migration.DependsOn).toContain(idOf(name))
    for (const name of names.filter((each) => ![...before, 'link-key'].includes(each))) {
      expect([name, Resources[idOf(name)].DependsOn]).toEqual([name, expect.arrayContaining(['Migration'])])
    }
  })

  it('migrates again whenever code or settings change, and only then', () => {
    const deployed = ({ service }: Synthesized) => service.Resources.Migration.Properties.Deployed
    expect(deployed(again)).toBe(deployed(demo))
    expect(deployed(changed)).not.toBe(deployed(demo))
  })

  it('tells the functions the address clients use', () => {
    const baseUrl = ({ service }: Synthesized) => functionsOf(service).read!.Environment.Variables.FHIR_BASE_URL
    const [, parts] = baseUrl(demo)['Fn::Join']
    const [api] = Object.keys(ofType(demo.service, 'AWS::ApiGateway::RestApi'))
    expect(parts.map((part: Tree | string) => (typeof part === 'string' ? part : Object.values(part)[0]))).toEqual([
      'https://',
      api,
      '.execute-api.us-east-1.',
      'AWS::URLSuffix',
      '/fhir',
    ])
    // CloudFront asks the API under its own name: what is signed for another host is refused there.
    expect(baseUrl(production)['Fn::Join'][1][0]).toBe('https://')
    expect(baseUrl(named)).toBe('https://fhir.example.org/fhir')
    expect(JSON.stringify(baseUrl(tokens))).toContain('DomainName')
    expect(baseUrl(local)).toBe('http://127.0.0.1:8080/fhir')
  })

  it("tells them each address that counts as own: first the API's, which stays whatever the settings say, and CloudFront's", () => {
    const told =
      (name: string) =>
      (of: Synthesized): readonly string[] =>
        Object.values(functionsOf(of.service)).flatMap(({ Environment }) =>
          Environment?.Variables.FHIR_BASE_URL === undefined ? [] : [urlOf(Environment.Variables[name])],
        )
    const [own] = told('FHIR_BASE_URL')(demo)
    for (const stage of [demo, production, named, tokens, local]) {
      const [links] = told('FHIR_BASE_URL')(stage)
      const bases = told('FHIR_OWN_BASES')(stage)
      expect(new Set(bases).size).toBe(1)
      const [first, ...others] = bases[0]!.split(' ')
      expect(first).toBe(own)
      expect(others).toContain('https://Distribution/fhir')
      expect([first, ...others]).toContain(links)
    }
    expect(told('FHIR_OWN_BASES')(named)[0]).toBe(`${own} https://Distribution/fhir https://fhir.example.org/fhir`)
  })

  it('prints where everything is', () => {
    expect(Object.keys(demo.data.Outputs)).toEqual(expect.arrayContaining(['ResourceTableName', 'StateTableName', 'BucketName']))
    expect(Object.keys(demo.service.Outputs)).toEqual(expect.arrayContaining(['BaseUrl', 'ApiUrl', 'DistributionDomain', 'AlarmTopic']))
  })

  it('has settings that fit, or does not begin', () => {
    const wrong = (settings: object) => () => settingsOf(settings)
    expect(wrong({ stagee: 'x' })).toThrow('"stagee" is no setting')
    expect(wrong({ service: { versioning: 'maybe' } })).toThrow('FHIR_VERSIONING')
    expect(wrong({ service: { referentialIntegrity: 'on' } })).toThrow('referentialIntegrity is not possible on AWS')
    expect(wrong({ service: { maxBodyBytes: 6_000_000 } })).toThrow('maxBodyBytes is at most 5000000')
    for (const baseUrl of [
      'http://x/fhir',
      'http://127.0.0.1.evil.example/fhir',
      'https://x/fhir/',
      'https://u@x/fhir',
      'https://x/fhir?a',
      'x',
      '',
    ])
      for (const access of ['token', 'iam']) expect(wrong({ access, baseUrl })).toThrow(`baseUrl is "${baseUrl}", but must be an https URL`)
    for (const baseUrl of ['https://fhir.example.org/fhir', 'http://127.0.0.1:8080/fhir'])
      expect(settingsOf({ access: 'token', baseUrl }).baseUrl).toBe(baseUrl)
    expect(wrong({ access: 'token', service: { tenantClaim: 'scope' } })).toThrow('FHIR_TENANT_CLAIM is "scope"')
    expect(wrong({ stage: 'Prod!' })).toThrow('is no stage')
  })

  it('sets what the service is told', () => {
    const { Variables } = functionsOf(production.service).vread!.Environment
    expect(Variables).toMatchObject({ FHIR_VERSIONING: 'off', FHIR_ALLOWED_ORIGINS: 'https://app.example.org' })
    expect(functionsOf(production.service).indexer!.ReservedConcurrentExecutions).toBe(20)
  })

  it('tells every function each setting of the service, or refuses it with what to do instead', () => {
    const known = [...Object.keys(TOLD), ...REFUSED, 'tenancy']
    expect(SETTINGS.map(({ name }) => name).toSorted()).toEqual(known.toSorted())
    const told = { ...serviceEnvironment(settingsOf({ service: TOLD })), FHIR_ACCESS: 'iam' }
    expect(Object.keys(told)).toHaveLength(Object.keys(TOLD).length + 1)
    for (const [name, { Environment }] of Object.entries(functionsOf(changed.service)))
      expect([name, Environment.Variables]).toEqual([name, expect.objectContaining(told)])
    for (const { Environment } of Object.values(functionsOf(tokens.service)))
      expect(Environment.Variables).toMatchObject({ FHIR_TENANCY: 'on', FHIR_ACCESS: 'token' })
    const page = readFileSync('lambdas/runtime/README.md', 'utf8')
    for (const name of REFUSED) {
      expect(() => settingsOf({ service: { [name]: name === 'referentialIntegrity' ? 'on' : '1' } })).toThrow(name)
      expect(page).toContain(`\`${name}\``)
    }
  })

  it('watches what can go wrong, with what is then to be done', () => {
    const alarms = Object.values(ofType(tokens.service, 'AWS::CloudWatch::Alarm'))
    const watched = new Set(alarms.map(({ AlarmDescription }) => /^\w+/.exec(AlarmDescription)![0]))
    const runbook = readFileSync('lib/README.md', 'utf8').match(/\| alarm \| means \| do \|\n.*\n(?:\|.*\n)+/)![0]
    expect([...watched].sort()).toEqual(
      [...runbook.matchAll(/^\| (\w+) \|/gm)]
        .map(([, name]) => name!)
        .filter((name) => name !== 'alarm')
        .sort(),
    )
    for (const { AlarmActions, AlarmDescription } of alarms) {
      expect(AlarmActions).toHaveLength(1)
      expect(AlarmDescription).toMatch(/^\w+: .+\. .{20,}/)
    }
    expect(Object.keys(ofType(tokens.service, 'AWS::CloudWatch::Dashboard'))).toHaveLength(1)
  })
})

it('Packages are read by who validates, who writes, which tells what a definition redefines, and who tells what the server can', () => {
  const reading = names.filter((name) => portsOfStage(name, 'iam').includes('packages')).toSorted()
  expect(reading).toEqual(['apply-fhirpath', 'bundle', 'capabilities', 'create', 'delete', 'patch', 'update', 'validate'])
})

it('Who evaluates what is sent with it reads the definitions of tenants, and no other resource', () => {
  const reads = (action: string, partition: string): boolean =>
    allowed(tokens.service, 'apply-fhirpath', { action, resource: ARNS.ResourceTable, context: { 'dynamodb:LeadingKeys': [partition] } })
  const definitions = ['default#StructureDefinition#a', 'default#ValueSet#a', 'acme#CodeSystem#a', 'default#TXN#a']
  for (const partition of definitions) expect([partition, reads('dynamodb:GetItem', partition)]).toEqual([partition, true])
  for (const partition of ['default#Patient#StructureDefinition', 'default#Basic#a', 'default#CFG', 'default#UNQ#a'])
    expect([partition, reads('dynamodb:GetItem', partition)]).toEqual([partition, false])
  for (const partition of ['default#CFG', 'default#CANONICAL#ValueSet#a']) expect(reads('dynamodb:Query', partition)).toBe(true)
  expect(reads('dynamodb:Query', 'default#Patient#c#0')).toBe(false)
  const bodies = ['overflow/default/ValueSet/a~1~b', 'overflow/default/Patient/a~1~b', 'queries/default/a']
  const isRead = (key: string) =>
    allowed(tokens.service, 'apply-fhirpath', { action: 's3:GetObject', resource: `${ARNS.DataBucket}/${key}` })
  expect(bodies.map(isRead)).toEqual([true, false, false])
})

describe('what is deployed, type by type and permission by permission', () => {
  it('what lasts', () => expect(digest(demo.data)).toMatchSnapshot())
  it('what runs', () => expect(digest(demo.service)).toMatchSnapshot())
  it('what runs and gives tokens', () => expect(digest(tokens.service)).toMatchSnapshot())
})
