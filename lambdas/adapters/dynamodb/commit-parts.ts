/** What all ways of committing share. */
import type { BlobStore } from '../../ports/blob-store.ts'
import type { Clock } from '../../ports/clock.ts'
import type { CommitResult, Write } from '../../ports/resource-store.ts'
import type { Dynamo } from './dynamo.ts'
import { type Content, type HeadItem, keyOf, ownContent, versionOf } from './item.ts'
import type { Shards } from './table.ts'

export type CommitParts = { readonly dynamo: Dynamo; readonly blobs: BlobStore; readonly clock: Clock; readonly shards: Shards }

/** A write with the item content it becomes. */
export type Staged = { readonly write: Write; readonly content: Content; readonly index: number }

export const COMMITTED: CommitResult = { kind: 'committed' }

export async function conflict({ blobs }: CommitParts, index: number, met: HeadItem | undefined): Promise<CommitResult> {
  const content = met === undefined ? undefined : ownContent(met)
  return content === undefined
    ? { kind: 'conflict', index }
    : { kind: 'conflict', index, current: await versionOf(keyOf(met!.pk), content, blobs) }
}
