/**
 * Prepares a table that DynamoDB restored. A restore omits the stream, the expiry of items, point-in-time recovery and deletion protection.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery.html
 */
import { setTimeout as wait } from 'node:timers/promises'
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type TableDescription,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
  type UpdateTableCommandInput,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import { EXPIRY_ATTRIBUTE, INDEX_NAME, TABLE_DEFINITION } from '../table-keys.ts'

export type CapacityUnits = { readonly reads: number; readonly writes: number }

export type TableRequirements = {
  readonly name: string
  /** ARN of the KMS key that must encrypt the table. Its readers have no permission for another key. */
  readonly key: string
  /** Whether this is the table of resources, which has an index and a stream that functions follow. */
  readonly isFollowed: boolean
  /** Maximum throughput in units per second, which limits costs. */
  readonly most?: CapacityUnits
  /** Throughput that the table accepts immediately, in units per second. */
  readonly warm?: CapacityUnits
  /**
   * Previous table, from which this one must have been restored. Its history since `instant` (milliseconds since 1970) shows the
   * differences.
   */
  readonly former?: { readonly name: string; readonly instant: number }
}

/** Maximum reads of the table's state. With a second between two reads, they end a minute before the function times out. */
const LOOKS = 240
const SECOND = 1_000
const VIEW = 'NEW_AND_OLD_IMAGES'

export type AdoptParts = { readonly client?: DynamoDBClient; readonly pause?: () => Promise<unknown> }

/**
 * Prepares the table and returns the ARN of its stream, or '' without one. It changes only settings that differ. Throws RangeError if the
 * server could not read or follow the table.
 */
export async function adoptTable(
  wanted: TableRequirements,
  { client = new DynamoDBClient(), pause = () => wait(SECOND) }: AdoptParts = {},
): Promise<string> {
  const TableName = wanted.name
  const patiently = patience(pause)
  const active = (): Promise<TableDescription> =>
    patiently(async () => {
      const { Table = {} } = await client.send(new DescribeTableCommand({ TableName }))
      return Table.TableStatus === 'ACTIVE' ? Table : undefined
    })
  const found = await active()
  const why = mismatchOf(found, wanted)
  if (why !== undefined) throw new RangeError(`The table ${TableName} ${why}`)
  // DynamoDB accepts one change at a time.
  for (const change of changesOf(found, wanted)) {
    await client.send(new UpdateTableCommand({ TableName, ...change }))
    await active()
  }
  await letExpire(client, TableName)
  await letRecover(client, TableName, patiently)
  return (await active()).LatestStreamArn ?? ''
}

type Patiently = <Found>(look: () => Promise<Found | undefined>) => Promise<Found>

/** Returns a function that repeats `look` while it returns undefined. All repetitions share one maximum. */
function patience(pause: () => Promise<unknown>): Patiently {
  let left = LOOKS
  return async (look) => {
    while (left-- > 0) {
      const found = await look()
      if (found !== undefined) return found
      await pause()
    }
    throw new Error('The table is not active: it is still being restored, or changed')
  }
}

/** Returns the reason why the table does not meet the requirements. */
export function mismatchOf(table: TableDescription, wanted: TableRequirements): string | undefined {
  if (!isSame(table.KeySchema, TABLE_DEFINITION.KeySchema)) return 'has other keys'
  // guard: adopted-table-key
  if (table.SSEDescription?.KMSMasterKeyArn !== wanted.key) return 'is not encrypted with the key of the stage'
  return wanted.isFollowed ? (unfollowable(table) ?? otherOrigin(table, wanted)) : undefined
}

function unfollowable({ GlobalSecondaryIndexes = [], StreamSpecification }: TableDescription): string | undefined {
  const isThere = (index: (typeof TABLE_DEFINITION.GlobalSecondaryIndexes)[number]): boolean =>
    GlobalSecondaryIndexes.some(({ IndexName, KeySchema }) => IndexName === index.IndexName && isSame(KeySchema, index.KeySchema))
  if (!TABLE_DEFINITION.GlobalSecondaryIndexes.every(isThere)) return `has no index ${INDEX_NAME} of these keys`
  return StreamSpecification?.StreamEnabled && StreamSpecification.StreamViewType !== VIEW
    ? 'has a stream of another view: disable it'
    : undefined
}

/** Returns the reason why the history of `former` does not apply. Only the table from which this one was restored shows the differences. */
function otherOrigin({ RestoreSummary }: TableDescription, { former }: TableRequirements): string | undefined {
  if (former === undefined) return undefined
  const { SourceTableArn, RestoreDateTime } = RestoreSummary ?? {}
  // guard: adopted-table-source
  if (!SourceTableArn?.endsWith(`:table/${former.name}`))
    return `was not restored from ${former.name}: without restored.former all documents of the index are made again`
  // guard: adopted-table-instant
  return RestoreDateTime !== undefined && RestoreDateTime.getTime() < former.instant
    ? `was restored to ${RestoreDateTime.toISOString()}, which is not restored.instant`
    : undefined
}

const isSame = (found: unknown, wanted: unknown): boolean => JSON.stringify(found) === JSON.stringify(wanted)

type Change = Omit<UpdateTableCommandInput, 'TableName'>

function* changesOf(table: TableDescription, { isFollowed, most, warm }: TableRequirements): Generator<Change> {
  if (isFollowed && !table.StreamSpecification?.StreamEnabled) yield { StreamSpecification: { StreamEnabled: true, StreamViewType: VIEW } }
  if (!table.DeletionProtectionEnabled) yield { DeletionProtectionEnabled: true }
  const { MaxReadRequestUnits, MaxWriteRequestUnits } = table.OnDemandThroughput ?? {}
  if (most !== undefined && !(MaxReadRequestUnits === most.reads && MaxWriteRequestUnits === most.writes))
    yield { OnDemandThroughput: { MaxReadRequestUnits: most.reads, MaxWriteRequestUnits: most.writes } }
  const { ReadUnitsPerSecond = 0, WriteUnitsPerSecond = 0 } = table.WarmThroughput ?? {}
  // Warm throughput can only be raised.
  if (warm !== undefined && (ReadUnitsPerSecond < warm.reads || WriteUnitsPerSecond < warm.writes))
    yield {
      WarmThroughput: {
        ReadUnitsPerSecond: Math.max(ReadUnitsPerSecond, warm.reads),
        WriteUnitsPerSecond: Math.max(WriteUnitsPerSecond, warm.writes),
      },
    }
}

async function letExpire(client: DynamoDBClient, TableName: string): Promise<void> {
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName }))
  const { TimeToLiveStatus: status = 'DISABLED', AttributeName } = TimeToLiveDescription ?? {}
  if (status.startsWith('ENABL') && AttributeName === EXPIRY_ATTRIBUTE) return
  await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { AttributeName: EXPIRY_ATTRIBUTE, Enabled: true } }))
}

async function letRecover(client: DynamoDBClient, TableName: string, patiently: Patiently): Promise<void> {
  const { ContinuousBackupsDescription: found } = await client.send(new DescribeContinuousBackupsCommand({ TableName }))
  if (found?.PointInTimeRecoveryDescription?.PointInTimeRecoveryStatus === 'ENABLED') return
  const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true }
  await patiently(() =>
    client.send(new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification })).catch((error: Error) => {
      // Continuous backups of a new table become available a little later.
      if (error.name !== 'ContinuousBackupsUnavailableException') throw error
      return undefined
    }),
  )
}
