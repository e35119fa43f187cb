/**
 * Ends executions of the workflow of the previous release. They keep its definition, but call the steps of this release. That release stored
 * no progress, so the sweep of the next minute starts an execution that begins again.
 */
import { releaseWorker } from '../lifecycle/rebuild-queue.ts'
import type { SharedIndexState } from '../lifecycle/state.ts'

type OfType = { readonly type: string; readonly attempt: string }

export type EarlierInput =
  | { readonly action: 'take'; readonly execution: string }
  | ({ readonly action: 'open' | 'swap' } & OfType)
  | { readonly action: 'fill'; readonly segment: object }

/** Returns results with which the execution does nothing more. `take` is its last step. */
export async function endEarlierWorkflow(
  { state, warn }: { readonly state: SharedIndexState; readonly warn: (message: string) => void },
  input: EarlierInput,
): Promise<object> {
  switch (input.action) {
    case 'open':
      return { type: input.type, attempt: input.attempt, isEmpty: true, next: '', wait: 0, segments: [] }
    case 'fill':
      return { ...input.segment, more: false }
    case 'swap':
      return {}
    case 'take':
      await state.change((each) => releaseWorker(each, input.execution))
      warn('The rebuild of the previous release has ended. It begins again within two minutes.')
      return { pending: false, wait: 0, types: [] }
  }
}
