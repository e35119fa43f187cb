/** Handles an index that an operator removes while it is built. The attempt for its type ends, and another begins at once. */
import { restartRebuild } from '../lifecycle/rebuild-queue.ts'
import type { SharedIndexState } from '../lifecycle/state.ts'

export type IndexPresence = {
  /** Whether this index of the type exists and is being built or serving. */
  readonly isThere: (type: string, index: string) => Promise<boolean>
}

/**
 * Returns the result of `work` on the index `next`. If `work` fails and that index is gone, detaches the attempt and returns `ended`.
 * Throws all other errors. `next`: empty for a rebuild in the serving index, which never ends this way.
 */
export async function restartIfRemoved<Result>(
  { state, index }: { readonly state: SharedIndexState; readonly index: IndexPresence },
  { type, attempt, next }: { readonly type: string; readonly attempt: string; readonly next: string },
  work: Promise<Result>,
  ended: Result,
): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (next === '' || (await index.isThere(type, next))) throw error
    await state.change((each) => restartRebuild(each, attempt, type))
    return ended
  }
}
