/** What is built of a type may be removed by hand: that attempt ends, and another begins at once. */
import { begunAnew, type SharedState } from './index-state.ts'

export type KnownIndices = {
  /** Whether an index of the type is built, or live. */
  readonly isThere: (type: string, index: string) => Promise<boolean>
}

/** As `work`, which is about the index `next`; `ended` where that is gone. Empty: documents are made again where they are. */
export async function unlessGone<Result>(
  { state, index }: { readonly state: SharedState; readonly index: KnownIndices },
  { type, attempt, next }: { readonly type: string; readonly attempt: string; readonly next: string },
  work: Promise<Result>,
  ended: Result,
): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (next === '' || (await index.isThere(type, next))) throw error
    await state.change((each) => begunAnew(each, attempt, type))
    return ended
  }
}
