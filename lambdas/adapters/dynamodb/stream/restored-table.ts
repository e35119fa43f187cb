/**
 * A table that DynamoDB restored gets what a restore leaves behind: its stream, the expiry of items, recovery to any second, protection from
 * deletion. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery.html
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
  /** ARN of the key that encrypts it: who reads it may use no other. */
  readonly key: string
  /** Of the table of resources: it has an index, and functions follow its stream. */
  readonly isFollowed: boolean
  /** A limit of costs, units a second. */
  readonly most?: CapacityUnits
  /** What it takes at once, units a second. */
  readonly warm?: CapacityUnits
  /** The name of the table whose history since the instant, ms since 1970, tells what differs: it has to be the one this was restored from. */
  readonly former?: { readonly name: string; readonly instant: number }
}

/** Looks at the table; with a second between two of them, a minute less than the function has. */
const LOOKS = 240
const SECOND = 1_000
const VIEW = 'NEW_AND_OLD_IMAGES'

export type AdoptParts = { readonly client?: DynamoDBClient; readonly pause?: () => Promise<unknown> }

/** The ARN of its stream, '' without one. Changes nothing that is as wanted. RangeError: it is no table that could be read, or followed. */
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
  // DynamoDB takes one at a time.
  for (const change of changesOf(found, wanted)) {
    await client.send(new UpdateTableCommand({ TableName, ...change }))
    await active()
  }
  await letExpire(client, TableName)
  await letRecover(client, TableName, patiently)
  return (await active()).LatestStreamArn ?? ''
}

type Patiently = <Found>(look: () => Promise<Found | undefined>) => Promise<Found>

/** `look` gives undefined as long as it is to be repeated; all share how often that is. */
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

/** Why it cannot count as that table. */
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

/** What another table was told since says nothing of this one. */
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
  // It only ever rises.
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
      // Of a table that is new backups begin a little later.
      if (error.name !== 'ContinuousBackupsUnavailableException') throw error
      return undefined
    }),
  )
}
