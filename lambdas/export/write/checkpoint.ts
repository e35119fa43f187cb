/** How far a writer has come, in its row. */
import type { Rows } from '../../ports/rows/rows.ts'

/** ms: what is written is checkpointed at least so often. */
export const CHECKPOINT_INTERVAL_MS = 30_000

/** The row as it is then; undefined where another writer left a checkpoint since, and what this one did is forgotten. */
export async function storeCheckpoint<Row extends { readonly revision: number }>(
  rows: Rows,
  [shelf, name]: readonly [shelf: string, name: string],
  before: Row,
  change: Partial<Row>,
): Promise<Row | undefined> {
  const next: Row = { ...before, ...change, revision: before.revision + 1 }
  let isKept = false
  await rows.change<Row>(shelf, name, (row) => {
    isKept = row?.revision === before.revision
    return isKept ? next : row
  })
  return isKept ? next : undefined
}
