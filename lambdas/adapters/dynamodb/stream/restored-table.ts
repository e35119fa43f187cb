/**
 * Prepares a table that DynamoDB restored. A restored table lacks the stream, the expiry of items, point-in-time recovery and deletion
 * protection. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery.html
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
  type WarmThroughput,
} from '@aws-sdk/client-dynamodb'
import { EXPIRY_ATTRIBUTE, INDEX_NAME, TABLE_DEFINITION } from '../table-keys.ts'

export type CapacityUnits = { readonly reads: number; readonly writes: number }

export type TableRequirements = {
  readonly name: string
  /** ARN of the KMS key that must encrypt the table. The functions that read the table have no permission for another key. */
  readonly key: string
  /** Whether this is the table of resources, which needs an index, and a stream that functions read. */
  readonly isFollowed: boolean
  /** Whether this is a state table whose audit records are archived, which needs a stream too. */
  readonly isArchived?: boolean
  /** Maximum on-demand throughput in units per second. It limits costs. Absent: no maximum. */
  readonly most?: CapacityUnits
  /** Warm throughput: units per second that the table accepts without scaling first. */
  readonly warm?: CapacityUnits
  /** Warm throughput of the index of the table. */
  readonly warmIndex?: CapacityUnits
  /**
   * Previous table, from which this one must have been restored. Its history since `instant` (milliseconds since 1970) contains the
   * versions that this table lacks.
   */
  readonly former?: { readonly name: string; readonly instant: number }
}

/** Maximum polls of the table's state. With a second between two polls, they end a minute before the function times out. */
const LOOKS = 240
const SECOND = 1_000
const VIEW = 'NEW_AND_OLD_IMAGES'
/** Value by which DynamoDB removes a maximum throughput. */
const NO_MAXIMUM = -1
/** View of the stream of a state table. The archive needs only what was written. */
const STATE_VIEW = 'NEW_IMAGE'

export type AdoptParts = { readonly client?: DynamoDBClient; readonly pause?: () => Promise<unknown> }

/**
 * Prepares the table. Returns the ARN of its stream, or '' without one. It changes only settings that differ. Throws RangeError with the
 * reason if the table does not meet the requirements (`mismatchOf`).
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
  // DynamoDB accepts one change of a table at a time.
  for (const change of changesOf(found, wanted)) {
    await client.send(new UpdateTableCommand({ TableName, ...change }))
    await active()
  }
  await letExpire(client, TableName)
  await letRecover(client, TableName, patiently)
  return (await active()).LatestStreamArn ?? ''
}

type Patiently = <Found>(look: () => Promise<Found | undefined>) => Promise<Found>

/** Returns a function that calls `look` until it returns a value. All its calls together poll at most LOOKS times, then it throws Error. */
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

/** Returns the reason why the table does not meet the requirements, or undefined if it does. */
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

/**
 * Returns a reason if the table was not restored from `former`, or was restored to an instant before `former.instant`. The history of
 * `former` would then not show which versions this table lacks.
 */
function otherOrigin({ RestoreSummary }: TableDescription, { former }: TableRequirements): string | undefined {
  if (former === undefined) return undefined
  const { SourceTableArn, RestoreDateTime } = RestoreSummary ?? {}
  // guard: adopted-table-source
  if (!SourceTableArn?.endsWith(`:table/${former.name}`))
    return `was not restored from ${former.name}: without restored.former the server rebuilds all documents of the index`
  // guard: adopted-table-instant
  return RestoreDateTime !== undefined && RestoreDateTime.getTime() < former.instant
    ? `was restored to ${RestoreDateTime.toISOString()}, which is not restored.instant`
    : undefined
}

const isSame = (found: unknown, wanted: unknown): boolean => JSON.stringify(found) === JSON.stringify(wanted)

type Change = Omit<UpdateTableCommandInput, 'TableName'>

function* changesOf(table: TableDescription, { isFollowed, isArchived, most, warm, warmIndex }: TableRequirements): Generator<Change> {
  const StreamViewType = isFollowed ? VIEW : isArchived ? STATE_VIEW : undefined
  if (StreamViewType !== undefined && !table.StreamSpecification?.StreamEnabled)
    yield { StreamSpecification: { StreamEnabled: true, StreamViewType } }
  if (!table.DeletionProtectionEnabled) yield { DeletionProtectionEnabled: true }
  const { MaxReadRequestUnits = NO_MAXIMUM, MaxWriteRequestUnits = NO_MAXIMUM } = table.OnDemandThroughput ?? {}
  const { reads, writes } = most ?? { reads: NO_MAXIMUM, writes: NO_MAXIMUM }
  if (!(MaxReadRequestUnits === reads && MaxWriteRequestUnits === writes))
    yield { OnDemandThroughput: { MaxReadRequestUnits: reads, MaxWriteRequestUnits: writes } }
  const WarmThroughput = raised(table.WarmThroughput, warm)
  if (WarmThroughput !== undefined) yield { WarmThroughput }
  const index = table.GlobalSecondaryIndexes?.find(({ IndexName }) => IndexName === INDEX_NAME)
  const ofIndex = raised(index?.WarmThroughput, warmIndex)
  if (ofIndex !== undefined) yield { GlobalSecondaryIndexUpdates: [{ Update: { IndexName: INDEX_NAME, WarmThroughput: ofIndex } }] }
}

/**
 * Returns the throughput to set, or undefined if it has the wanted one. DynamoDB only accepts a higher one, so each value is raised or
 * remains.
 */
function raised(
  { ReadUnitsPerSecond = 0, WriteUnitsPerSecond = 0 }: WarmThroughput = {},
  wanted?: CapacityUnits,
): WarmThroughput | undefined {
  if (wanted === undefined || (ReadUnitsPerSecond >= wanted.reads && WriteUnitsPerSecond >= wanted.writes)) return undefined
  return {
    ReadUnitsPerSecond: Math.max(ReadUnitsPerSecond, wanted.reads),
    WriteUnitsPerSecond: Math.max(WriteUnitsPerSecond, wanted.writes),
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
      // DynamoDB makes continuous backups of a new table available a little later.
      if (error.name !== 'ContinuousBackupsUnavailableException') throw error
      return undefined
    }),
  )
}
