/** A restored table gets the settings that a restore drops: with a double as slow as DynamoDB, and on an emulator. */
import {
  CreateTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { mockClient } from 'aws-sdk-client-mock'
import { adoptTable, type TableRequirements } from '../../../lambdas/adapters/dynamodb/stream/restored-table.ts'
import { TABLE_DEFINITION } from '../../../lambdas/adapters/dynamodb/table-keys.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

const KEY = 'arn:aws:kms:us-east-1:111111111111:key/1'
const STREAM = 'arn:aws:dynamodb:us-east-1:111111111111:table/restored/stream/1'
const WANTED: TableRequirements = { name: 'restored', key: KEY, isFollowed: true }
const STATE: TableRequirements = { name: 'restored', key: KEY, isFollowed: false }

/** A table as DynamoDB restores it. */
const RESTORED: TableDescription = {
  TableStatus: 'ACTIVE',
  KeySchema: [...TABLE_DEFINITION.KeySchema] as NonNullable<TableDescription['KeySchema']>,
  GlobalSecondaryIndexes: TABLE_DEFINITION.GlobalSecondaryIndexes as NonNullable<TableDescription['GlobalSecondaryIndexes']>,
  SSEDescription: { Status: 'ENABLED', SSEType: 'KMS', KMSMasterKeyArn: KEY },
}

const INSTANT = Date.parse('2031-01-01T03:00:00Z')
const ORIGIN = {
  SourceTableArn: 'arn:aws:dynamodb:us-east-1:111111111111:table/before',
  RestoreDateTime: new Date(INSTANT),
  RestoreInProgress: false,
}

const failing = (name: string): Error => Object.assign(new Error(name), { name })

/** A table that accepts one change at a time and is UPDATING for one read after each. `expires`: attribute of its expiry. */
function tableOf(
  described: TableDescription,
  { expires, noBackupsYet = 0, isCreated = true }: { expires?: string; noBackupsYet?: number; isCreated?: boolean } = {},
) {
  const mock = mockClient(DynamoDBClient)
  const made: object[] = []
  let [table, isChanging, isRecoverable, expiry] = [described, !isCreated, false, expires]
  mock.on(DescribeTableCommand).callsFake(async () => {
    const Table = isChanging ? { ...table, TableStatus: 'UPDATING' } : table
    isChanging = false
    return { Table }
  })
  mock.on(UpdateTableCommand).callsFake(async ({ TableName: _, ...change }) => {
    if (isChanging || Object.keys(change).length !== 1) throw failing('ResourceInUseException')
    made.push(change)
    const { GlobalSecondaryIndexUpdates, ...ofTable } = change
    const { IndexName: updated, WarmThroughput } = GlobalSecondaryIndexUpdates?.[0].Update ?? {}
    const GlobalSecondaryIndexes = table.GlobalSecondaryIndexes?.map((each) =>
      each.IndexName === updated ? { ...each, WarmThroughput } : each,
    )
    table = {
      ...table,
      ...ofTable,
      ...(updated === undefined ? {} : { GlobalSecondaryIndexes }),
      ...(change.StreamSpecification === undefined ? {} : { LatestStreamArn: STREAM }),
    }
    isChanging = true
    return {}
  })
  mock.on(DescribeTimeToLiveCommand).callsFake(async () => ({
    TimeToLiveDescription:
      expiry === undefined ? { TimeToLiveStatus: 'DISABLED' } : { TimeToLiveStatus: 'ENABLING', AttributeName: expiry },
  }))
  mock.on(UpdateTimeToLiveCommand).callsFake(async ({ TimeToLiveSpecification }) => {
    if (expiry !== undefined) throw failing('ValidationException')
    expiry = TimeToLiveSpecification.AttributeName
    made.push(TimeToLiveSpecification)
    return {}
  })
  mock.on(DescribeContinuousBackupsCommand).callsFake(async () => ({
    ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: isRecoverable ? 'ENABLED' : 'DISABLED' } },
  }))
  let refusals = noBackupsYet
  mock.on(UpdateContinuousBackupsCommand).callsFake(async ({ PointInTimeRecoverySpecification }) => {
    if (refusals-- > 0) throw failing('ContinuousBackupsUnavailableException')
    isRecoverable = true
    made.push(PointInTimeRecoverySpecification)
    return {}
  })
  let pauses = 0
  const pause = async () => void pauses++
  const adopt = (wanted: TableRequirements) => adoptTable(wanted, { client: new DynamoDBClient({ region: 'us-east-1' }), pause })
  return { adopt, made, mock, pauses: () => pauses }
}

const STREAMED = { StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' } }
const PROTECTED = { DeletionProtectionEnabled: true }
const EXPIRING = { AttributeName: 'expires', Enabled: true }
const RECOVERABLE = { PointInTimeRecoveryEnabled: true }

describe('A restored table', () => {
  it('gets its stream, protection, expiry and recovery in order, and returns the stream', async () => {
    const { adopt, made, pauses } = tableOf(RESTORED)
    expect(await adopt(WANTED)).toBe(STREAM)
    expect(made).toEqual([STREAMED, PROTECTED, EXPIRING, RECOVERABLE])
    expect(pauses()).toBe(2)
  })

  it('gets a stream of new images if it is a state table with an archive', async () => {
    const { adopt, made } = tableOf(RESTORED)
    expect(await adopt({ ...STATE, isArchived: true })).toBe(STREAM)
    expect(made).toEqual([{ StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' } }, PROTECTED, EXPIRING, RECOVERABLE])
    await adopt({ ...STATE, isArchived: true })
    expect(made).toHaveLength(4)
  })

  it('is not changed by a second adoption', async () => {
    const { adopt, made } = tableOf(RESTORED)
    await adopt(WANTED)
    const before = [...made]
    expect(await adopt(WANTED)).toBe(STREAM)
    expect(made).toEqual(before)
  })

  it('has no stream and needs no index if it is the state table', async () => {
    const { GlobalSecondaryIndexes: _, ...plain } = RESTORED
    const { adopt, made } = tableOf(plain)
    expect(await adopt(STATE)).toBe('')
    expect(made).toEqual([PROTECTED, EXPIRING, RECOVERABLE])
  })

  it('gets the limits of the stage, and its warm throughput is never lowered', async () => {
    const units = { reads: 20_000, writes: 8_000 }
    const cold = tableOf({ ...RESTORED, WarmThroughput: { ReadUnitsPerSecond: 30_000, WriteUnitsPerSecond: 4_000 } })
    const wanted = { ...WANTED, most: units, warm: units, warmIndex: { reads: 12_000, writes: 8_000 } }
    await cold.adopt(wanted)
    expect(cold.made).toEqual([
      STREAMED,
      PROTECTED,
      { OnDemandThroughput: { MaxReadRequestUnits: 20_000, MaxWriteRequestUnits: 8_000 } },
      { WarmThroughput: { ReadUnitsPerSecond: 30_000, WriteUnitsPerSecond: 8_000 } },
      {
        GlobalSecondaryIndexUpdates: [
          { Update: { IndexName: 'gsi1', WarmThroughput: { ReadUnitsPerSecond: 12_000, WriteUnitsPerSecond: 8_000 } } },
        ],
      },
      EXPIRING,
      RECOVERABLE,
    ])
    const before = cold.made.length
    await cold.adopt(wanted)
    expect(cold.made).toHaveLength(before)
  })

  it('loses the maximum throughput of a stage that has none any more', async () => {
    const { adopt, made } = tableOf(RESTORED)
    await adopt({ ...WANTED, most: { reads: 12_000, writes: 4_000 } })
    const before = made.length
    await adopt(WANTED)
    expect(made.slice(before)).toEqual([{ OnDemandThroughput: { MaxReadRequestUnits: -1, MaxWriteRequestUnits: -1 } }])
    await adopt(WANTED)
    expect(made).toHaveLength(before + 1)
  })

  it('is awaited until its restore is done and its backups have started', async () => {
    const { adopt, made, pauses } = tableOf(RESTORED, { noBackupsYet: 3, isCreated: false })
    expect(await adopt(STATE)).toBe('')
    expect(made).toEqual([PROTECTED, EXPIRING, RECOVERABLE])
    expect(pauses()).toBe(1 + 1 + 3)
  })

  it('is awaited for a limited time: the deployment fails before its function is stopped', async () => {
    const { adopt, made, pauses } = tableOf({ ...RESTORED, TableStatus: 'CREATING' })
    await expect(adopt(WANTED)).rejects.toThrow('still being restored')
    expect(made).toEqual([])
    expect(pauses()).toBeLessThan(300)
  })

  it.each<[string, Partial<TableDescription>]>([
    ['has other keys', { KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }] }],
    ['has no index gsi1', { GlobalSecondaryIndexes: [] }],
    ['is not encrypted with the key of the stage', { SSEDescription: { KMSMasterKeyArn: `${KEY}2` } }],
    ['has a stream of another view', { StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' } }],
    ['was not restored from before', {}],
    ['was not restored from before', { RestoreSummary: { ...ORIGIN, SourceTableArn: `${ORIGIN.SourceTableArn}-2` } }],
    ['was restored to 2031-01-01T02:59:59.000Z', { RestoreSummary: { ...ORIGIN, RestoreDateTime: new Date(INSTANT - 1_000) } }],
  ])('is left unchanged if it %s', async (why, other) => {
    const { adopt, made } = tableOf({ ...RESTORED, ...other })
    await expect(adopt({ ...WANTED, former: { name: 'before', instant: INSTANT } })).rejects.toThrow(why)
    expect(made).toEqual([])
  })

  it('is adopted if restored from the previous table; without one its origin is ignored', async () => {
    const former = { name: 'before', instant: INSTANT }
    expect(await tableOf({ ...RESTORED, RestoreSummary: ORIGIN }).adopt({ ...WANTED, former })).toBe(STREAM)
    expect(await tableOf({ ...RESTORED, RestoreSummary: ORIGIN }).adopt(WANTED)).toBe(STREAM)
  })

  it('is not adopted if it expires items by another attribute', async () => {
    const { adopt, made } = tableOf(RESTORED, { expires: 'other' })
    await expect(adopt(WANTED)).rejects.toThrow('ValidationException')
    expect(made).not.toContainEqual(RECOVERABLE)
  })

  it('is not adopted if backups fail for another reason', async () => {
    const { adopt, mock } = tableOf(RESTORED)
    mock.on(UpdateContinuousBackupsCommand).rejects(failing('AccessDeniedException'))
    await expect(adopt(WANTED)).rejects.toThrow('AccessDeniedException')
  })
})

await runOnDynamo(async (engine) => {
  afterAll(() => engine.stop())

  /** Answers in place of the emulator: the encryption key of a table, and recovery. */
  function withoutWhatIsUnknown(): DynamoDBClient {
    let status = 'DISABLED'
    const send = async (command: object) => {
      if (command instanceof DescribeContinuousBackupsCommand)
        return { ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: status } } }
      if (command instanceof UpdateContinuousBackupsCommand) {
        status = 'ENABLED'
        return {}
      }
      const answer = (await engine.client.send(command as never)) as { readonly Table?: TableDescription }
      return answer.Table === undefined ? answer : { ...answer, Table: { ...answer.Table, SSEDescription: { KMSMasterKeyArn: KEY } } }
    }
    return { send } as unknown as DynamoDBClient
  }

  it('An adopted table of an emulator has a stream, protection and expiry, and stays adopted', async () => {
    const name = `restored-${crypto.randomUUID()}`
    await engine.client.send(new CreateTableCommand({ TableName: name, ...TABLE_DEFINITION }) as never)
    const client = withoutWhatIsUnknown()
    const arn = await adoptTable({ ...WANTED, name }, { client })
    const { Table } = await client.send(new DescribeTableCommand({ TableName: name }))
    expect([arn, Table?.StreamSpecification]).toEqual([Table?.LatestStreamArn, STREAMED.StreamSpecification])
    expect(arn).toContain(`table/${name}/stream/`)
    expect(Table?.DeletionProtectionEnabled).toBe(true)
    const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: name }))
    expect(TimeToLiveDescription).toMatchObject({ AttributeName: 'expires', TimeToLiveStatus: expect.stringMatching(/^ENABL/) })
    expect(await adoptTable({ ...WANTED, name }, { client })).toBe(arn)
  })
})
