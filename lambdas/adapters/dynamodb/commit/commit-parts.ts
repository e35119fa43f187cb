/** What all ways of committing share. */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import type { CommitResult } from '../../../ports/store/resource-store.ts'
import type { Dynamo } from '../table-client.ts'
import { versionSort } from '../table-keys.ts'
import type { HeadItem, Staged } from '../version-item.ts'

export type CommitParts = {
  readonly dynamo: Dynamo
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly shards: (type: string) => number
  /** Actions of one TransactWriteItems. */
  readonly mostActions: number
  /** ms a coordinator may take before anybody may abort its transaction. */
  readonly transactionTime: number
  /** ms a stamp is sent. */
  readonly stampTime: number
}

/** For the write that decides: nothing is sent once a stamp is too old. */
export const inTime = ({ dynamo, clock, stampTime }: CommitParts, staged: readonly Staged[]): Dynamo =>
  dynamo.until(Math.min(...staged.map(({ content }) => content.lu)) + stampTime, () => clock.now())

export const COMMITTED: CommitResult = { kind: 'committed' }

/** A head that is not the one expected, unless the write itself made it so: it took effect, and only its answer was lost. */
export async function conflictAt(dynamo: Dynamo, { content, index }: Staged, met: HeadItem | undefined): Promise<CommitResult> {
  if (met?.v === undefined) return { kind: 'conflict', index }
  const isOurs =
    met.v.vid === content.vid
      ? met.v.op === content.op
      : met.v.vid > content.vid && (await opOf(dynamo, met.pk, content.vid)) === content.op
  return isOurs ? COMMITTED : { kind: 'conflict', index }
}

async function opOf(dynamo: Dynamo, pk: string, versionId: number): Promise<string | undefined> {
  const copy = await dynamo.get({ pk, sk: versionSort(versionId) }).catch((cause: unknown) => {
    throw new Error('it cannot be told whether a write took effect', { cause })
  })
  return (copy as HeadItem | undefined)?.v?.op
}
