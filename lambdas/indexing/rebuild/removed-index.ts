/**
 * Handles the removal of an index by an operator while a rebuild fills it. The attempt for the type ends, and the next attempt starts from
 * the first document.
 */
import { restartRebuild } from '../lifecycle/rebuild-queue.ts'
import type { SharedIndexState } from '../lifecycle/state.ts'

export type IndexPresence = {
  /** Whether this index exists and is the next or the serving index of the type. */
  readonly isThere: (type: string, index: string) => Promise<boolean>
}

/**
 * Returns the result of `work` on the index `next`. If `work` fails and that index no longer exists, detaches the type from the attempt and
 * returns `ended`. Otherwise throws the error of `work`. `next`: empty for a rebuild in the serving index, whose errors are always thrown.
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
