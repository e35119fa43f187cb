/** What is built of a type may be removed by hand: that attempt ends, and another begins at once. */
import { restartRebuild, type SharedIndexState } from './index-state.ts'

export type IndexPresence = {
  /** Whether an index of the type is built, or live. */
  readonly isThere: (type: string, index: string) => Promise<boolean>
}

/** As `work`, which is about the index `next`; `ended` where that is gone. Empty: documents are made again where they are. */
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
