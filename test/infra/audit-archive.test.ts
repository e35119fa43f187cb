/** The archive of audit records: what the setting adds to the stacks, and what a stage without it does not have. */
import { describe, expect, it, jest } from '@jest/globals'
import { S3AuditArchive, S3AuditArchiveReader } from '../../lambdas/adapters/s3/audit-archive.ts'
import { readAuditMinutes } from '../../lambdas/ports/security/audit-source.ts'
import { archiveStream } from '../../lambdas/runtime/aws/audit-archive.ts'
import { findReplacements } from '../../lib/deploy/replacement-check.ts'
import { mappingOf, pump, type StreamRecord } from '../cloud/pump.ts'
import { auditItemsOf, auditStreamRecord } from '../fixtures/audit-stream.ts'
import { collect } from '../fixtures/collect.ts'
import { createVersionedBucket } from '../fixtures/versioned-bucket.ts'
import { findingsOf, functionsOf, outputOf, resourcesOfType, type SynthesizedStacks, synthesizeStages, type Tree } from './assembly.ts'
import { ARNS, type IamContext, isFunctionAllowed } from './iam.ts'

const RESTORED = { resources: 'restored-1', state: 'state-1', former: 'made', epoch: 1, instant: '2031-01-01T03:00:00Z' }
const STAGES = {
  off: {},
  on: { auditArchiveYears: 6 },
  longer: { auditArchiveYears: 10 },
  ended: { auditArchiveYears: 0 },
  restored: { auditArchiveYears: 6, restored: RESTORED },
}
const stages = await synthesizeStages(STAGES)
const { off, on, longer, ended, restored } = stages

const bucketIn = ({ data }: SynthesizedStacks): Tree =>
  Object.entries<Tree>(data.Resources).find(([id]) => /^AuditBucket[0-9A-F]{8}$/.test(id))?.[1]
const stateTableIn = ({ data }: SynthesizedStacks): Tree =>
  Object.entries(resourcesOfType(data, 'AWS::DynamoDB::GlobalTable')).find(([id]) => id.startsWith('StateTable'))![1]
const mappingIn = ({ service }: SynthesizedStacks): Tree =>
  Object.entries<Tree>(service.Resources).find(([id, { Type }]) => Type === 'AWS::Lambda::EventSourceMapping' && /Archive/.test(id))?.[1]

const environmentOf = ({ service }: SynthesizedStacks, name: string): Tree => functionsOf(service)[name].Environment.Variables

describe('A stage without an archive', () => {
  it('has no bucket, stream, function and output for it', () => {
    expect([bucketIn(off), stateTableIn(off).StreamSpecification, mappingIn(off)]).toEqual([undefined, undefined, undefined])
    expect(Object.keys(functionsOf(off.service))).not.toContain('audit-archive')
    expect(JSON.stringify(off)).not.toMatch(/audit-?archive|audit-?bucket/i)
  })
})

describe('The bucket of the archive', () => {
  it('retains each version for the years of the setting, against every caller', () => {
    const { Properties, DeletionPolicy, UpdateReplacePolicy } = bucketIn(on)
    const ruleOf = (days: number) => ({ ObjectLockEnabled: 'Enabled', Rule: { DefaultRetention: { Mode: 'COMPLIANCE', Days: days } } })
    expect(Properties).toMatchObject({
      ObjectLockEnabled: true,
      ObjectLockConfiguration: ruleOf(6 * 366),
      VersioningConfiguration: { Status: 'Enabled' },
    })
    // A lifecycle rule would hide records whose retention was longer before the setting changed.
    expect(Properties.LifecycleConfiguration).toBeUndefined()
    expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['RetainExceptOnCreate', 'Retain'])
    expect(bucketIn(longer).Properties.ObjectLockConfiguration).toEqual(ruleOf(10 * 366))
  })

  it('is encrypted by the key of the stage, private, reached by TLS only and logged', () => {
    const { Properties } = bucketIn(on)
    const [encryption] = Properties.BucketEncryption.ServerSideEncryptionConfiguration
    expect(encryption).toMatchObject({ BucketKeyEnabled: true, ServerSideEncryptionByDefault: { SSEAlgorithm: 'aws:kms' } })
    expect(JSON.stringify(encryption)).toMatch(/"Fn::GetAtt":\["Key[0-9A-F]{8}","Arn"\]/)
    expect(Object.values(Properties.PublicAccessBlockConfiguration)).toEqual([true, true, true, true])
    expect(Properties.LoggingConfiguration).toMatchObject({ LogFilePrefix: 'audit-bucket/' })
    const policy = Object.entries(resourcesOfType(on.data, 'AWS::S3::BucketPolicy')).find(([id]) => id.startsWith('AuditBucket'))![1]
    expect(policy.PolicyDocument.Statement.map(({ Effect, Condition }: Tree) => [Effect, Condition])).toEqual([
      ['Deny', { Bool: { 'aws:SecureTransport': 'false' } }],
      ['Deny', { NumericLessThan: { 's3:TlsVersion': 1.2 } }],
    ])
  })

  it('gets audit records from audit-archive and disclosures from the functions of partners, and is read or changed by no function', () => {
    const names = Object.keys(functionsOf(on.service))
    const allowed = (action: string, resource: string) =>
      names.filter((name) => isFunctionAllowed(on.service, name, { action: `s3:${action}`, resource }))
    const record = `${ARNS.AuditBucket}/audit/2026-01-02/north/x.ndjson.gz`
    expect(names).toContain('audit-archive')
    expect(allowed('PutObject', record)).toEqual(['audit-archive'])
    const disclosure = `${ARNS.AuditBucket}/disclosures/north/2026-01-02/job.ndjson`
    const writers = ['export-step', 'member-match', 'token']
    expect(allowed('PutObject', disclosure).toSorted()).toEqual(writers)
    for (const name of writers) {
      expect(environmentOf(on, name).FHIR_AUDIT_BUCKET).toBeDefined()
      for (const stage of [off, ended]) expect(environmentOf(stage, name).FHIR_AUDIT_BUCKET).toBeUndefined()
    }
    expect(isFunctionAllowed(ended.service, 'export-step', { action: 's3:PutObject', resource: disclosure })).toBe(false)
    expect(allowed('PutObject', `${ARNS.AuditBucket}/elsewhere/x`)).toEqual([])
    const others = [
      'GetObject',
      'GetObjectVersion',
      'DeleteObject',
      'DeleteObjectVersion',
      'PutObjectRetention',
      'BypassGovernanceRetention',
    ]
    for (const action of others) expect([action, allowed(action, record)]).toEqual([action, []])
    for (const action of ['PutBucketPolicy', 'PutBucketObjectLockConfiguration', 'PutLifecycleConfiguration', 'ListBucket'])
      expect([action, allowed(action, ARNS.AuditBucket)]).toEqual([action, []])
  })

  it('is an output of the data stack, for the command that reads it', () =>
    expect(on.data.Outputs.AuditBucketName.Value).toEqual({ Ref: expect.stringMatching(/^AuditBucket/) }))
})

describe('The function of the archive', () => {
  it('gets records of the stream from Lambda, and may read neither the stream nor an item', () => {
    const may = (action: string, resource: string, context: IamContext = {}) =>
      isFunctionAllowed(on.service, 'audit-archive', { action, resource, context })
    const byCode = { 'lambda:SourceFunctionArn': 'arn:aws:lambda:us-east-1:000000000000:function:audit-archive' }
    for (const action of ['DescribeStream', 'GetRecords', 'GetShardIterator'])
      expect(may(`dynamodb:${action}`, `${ARNS.StateTable}/stream/1`, byCode)).toBe(false)
    expect(may('dynamodb:GetRecords', `${ARNS.StateTable}/stream/1`)).toBe(true)
    expect(may('dynamodb:GetRecords', `${ARNS.ResourceTable}/stream/1`)).toBe(false)
    for (const action of ['GetItem', 'Query', 'PutItem', 'BatchWriteItem']) expect(may(`dynamodb:${action}`, ARNS.StateTable)).toBe(false)
    expect(may('s3:PutObject', `${ARNS.DataBucket}/aws/lambda/1/shard/x`)).toBe(true)
    expect(may('s3:GetObject', `${ARNS.DataBucket}/aws/lambda/1/shard/x`)).toBe(false)
  })

  it('follows the new images of the state table in large batches, and loses none', () => {
    expect(stateTableIn(on).StreamSpecification).toEqual({ StreamViewType: 'NEW_IMAGE' })
    const { Properties } = mappingIn(on)
    expect(outputOf(on, Properties.EventSourceArn)).toEqual({
      'Fn::GetAtt': [expect.stringMatching(/^StateTable/), 'StreamArn'],
    })
    expect(Properties).toMatchObject({
      ...{ StartingPosition: 'TRIM_HORIZON', BatchSize: 10_000, MaximumBatchingWindowInSeconds: 300, MaximumRetryAttempts: -1 },
      ...{ BisectBatchOnFunctionError: true, MaximumRecordAgeInSeconds: 72_000, FunctionResponseTypes: ['ReportBatchItemFailures'] },
      DestinationConfig: { OnFailure: { Destination: expect.anything() } },
    })
  })

  it('receives written and overwritten audit records, and nothing else', async () => {
    const bucket = createVersionedBucket()
    const logged = jest.spyOn(console, 'error').mockReturnValue()
    bucket.failing.push(new Error('busy'))
    const record = { at: Date.UTC(2026, 0, 2), requestId: 'a', tenant: 'north', interaction: 'read', status: 200, duration: 3 }
    const [item] = await auditItemsOf([record])
    const other = auditStreamRecord({ pk: 'CLIENTS', sk: 'app', secret: 'x' })
    const records = [item!, { ...item!, status: 404 }].map((each, i) => auditStreamRecord(each, i === 0 ? 'INSERT' : 'MODIFY'))
    const reads = [[other, ...records, auditStreamRecord(item!, 'REMOVE')] as unknown as readonly StreamRecord[]]
    const received: StreamRecord[] = []
    const handler = archiveStream(new S3AuditArchive(bucket.client, 'b'))
    const { drain } = pump({
      mapping: mappingOf(mappingIn(on)),
      read: async () => reads.shift() ?? [],
      async invoke({ Records }) {
        received.push(...Records)
        return { result: JSON.stringify(await handler({ Records } as Parameters<typeof handler>[0])) }
      },
      onDiscarded: () => undefined,
      ...{ now: () => Date.UTC(2026, 0, 2, 12), backoff: 0 },
    })
    await drain()
    expect(logged).toHaveBeenCalledTimes(1)
    logged.mockRestore()
    expect(new Set(received)).toEqual(new Set(records))
    const period = { from: record.at, to: record.at + 1 }
    const found = await collect(readAuditMinutes([new S3AuditArchiveReader(bucket.client, 'b')], period, {}))
    expect(found.map(({ status }) => status)).toEqual([200, 404])
  })

  it('has alarms of its own', () => {
    const namesIn = ({ operation }: SynthesizedStacks): readonly string[] =>
      Object.values(resourcesOfType(operation, 'AWS::CloudWatch::Alarm')).flatMap(({ AlarmDescription, Dimensions }) =>
        JSON.stringify(Dimensions ?? '').includes('Archive') ? [/^\w+/.exec(AlarmDescription)![0]] : [],
      )
    expect(namesIn(on).toSorted()).toEqual([
      'ArchiveAge',
      'ArchiveDropped',
      'ArchiveErrors',
      'ArchiveErrors',
      'ArchiveNotFollowed',
      'ArchivePutAside',
    ])
    expect(namesIn(off)).toEqual([])
  })

  it('follows the stream that the adoption gives to a restored state table', () => {
    const adoptionOf = ({ service }: SynthesizedStacks): Tree => Object.values(resourcesOfType(service, 'Custom::FhirAdoptedTables'))[0]
    expect(adoptionOf(restored).StateStream).toBe('yes')
    const stream = { 'Fn::GetAtt': ['AdoptedTables', 'StateStreamArn'] }
    expect(mappingIn(restored).Properties.EventSourceArn).toEqual(stream)
    expect(JSON.stringify(restored.service)).toContain(`"Resource":${JSON.stringify(stream)}`)
  })
})

describe('The setting auditArchiveYears', () => {
  it('at 0 retains the bucket and its output, without new records', () => {
    const { ObjectLockEnabled, ObjectLockConfiguration } = bucketIn(ended).Properties
    expect([ObjectLockEnabled, ObjectLockConfiguration]).toEqual([true, undefined])
    expect(ended.data.Outputs.AuditBucketName).toBeDefined()
    expect([stateTableIn(ended).StreamSpecification, mappingIn(ended)]).toEqual([undefined, undefined])
  })

  it.each<[string, SynthesizedStacks, SynthesizedStacks]>([
    ['from none', off, on],
    ['to more years', on, longer],
    ['to 0', on, ended],
  ])('changes %s without replacing resources or removing imported outputs', (_, before, after) => {
    expect(findReplacements(before.data, after.data)).toEqual([])
    expect(findReplacements(before.service, after.service)).toEqual([])
    expectImports(before, after)
  })

  // Without its settings file, a deployment would leave the archive out.
  it('is reported before a deployment if it is removed', () => {
    const line = expect.stringMatching(/^AuditBucket\w+: WILL_ORPHAN: set auditArchiveYears to 0 instead of removing it$/)
    expect(findReplacements(on.data, off.data)).toEqual([line])
    expectImports(on, off)
  })

  it('creates the tables, which resist deletion, after the bucket', () => {
    const bucketId = Object.keys(on.data.Resources).find((id) => /^AuditBucket[0-9A-F]{8}$/.test(id))
    for (const { Type, DependsOn } of Object.values<Tree>(on.data.Resources))
      if (Type === 'AWS::DynamoDB::GlobalTable') expect(DependsOn).toContain(bucketId)
  })

  it('adds only accepted findings of cdk-nag', async () => {
    const { on, restored } = await findingsOf({ on: STAGES.on, restored: STAGES.restored })
    expect([on, restored]).toEqual([[], []])
  })
})

/** Expects that the data stack, which is updated first, still exports what the previous service stack imports. */
function expectImports(before: SynthesizedStacks, after: SynthesizedStacks): void {
  const exported = Object.values<Tree>(after.data.Outputs).flatMap(({ Export }) => Export?.Name ?? [])
  const imported = [...JSON.stringify(before.service).matchAll(/"Fn::ImportValue":"([^"]+)"/g)].map(([, name]) => name)
  expect(imported.length).toBeGreaterThan(20)
  expect(exported).toEqual(expect.arrayContaining(imported))
}
