/** Storage and delivery of export files: the bucket, its keys, CloudFront. */
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { fileKeyOf } from '../../lambdas/export/job/job.ts'
import { functionsOfStage } from '../../lambdas/functions/functions.ts'
import { settingsOf } from '../../lib/settings/settings.ts'
import { findingsOf, functionsOf, outputOf, resourcesOfType, type SynthesizedStacks, synthesizeStages, type Tree } from './assembly.ts'
import { ARNS, isFunctionAllowed } from './iam.ts'

const OTHERS = [
  {
    issuer: 'https://auth.example.org/realms/a',
    audience: 'https://fhir.example.org/fhir',
    jwksUri: 'https://auth.example.org/keys',
    tenants: ['default'],
    scopes: 'system/*.rs',
    claims: { client: 'azp' },
  },
]

const LAKE_KEY = 'arn:aws:kms:us-east-1:222222222222:key/1b2c'

const SCHEDULED = [
  { name: 'nightly', schedule: 'cron(0 3 * * ? *)', client: 'etl', tenant: 'north', sinceLast: true, late: 30 },
  { name: 'lake', schedule: 'rate(1 day)', client: 'etl', tenant: 'north', bucket: 'lake', bucketKey: LAKE_KEY },
  { name: 'ward', schedule: 'rate(7 days)', client: 'etl', tenant: 'north', level: 'group', group: 'g-1', types: ['Patient'] },
] as const

const SECOND = { access: 'token', account: '111111111111', exportLinkKey: 2, exports: SCHEDULED, service: { tenancy: 'on' } } as const
const { first, second, third, named, local } = await synthesizeStages({
  first: { access: 'token', account: '111111111111', service: { externalIssuers: JSON.stringify(OTHERS) } },
  second: SECOND,
  third: { access: 'iam', exportLinkKey: 3, service: { exportRetentionDays: 30 }, concurrency: { 'export-step': 40 } },
  named: {
    baseUrl: 'https://proxy.example.org/fhir',
    customDomain: {
      name: 'fhir.example.org',
      certificateArn: 'arn:aws:acm:us-east-1:111111111111:certificate/1',
      hostedZone: { id: 'Z1', name: 'example.org' },
    },
  },
  local: { access: 'open', baseUrl: 'http://127.0.0.1:8080/fhir', search: { endpoint: 'http://127.0.0.1:9200' } },
})

const findings = await findingsOf({ second: SECOND })

const only = (template: Tree, type: string): Tree => {
  const [one, ...others] = Object.values(resourcesOfType(template, type))
  expect(others).toEqual([])
  return one
}
const distributionOf = ({ service }: { readonly service: Tree }): Tree => only(service, 'AWS::CloudFront::Distribution').DistributionConfig
const idsOf = (template: Tree, type: string): readonly string[] => Object.keys(resourcesOfType(template, type))

describe('the rules for additional resources in exports', () => {
  it('are a setting of the stage, and are checked', () => {
    const rule = { allowedForGroupExport: true, allowedForPatientExport: false, path: '$.subject.reference', resourceTypes: ['Location'] }
    expect(settingsOf({ exportAdditionalResources: { Observation: [rule] } }).exportAdditionalResources).toEqual({ Observation: [rule] })
    expect(() => settingsOf({ exportAdditionalResources: { Observation: [{ ...rule, path: 'subject' }] } })).toThrow(
      'exportAdditionalResources.Observation[0].path is no JSONPath',
    )
    expect(() => settingsOf({ service: { exportAdditionalResources: 'rules.json' } })).toThrow(
      '"exportAdditionalResources" must be set outside "service"',
    )
  })
})

describe('the bucket of export files', () => {
  const bucket = only(first.service, 'AWS::S3::Bucket')

  it('is private, encrypted with the key of the stage, and has no versions', () => {
    expect(Object.values(bucket.PublicAccessBlockConfiguration)).toEqual([true, true, true, true])
    const { ServerSideEncryptionByDefault: encryption } = bucket.BucketEncryption.ServerSideEncryptionConfiguration[0]
    expect([encryption.SSEAlgorithm, JSON.stringify(encryption.KMSMasterKeyID)]).toEqual([
      'aws:kms',
      expect.stringContaining('ImportValue'),
    ])
    expect(bucket.VersioningConfiguration).toBeUndefined()
  })

  it.each([
    ['10 days, by default', first, 25],
    ['30 days', third, 45],
  ])('deletes files only after all links to them expired: retention %s', (_, { service }, ExpirationInDays) =>
    expect(only(service, 'AWS::S3::Bucket').LifecycleConfiguration.Rules).toEqual([
      { Status: 'Enabled', ExpirationInDays, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 } },
    ]),
  )

  it('is read by the distribution of the stage only, over TLS', () => {
    const statements: Tree[] = only(first.service, 'AWS::S3::BucketPolicy').PolicyDocument.Statement
    const allowing = statements.filter(({ Effect }) => Effect === 'Allow')
    expect(allowing.map(({ Action, Principal }) => [Action, Principal])).toEqual([
      ['s3:GetObject', { Service: 'cloudfront.amazonaws.com' }],
    ])
    const [id] = idsOf(first.service, 'AWS::CloudFront::Distribution')
    expect(JSON.stringify(allowing[0]!.Condition.StringEquals['AWS:SourceArn'])).toContain(`:distribution/",{"Ref":"${id}"}`)
    const denied = statements.filter(({ Effect }) => Effect === 'Deny').map(({ Condition }) => Condition)
    expect(denied).toContainEqual({ Bool: { 'aws:SecureTransport': 'false' } })
  })

  it('is decrypted for any distribution of the account', () => {
    const statements: Tree[] = only(first.data, 'AWS::KMS::Key').KeyPolicy.Statement
    const found = statements.filter(({ Principal }) => Principal.Service === 'cloudfront.amazonaws.com')
    expect(found.map(({ Action, Condition }) => [Action, JSON.stringify(Condition)])).toEqual([
      ['kms:Decrypt', expect.stringMatching(/ArnLike.*aws:SourceArn.*cloudfront::111111111111:distribution\/\*/)],
    ])
  })
})

describe('links', () => {
  it('are verified on the paths of files only', () => {
    const { CacheBehaviors, DefaultCacheBehavior, Origins } = distributionOf(first)
    expect(DefaultCacheBehavior.TrustedKeyGroups).toBeUndefined()
    const [files, ...others] = CacheBehaviors as Tree[]
    expect(others).toEqual([])
    expect(files).toMatchObject({
      AllowedMethods: ['GET', 'HEAD'],
      // AWS's own: Managed-CachingDisabled.
      CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
      ViewerProtocolPolicy: 'https-only',
      TrustedKeyGroups: [{ Ref: idsOf(first.service, 'AWS::CloudFront::KeyGroup')[0] }],
    })
    const pattern = new RegExp(`^${String(files!.PathPattern).replaceAll('*', '.*')}$`)
    expect(pattern.test(`/${fileKeyOf('job', 'Patient')}`)).toBe(true)
    for (const path of ['/exports/job/tails/1', '/fhir/export/job', '/exports/']) expect([path, pattern.test(path)]).toEqual([path, false])
    const origin = Origins.find(({ Id }: Tree) => Id === files!.TargetOriginId)
    expect(origin.OriginPath ?? '').toBe('')
    const control = only(first.service, 'AWS::CloudFront::OriginAccessControl').OriginAccessControlConfig
    expect(control).toMatchObject({ OriginAccessControlOriginType: 's3', SigningBehavior: 'always', SigningProtocol: 'sigv4' })
  })

  it('are signed with KMS keys, and a function passes public keys to CloudFront', () => {
    const linkKeys = Object.entries(resourcesOfType(first.service, 'AWS::KMS::Key'))
    expect(linkKeys.map(([, { KeySpec, KeyUsage }]) => [KeySpec, KeyUsage])).toEqual([['RSA_2048', 'SIGN_VERIFY']])
    const [linkKey] = Object.entries(resourcesOfType(first.service, 'Custom::FhirLinkKey'))
    expect(linkKey![1].KeyId).toEqual({ Ref: linkKeys[0]![0] })
    const { EncodedKey } = only(first.service, 'AWS::CloudFront::PublicKey').PublicKeyConfig
    expect(EncodedKey).toEqual({ 'Fn::GetAtt': [linkKey![0], 'Pem'] })
    const key = { resource: ARNS.ExportsLinkKey1 }
    expect(isFunctionAllowed(first.service, 'link-key', { action: 'kms:GetPublicKey', ...key })).toBe(true)
    expect(isFunctionAllowed(first.service, 'link-key', { action: 'kms:Sign', ...key })).toBe(false)
  })

  it('get a new key by the setting, and the previous key stays valid', () => {
    const numbers = (stacks: typeof first): readonly string[] =>
      idsOf(stacks.service, 'AWS::CloudFront::PublicKey').map((id) => /(\d)[\dA-F]{8}$/.exec(id)![1]!)
    expect([first, second, third].map(numbers)).toEqual([['1'], ['2', '1'], ['3', '2']])
    const { Items } = only(second.service, 'AWS::CloudFront::KeyGroup').KeyGroupConfig
    expect(Items.map(({ Ref }: Tree) => Ref)).toEqual(idsOf(second.service, 'AWS::CloudFront::PublicKey'))
    for (const exportLinkKey of [0, 1.5])
      expect(() => settingsOf({ exportLinkKey })).toThrow('exportLinkKey must be a whole number from 1 on')
  })
})

describe('a stage with exports', () => {
  const names = functionsOfStage('token')
  const functionsAllowed = (action: string, resource: string, context?: Record<string, string[]>) =>
    names.filter((name) => isFunctionAllowed(first.service, name, { action, resource, ...(context && { context }) })).sort()
  const rows = (action: string, key: string) => functionsAllowed(`dynamodb:${action}`, ARNS.StateTable, { 'dynamodb:LeadingKeys': [key] })
  const WORKERS = ['export-step', 'export-sweep']
  const ALL = ['export', 'export-cancel', 'export-schedule', 'export-status', 'member-match', ...WORKERS].sort()

  it('lets only export functions access jobs, and only writers change segments', () => {
    for (const action of ['GetItem', 'PutItem']) expect([action, rows(action, 'exports')]).toEqual([action, ALL])
    expect(rows('Query', 'exports')).toEqual([...WORKERS, 'export-status'].sort())
    expect(rows('Query', 'exports/job/segments')).toEqual(ALL)
    for (const action of ['PutItem', 'BatchWriteItem']) expect([action, rows(action, 'exports/job/segments')]).toEqual([action, WORKERS])
    for (const action of ['GetItem', 'PutItem']) expect([action, rows(action, 'exports/job/patients')]).toEqual([action, ALL])
    for (const key of ['exportsx', 'export-clients/x']) expect([key, rows('PutItem', key)]).toEqual([key, []])
  })

  it('lets only writers read and write files', () => {
    const file = `${ARNS.ExportsBucket}/exports/job/files/Patient.ndjson`
    for (const action of ['s3:GetObject', 's3:PutObject', 's3:AbortMultipartUpload'])
      expect([action, functionsAllowed(action, file)]).toEqual([action, WORKERS])
    expect(functionsAllowed('s3:DeleteObject', file)).toEqual(['export-cancel', ...WORKERS])
    expect(functionsAllowed('s3:ListBucket', ARNS.ExportsBucket)).toEqual(WORKERS)
    for (const action of ['s3:GetObject', 's3:PutObject'])
      expect([action, functionsAllowed(action, `${ARNS.ExportsBucket}/other`)]).toEqual([action, []])
  })

  it('starts exports by kick-off, stops them by cancel, and both by sweep', () => {
    expect(functionsAllowed('states:StartExecution', ARNS.ExportingMachine)).toEqual([
      'export',
      'export-schedule',
      'export-sweep',
      'member-match',
    ])
    const executionOf = (machine: string) =>
      `${machine.replace(':stateMachine:', ':execution:').replace('000000000000', '111111111111')}:job-1`
    const execution = executionOf(ARNS.ExportingMachine)
    expect(functionsAllowed('states:StopExecution', execution)).toEqual(['export-cancel', 'export-sweep'])
    expect(functionsAllowed('states:DescribeExecution', execution)).toEqual(['export-sweep'])
    for (const action of ['states:StopExecution', 'states:DescribeExecution', 'states:StartExecution'])
      expect([action, functionsAllowed(action, executionOf(ARNS.RebuildMachine))]).toEqual([action, []])
  })

  it('signs links in the status function, with the newest key only', () => {
    const signers = (number: 1 | 2) =>
      names.filter((name) => isFunctionAllowed(second.service, name, { action: 'kms:Sign', resource: ARNS[`ExportsLinkKey${number}`] }))
    expect([signers(2), signers(1)]).toEqual([['export-status'], []])
    const { Environment } = functionsOf(second.service)['export-status']!
    const { FHIR_LINK_KEY, FHIR_LINK_KEY_PAIR } = Environment.Variables
    expect([FHIR_LINK_KEY.Ref, FHIR_LINK_KEY_PAIR.Ref]).toEqual([
      expect.stringMatching(/^ExportsLinkKey2/),
      expect.stringMatching(/^ExportsPublicKey2/),
    ])
  })

  it('gives writers 15 minutes per step, one processor and the configured concurrency', () => {
    const writer = functionsOf(first.service)['export-step']!
    expect([writer.Timeout, writer.MemorySize, writer.ReservedConcurrentExecutions]).toEqual([900, 1_769, undefined])
    // Requests keep the executions that no export can take.
    const reserved = Object.entries(functionsOf(third.service)).map(([name, { ReservedConcurrentExecutions: count }]) => [name, count])
    expect(reserved.filter(([, count]) => count !== undefined)).toEqual([['export-step', 40]])
  })
})

describe('scheduled exports', () => {
  /** Rules of all stacks, with targets in terms of the service stack. */
  const rulesOf = (stacks: SynthesizedStacks): readonly Tree[] =>
    [stacks.service, stacks.operation]
      .flatMap(({ Resources }) => Object.values<Tree>(Resources))
      .flatMap(({ Type, Properties }) => (Type === 'AWS::Events::Rule' ? [Properties] : []))
      .map(({ Targets: [{ Arn, ...target }, ...others], ...rule }) => ({
        ...rule,
        Targets: [{ ...target, Arn: 'Fn::GetStackOutput' in Arn ? outputOf(stacks, Arn) : Arn }, ...others],
      }))
  const rules = rulesOf(second).filter(({ Description }) => Description.startsWith('Begins'))
  const idOf = (name: string): string =>
    Object.entries(resourcesOfType(second.service, 'AWS::Lambda::Function')).find(([, { Handler }]) => Handler === `${name}.handler`)![0]

  it('are started by rules that pass parameters, client and due time', () => {
    expect(rules.map(({ ScheduleExpression }) => ScheduleExpression)).toEqual(['cron(0 3 * * ? *)', 'rate(1 day)', 'rate(7 days)'])
    for (const { Targets, State } of rules) {
      expect([State, Targets.length, Targets[0].Arn]).toEqual(['ENABLED', 1, { 'Fn::GetAtt': [idOf('export-schedule'), 'Arn'] }])
      expect(Targets[0].InputTransformer.InputPathsMap).toEqual({ time: '$.time' })
    }
    const inputs = rules.map(({ Targets }) => JSON.parse(Targets[0].InputTransformer.InputTemplate.replace('<time>', '"<time>"')))
    expect(inputs).toEqual([
      { schedule: { name: 'nightly', client: 'etl', tenant: 'north', level: 'system', sinceLast: true }, time: '<time>' },
      { schedule: { name: 'lake', client: 'etl', tenant: 'north', level: 'system', bucket: 'lake' }, time: '<time>' },
      { schedule: { name: 'ward', client: 'etl', tenant: 'north', level: 'group', group: 'g-1', types: ['Patient'] }, time: '<time>' },
    ])
  })

  it('are permitted by one permission for each function, whatever the number of rules', () => {
    const permitted = Object.values(resourcesOfType(second.service, 'AWS::Lambda::Permission')).filter(
      ({ SourceArn }) => SourceArn === 'arn:aws:events:us-east-1:111111111111:rule/fhir-*',
    )
    expect(permitted).toEqual(
      ['export-sweep', 'export-schedule'].map((name) => ({
        ...{ Action: 'lambda:InvokeFunction', Principal: 'events.amazonaws.com', SourceArn: expect.any(String) },
        FunctionName: { 'Fn::GetAtt': [idOf(name), 'Arn'] },
      })),
    )
    expect(JSON.stringify(second.operation)).not.toContain('AWS::Lambda::Permission')
    expect(JSON.stringify(first.service)).not.toContain(':rule/fhir-*')
  })

  const sweptBy = (stacks: SynthesizedStacks): readonly Tree[] =>
    rulesOf(stacks).flatMap(({ Targets, ScheduleExpression }) => {
      const { Arn, Input } = Targets[0]
      return Arn['Fn::GetAtt'][0].startsWith('ExportSweep') ? [{ ...JSON.parse(Input), every: ScheduleExpression }] : []
    })

  it('are monitored by a sweep that gets their maximum delay and bucket', () => {
    const schedules = [
      { name: 'nightly', late: 30 * 3_600_000 },
      { name: 'lake', late: 48 * 3_600_000, bucket: 'lake' },
      { name: 'ward', late: 14 * 24 * 3_600_000 },
    ]
    expect(sweptBy(second).toSorted((a, b) => (a.sweep < b.sweep ? -1 : 1))).toEqual([
      { sweep: 'copies', schedules, every: 'rate(1 minute)' },
      { sweep: 'expired', schedules: ['nightly', 'lake', 'ward'], every: 'rate(1 hour)' },
      { sweep: 'jobs', every: 'rate(1 minute)' },
      { sweep: 'schedules', schedules, every: 'rate(5 minutes)' },
    ])
    expect(sweptBy(first).map(({ sweep, schedules }) => [sweep, schedules])).toEqual([
      ['jobs', undefined],
      ['expired', []],
    ])
    expect(sweptBy(third).map(({ schedules }) => schedules)).toEqual([undefined, undefined])
  })

  it('write only below tenant and name in their bucket, and read nothing', () => {
    const sweeper = (call: { action: string; resource: string; context?: Record<string, string> }) =>
      isFunctionAllowed(second.service, 'export-sweep', call)
    const below = 'arn:aws:s3:::lake/north/lake/20310101T030000.000Z/Patient.ndjson'
    for (const action of ['s3:PutObject', 's3:AbortMultipartUpload']) {
      expect([action, sweeper({ action, resource: below })]).toEqual([action, true])
      for (const other of ['arn:aws:s3:::lake/north/nightly/a', 'arn:aws:s3:::lake/south/lake/a', 'arn:aws:s3:::pond/north/lake/a'])
        expect([action, other, sweeper({ action, resource: other })]).toEqual([action, other, false])
      const others = functionsOfStage('token').filter((name) => isFunctionAllowed(second.service, name, { action, resource: below }))
      expect(others).toEqual(['export-sweep'])
    }
    for (const action of ['s3:GetObject', 's3:DeleteObject'])
      expect([action, sweeper({ action, resource: below })]).toEqual([action, false])
    const byS3 = { context: { 'kms:ViaService': 's3.us-east-1.amazonaws.com' } }
    expect(sweeper({ action: 'kms:GenerateDataKey', resource: LAKE_KEY, ...byS3 })).toBe(true)
    expect(sweeper({ action: 'kms:GenerateDataKey', resource: LAKE_KEY })).toBe(false)
    expect(findings.second).toEqual([])
    expect(JSON.stringify([first.service, first.operation])).not.toMatch(/s3:::|"rate\(1 minute\)".*copies/)
  })

  it('set off an alarm if one failed, did not start or is late', () => {
    const alarms = Object.values(resourcesOfType(second.operation, 'AWS::CloudWatch::Alarm')).filter(({ AlarmDescription }) =>
      AlarmDescription.startsWith('ScheduledExport'),
    )
    expect(alarms.map(({ Namespace, MetricName, Threshold }) => [Namespace, MetricName, Threshold])).toEqual([
      ['FHIR', 'ScheduledExportsFailed', 0],
      ['AWS/Lambda', 'Errors', 0],
      ['FHIR', 'ScheduledExportsLate', 0],
    ])
    const [{ Name, Value }] = alarms[1]!.Dimensions
    expect([Name, outputOf(second, Value)]).toEqual(['FunctionName', { Ref: idOf('export-schedule') }])
  })

  it('have rows that only their starter and the sweep access, with tokens only', () => {
    const may = (stacks: typeof first, access: string, action: string) =>
      functionsOfStage(access)
        .filter((name) =>
          isFunctionAllowed(stacks.service, name, {
            action: `dynamodb:${action}`,
            resource: ARNS.StateTable,
            context: { 'dynamodb:LeadingKeys': ['export-schedules'] },
          }),
        )
        .sort()
    for (const action of ['GetItem', 'PutItem'])
      expect([action, may(second, 'token', action), may(third, 'iam', action)]).toEqual([action, ['export-schedule', 'export-sweep'], []])
    for (const action of ['Query', 'BatchWriteItem'])
      expect([action, may(second, 'token', action), may(third, 'iam', action)]).toEqual([action, ['export-sweep'], []])
    expect(may(second, 'token', 'DeleteItem')).toEqual([])
  })

  it.each<[string, object, string]>([
    ['exports[0].name', { name: 'a b' }, 'must have 1 to 40 characters'],
    ['exports[0].schedule', { schedule: 'rate(1 days)' }, 'must be an expression such as rate(1 day)'],
    ['exports[0].schedule', { schedule: 'cron(0 3 * * ?)' }, 'must be an expression such as rate(1 day)'],
    ['exports[0].client', { client: undefined }, 'must be the id of a registered client'],
    ['exports[0].tenant', { tenant: undefined }, 'is missing'],
    ['exports[0].tenant', { tenant: '*' }, 'must be the name of a tenant'],
    ['exports[0].level', { level: 'ward' }, 'must be system, patient or group'],
    ['exports[0].group', { level: 'group' }, 'must be the id of a Group'],
    ['exports[0].group', { group: 'g-1' }, 'requires the level group'],
    ['exports[0].types', { types: ['Patient', 'Nothing'] }, 'must be a list of resource types'],
    ['exports[0].types', { types: [] }, 'must be a list of resource types'],
    ['exports[0].sinceLast', { sinceLast: 'yes' }, 'must be true or false'],
    ['exports[0].late', { late: 0 }, 'must be a number of hours'],
    ['exports[0].late', { late: undefined }, 'is missing: a cron schedule requires'],
    ['exports[0].bucket', { bucket: 's3://lake' }, 'must be the name of an S3 bucket'],
    ['exports[0].bucketKey', { bucket: 'lake', bucketKey: '1b2c' }, 'must be the ARN of a KMS key'],
    ['exports[0].bucketKey', { bucketKey: LAKE_KEY }, 'requires bucket'],
    ['exports[0].prefix', { prefix: 'a' }, 'is not a setting. Accepted: name, schedule'],
  ])('are rejected with a wrong %s: %j', (field, invalid, message) => {
    const settings = { access: 'token', service: { tenancy: 'on' }, exports: [{ ...SCHEDULED[0], ...invalid }] } as const
    expect(() => settingsOf(settings)).toThrow(field)
    expect(() => settingsOf(settings)).toThrow(message)
  })

  it('are rejected with duplicate names, unknown tenants or without clients', () => {
    const settings = { access: 'token', service: { tenancy: 'on' }, exports: [SCHEDULED[0], SCHEDULED[0]] } as const
    expect(() => settingsOf(settings)).toThrow('exports[1].name "nightly" is already the name of another export')
    expect(() => settingsOf({ ...settings, exports: [null as never] })).toThrow('exports[0] must be an object')
    expect(() => settingsOf({ ...settings, exports: {} as never })).toThrow('exports must be a list of at most 50')
    expect(() => settingsOf({ access: 'token', exports: SCHEDULED })).toThrow('exports[0].tenant must be "default" with tenancy "off"')
    expect(() => settingsOf({ access: 'iam', exports: SCHEDULED })).toThrow('exports require access "token", not "iam"')
  })
})

describe('a request for an export file', () => {
  const code = Object.entries(resourcesOfType(first.service, 'AWS::CloudFront::Function')).find(([id]) => id.startsWith('Exports'))![1]
    .FunctionCode
  const uri = '/exports/job/files/Patient.ndjson'
  const viewerRequest = (authorization: string | undefined, querystring: object): Tree => {
    const headers = authorization === undefined ? {} : { authorization: { value: authorization } }
    return runInNewContext(`${code}; handler(event)`, { event: { request: { uri, querystring, headers } }, Buffer })
  }
  const encoded = (claims: object): string => Buffer.from(JSON.stringify(claims)).toString('base64url')
  const bearer = (claims: object): string => `Bearer ${encoded({ alg: 'RS256' })}.${encoded(claims)}.sig`
  const client = (value: string) => ({ client: { value } })

  it.each<[string, string | undefined, string]>([
    ['no token', undefined, 'a'],
    ['credentials of another kind', 'AWS4-HMAC-SHA256 Credential=x', 'a'],
    ['its own token', bearer({ client_id: 'a' }), 'a'],
    ['its own token, with a lower-case scheme', bearer({ client_id: 'a' }).replace('Bearer', 'bearer '), 'a'],
    ['a token of another issuer', bearer({ iss: OTHERS[0]!.issuer, azp: 'app', client_id: 'b' }), 'app%40auth.example.org%2Frealms%2Fa'],
    ['a token of any user', bearer({ client_id: 'a', sub: 'u-1' }), 'a'],
  ])('gets the file with %s', (_, authorization, id) => expect(viewerRequest(authorization, client(id))).toMatchObject({ uri }))

  it('gets the file with the token of the user of the export', () => {
    const link = { ...client('a'), user: { value: 'u-1' } }
    for (const authorization of [undefined, bearer({ client_id: 'a', sub: 'u-1' })])
      expect(viewerRequest(authorization, link)).toMatchObject({ uri })
    const { issuer } = OTHERS[0]!
    const elsewhere = { client: { value: 'app%40auth.example.org%2Frealms%2Fa' }, user: { value: 'u-1%40auth.example.org%2Frealms%2Fa' } }
    expect(viewerRequest(bearer({ iss: issuer, azp: 'app', sub: 'u-1' }), elsewhere)).toMatchObject({ uri })
  })

  it.each<[string, string, object]>([
    ['a token of another user', bearer({ client_id: 'a', sub: 'u-2' }), { ...client('a'), user: { value: 'u-1' } }],
    ['a token without a user', bearer({ client_id: 'a' }), { ...client('a'), user: { value: 'undefined' } }],
    [
      'a token for a link with two users',
      bearer({ client_id: 'a', sub: 'u-1' }),
      { ...client('a'), user: { value: 'u-1', multiValue: [{ value: 'u-1' }, { value: 'u-2' }] } },
    ],
    ['a token of another client', bearer({ client_id: 'b' }), client('a')],
    ['a token without a client', bearer({}), client('undefined')],
    ['an invalid token', 'Bearer garbage', client('a')],
    ['a token of another issuer with an equal client id', bearer({ iss: OTHERS[0]!.issuer, azp: 'a', client_id: 'a' }), client('a')],
    ['a token for a link without a client', bearer({ client_id: 'a' }), {}],
    [
      'a token for a link with two clients',
      bearer({ client_id: 'a' }),
      { client: { value: 'a', multiValue: [{ value: 'a' }, { value: 'b' }] } },
    ],
  ])('returns 403 with %s', (_, authorization, querystring) => {
    const { statusCode, body } = viewerRequest(authorization, querystring)
    expect([statusCode, JSON.parse(body.data)]).toMatchObject([403, { resourceType: 'OperationOutcome', issue: [{ code: 'forbidden' }] }])
  })
})

describe('the address of export files', () => {
  it('is that of CloudFront whatever the base URL, except on stand-ins', () => {
    // The function that signs links uses this address.
    expect(named.service.Outputs.ExportOrigin.Value).toBe('https://fhir.example.org')
    expect(local.service.Outputs.ExportOrigin.Value).toBe('http://127.0.0.1:8080')
    expect(JSON.stringify(first.service.Outputs.ExportOrigin.Value)).toContain('DomainName')
  })
})
