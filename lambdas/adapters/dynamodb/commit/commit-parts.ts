/** Dependencies and checks that all commit procedures share. */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import type { CommitResult } from '../../../ports/store/resource-store.ts'
import type { TableClient } from '../table-client.ts'
import { versionSortKey } from '../table-keys.ts'
import type { HeadItem, StagedWrite } from '../version-item.ts'

export type CommitParts = {
  readonly dynamo: TableClient
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly shards: (type: string) => number
  /** Maximum actions of one TransactWriteItems. Larger commits use a transaction record. */
  readonly mostActions: number
  /** Time in milliseconds from the start of a large transaction, after which other processes may abort it. */
  readonly transactionTime: number
  /** Maximum age of a timestamp, in milliseconds. See `withStampDeadline`. */
  readonly stampTime: number
}

/**
 * Returns the client for the first write by which readers can learn of the timestamps: the write of the head items, or of the transaction
 * record. It sends nothing once the oldest timestamp of the commit is older than `stampTime`.
 */
export const withStampDeadline = ({ dynamo, clock, stampTime }: CommitParts, staged: readonly StagedWrite[]): TableClient =>
  dynamo.until(Math.min(...staged.map(({ content }) => content.lu)) + stampTime, () => clock.now())

export const COMMITTED_RESULT: CommitResult = { kind: 'committed' }

/**
 * Decides whether a head item with an unexpected version is a conflict. If this commit wrote that version or an earlier one that was
 * copied, it took effect and only its response was lost.
 */
export async function checkConflict(
  dynamo: TableClient,
  { content, index }: StagedWrite,
  met: HeadItem | undefined,
): Promise<CommitResult> {
  if (met?.v === undefined) return { kind: 'conflict', index }
  const isOurs =
    met.v.vid === content.vid
      ? met.v.op === content.op
      : met.v.vid > content.vid && (await opOf(dynamo, met.pk, content.vid)) === content.op
  return isOurs ? COMMITTED_RESULT : { kind: 'conflict', index }
}

async function opOf(dynamo: TableClient, pk: string, versionId: number): Promise<string | undefined> {
  const copy = await dynamo.get({ pk, sk: versionSortKey(versionId) }).catch((cause: unknown) => {
    throw new Error('it is unknown whether a write took effect', { cause })
  })
  return (copy as HeadItem | undefined)?.v?.op
}
