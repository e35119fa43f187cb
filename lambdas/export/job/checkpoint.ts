/** Checkpoints: the progress of a writer, stored in its row. */
import type { Rows } from '../../ports/rows/rows.ts'

/** Milliseconds after which a writer stores a checkpoint, as soon as its current page is done. */
export const CHECKPOINT_INTERVAL_MS = 30_000

/**
 * Stores a checkpoint and returns the new row. Returns undefined if another writer stored a checkpoint since `before` was read; the work of
 * this writer is then discarded.
 */
export async function storeCheckpoint<Row extends { readonly revision: number }>(
  rows: Rows,
  [rowOwner, name]: readonly [owner: string, name: string],
  before: Row,
  change: Partial<Row>,
): Promise<Row | undefined> {
  const next: Row = { ...before, ...change, revision: before.revision + 1 }
  let isStored = false
  await rows.change<Row>(rowOwner, name, (row) => {
    isStored = row?.revision === before.revision
    return isStored ? next : row
  })
  return isStored ? next : undefined
}
