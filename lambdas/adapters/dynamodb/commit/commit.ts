/**
 * Commits writes. One conditional write decides each commit: of one head item, of up to `mostActions` items in one transaction, or of the
 * record of a large transaction.
 */
import type { CommitResult, UniquenessGuard, Write } from '../../../ports/store/resource-store.ts'
import { contentOf, type StagedWrite, shardOfId } from '../version-item.ts'
import { commitLarge } from './commit-large.ts'
import type { CommitParts } from './commit-parts.ts'
import { commitOne, commitSmall } from './commit-small.ts'
import { heldGuards } from './guards.ts'

/** Maximum bytes of the packed bodies in one TransactWriteItems, which accepts 4 MB. Larger commits use a transaction record. */
const MOST_BYTES = 3_500_000
const KEYS = 600

export async function commit(parts: CommitParts, writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
  const op = parts.clock.newId()
  const staged = await Promise.all(writes.map((write, index) => stagedOf(parts, write, index, op)))
  const bytes = staged.reduce((sum, { content }) => sum + KEYS + ('z' in content ? content.z.length : 0), 0)
  const isLarge = writes.length + guards.length > parts.mostActions || bytes > MOST_BYTES
  const result = isLarge
    ? await commitLarge(parts, staged, guards)
    : writes.length === 1 && guards.length === 0
      ? await commitOne(parts, staged[0]!)
      : await commitSmall(parts, staged, guards)
  if (result.kind !== 'committed') await removeBlobs(parts, staged)
  return result.kind === 'guarded' && guards.length > 1 ? withOthers(parts, guards, result) : result
}

/** Adds the other guards that are held, so that one more attempt can replace all of them. If they cannot be read, adds none. */
async function withOthers(
  { dynamo }: CommitParts,
  guards: readonly UniquenessGuard[],
  result: Extract<CommitResult, { readonly kind: 'guarded' }>,
): Promise<CommitResult> {
  const held = await heldGuards(dynamo, guards).catch(() => [])
  const others = held.filter(({ index }) => index !== result.index)
  return others.length === 0 ? result : { ...result, others }
}

async function stagedOf({ blobs, shards }: CommitParts, write: Write, index: number, op: string): Promise<StagedWrite> {
  return { write, index, content: await contentOf(write, op, blobs), shard: shardOfId(write.id, shards(write.type)) }
}

/** Removes the blobs of a commit that was not committed. No other commit refers to them, so a failed removal only wastes space. */
async function removeBlobs({ blobs }: CommitParts, staged: readonly StagedWrite[]): Promise<void> {
  await Promise.allSettled(staged.map(({ content }) => ('blob' in content ? blobs.remove(content.blob) : undefined)))
}
