/** Backup and restore of all versions of a deployment on AWS, with the operator's credentials. */
import { setTimeout as wait } from 'node:timers/promises'
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbRows } from '../../adapters/dynamodb/rows/rows.ts'
import { DynamoDbCanonicals } from '../../adapters/dynamodb/store/canonicals.ts'
import { DynamoDbIdentifierRows, writerWithRows } from '../../adapters/dynamodb/store/identifier-rows.ts'
import { DynamoDbResourceStore } from '../../adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { openS3BlobStore } from '../../adapters/s3/open-blob-store.ts'
import { announcingWriter } from '../../interactions/writing/canonical-announcements.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { IndexShards } from '../index-shards.ts'
import type { BackupStore, Manifest } from './backup-format.ts'
import { type RestoreOptions, type RestoreProgress, restoreBackup } from './restore-backup.ts'
import { type BackupOptions, type BackupOrigin, writeBackup } from './write-backup.ts'

/** Stage whose versions are copied. `bucket`: bucket of its large bodies. `indexShards`: index partitions by type, as its functions have them. */
export type StageTable = {
  readonly stage: string
  readonly region: string
  readonly resourceTable: string
  readonly bucket: string
  readonly indexShards: IndexShards
}

/** Maximum attempts of a DynamoDB call, and milliseconds per attempt. Both are high, because the command may wait. */
const LIMITS = { attempts: 30, patience: 10_000 }
/** Maximum difference between this machine's clock and that of S3, in milliseconds. */
const MAX_SKEW_MS = 5_000
/** S3 returns whole seconds, so that its time may be later by as much. */
const S3_STEP_MS = 1_000

/** Writes a backup of the stage, while its functions may go on writing. */
export const backupStage = (
  table: StageTable,
  store: BackupStore,
  onProgress: NonNullable<BackupOptions['onProgress']>,
): Promise<Manifest> => withStage(table, ({ origin }) => writeBackup({ origin, store, onProgress }))

/** Adds the resources of a backup to the stage. */
export const restoreStage = (
  table: StageTable,
  store: BackupStore,
  onProgress: NonNullable<RestoreOptions['onProgress']>,
): Promise<Manifest> => withStage(table, ({ target }) => restoreBackup({ ...target, store, onProgress }))

async function withStage<Result>(table: StageTable, work: (stage: Stage) => Promise<Result>): Promise<Result> {
  const stage = openStage(table)
  try {
    return await work(stage)
  } finally {
    stage.close()
  }
}

type Stage = {
  readonly origin: BackupOrigin
  readonly target: Pick<RestoreOptions, 'target' | 'name' | 'progress'>
  readonly close: () => void
}

/** Returns the name of a stage as the source of a backup. Stages of two accounts or regions may have the same name. */
export const sourceNameOf = ({ stage, region, resourceTable }: Pick<StageTable, 'stage' | 'region' | 'resourceTable'>): string =>
  `the stage ${stage} (table ${resourceTable} in ${region})`

function openStage(table: StageTable): Stage {
  const { stage, region, resourceTable, bucket, indexShards } = table
  const client = documentClient({ region })
  const clock = new SystemClock()
  const dynamo = new TableClient(client, resourceTable, LIMITS)
  const store = new DynamoDbResourceStore({
    client,
    table: resourceTable,
    blobs: openS3BlobStore(bucket, { region }),
    clock,
    shards: (type) => indexShards[type] ?? 1,
    ...LIMITS,
    // Restored versions have the times at which they were written first.
    stampTime: Number.POSITIVE_INFINITY,
  })
  const writer = announcingWriter({
    writer: writerWithRows(store, new DynamoDbIdentifierRows(dynamo, clock)),
    resources: store,
    notes: new DynamoDbCanonicals({ dynamo, clock, keptFor: 0 }),
    // An outdated note only costs lookups of its URL one more read.
    report: () => undefined,
  })
  return {
    origin: {
      ...{ name: sourceNameOf(table), wait, newId: () => clock.newId(), open: () => store, canContinue: () => true },
      begin: async (_, written) => instantOf(written, clock),
    },
    target: {
      target: { versions: (keys, room) => store.versions(keys, room), commit: (writes, guards) => writer.commit(writes, guards) },
      name: `the stage ${stage}`,
      progress: progressIn(new DynamoDbRows(dynamo)),
    },
    close: () => client.destroy(),
  }
}

/**
 * Returns an instant after every version that was committed before the call. Functions stamp versions by AWS's clock, so the clock of this
 * machine must agree with it. Throws an Error if it does not.
 */
export function instantOf(written: number, clock: Pick<Clock, 'now'>): number {
  const now = clock.now()
  // guard: backup-needs-the-time
  if (Math.abs(now - written) > MAX_SKEW_MS)
    throw new Error(
      `The clock of this machine differs from that of S3 by ${Math.round((now - written) / 1_000)} s: set it, then repeat the command`,
    )
  return now + MAX_SKEW_MS + S3_STEP_MS
}

/** Owner of the rows in the table of the resources. They are there so that a restore of the table to an earlier time also resets them. */
const OWNER = 'RESTORE'

export const progressIn = (rows: DynamoDbRows): RestoreProgress => ({
  read: async (backup) => (await rows.read<{ readonly objects: number }>(OWNER, backup))?.objects ?? 0,
  async write(backup, objects) {
    await rows.change(OWNER, backup, () => ({ objects }))
  },
  remove: (backup) => rows.remove(OWNER, backup),
})
