/** Progress and end of the rebuilds that tenants requested, those of a few tenants at a time. */
import { finishAttempt, rebuildsOfAttempt, recordRebuildProgress, recordStep, recordTotals } from '../lifecycle/rebuild-queue.ts'
import { changeByTenant } from '../lifecycle/shared-index-state.ts'
import { ALL_TENANTS, type IndexState, type StateScope } from '../lifecycle/state.ts'
import type { RebuildParts } from './rebuild-parts.ts'
import type { OfType } from './rebuild-progress.ts'

type Counts = ReadonlyMap<string, number>

/**
 * Records a step of the worker, and adds its documents to the progress of the rebuilds. `value`: state with the rebuilds. `counts`: documents
 * by tenant.
 */
export const saveProgress = ({ state, now }: RebuildParts, ofType: OfType, value: IndexState, counts: Counts): Promise<unknown> =>
  changeCounts(state, ofType, value, counts, (each, tenants) => {
    const after = recordRebuildProgress(each, ofType.attempt, ofType.type, counts, tenants)
    // The first change of several has this tenant.
    return tenants.has(ALL_TENANTS) ? recordStep(after, now()) : after
  })

/** Records the number of documents that the attempt has to create. `totals`: by tenant. */
export const saveTotals = ({ state }: RebuildParts, ofType: OfType, value: IndexState, totals: Counts): Promise<unknown> =>
  changeCounts(state, ofType, value, totals, (each, tenants) => recordTotals(each, ofType.attempt, ofType.type, totals, tenants))

/** Changes the rebuilds of the attempt for all tenants together, and for those that have a count. */
function changeCounts(
  state: RebuildParts['state'],
  { attempt, type }: OfType,
  value: IndexState,
  counts: Counts,
  change: (state: IndexState, tenants: ReadonlySet<string>) => IndexState,
): Promise<unknown> {
  const counted = rebuildsOfAttempt(value, attempt).filter((each) => each.type === type && counts.has(each.tenant))
  const entries = [{ tenant: ALL_TENANTS }, ...counted]
  return changeByTenant(state, entries, (each, some) => change(each, new Set(some.map(({ tenant }) => tenant))), ['rebuilds'])
}

/**
 * Finishes the rebuilds of all tenants but one, a few tenants at a time. The change that records the index finishes the last one. So a
 * repeated step still finds a rebuild if an earlier attempt of it ended before that change. Returns the scope of that change.
 */
export async function finishMost({ state }: RebuildParts, value: IndexState, { type, attempt }: OfType): Promise<StateScope> {
  const [last = ALL_TENANTS, ...others] = rebuildsOfAttempt(value, attempt).flatMap((each) =>
    each.type === type && each.tenant !== ALL_TENANTS ? [each.tenant] : [],
  )
  const entries = others.map((tenant) => ({ tenant }))
  if (value.rows && entries.length > 0)
    await changeByTenant(state, entries, (each, some) => finishAttempt(each, attempt, type, new Set(some.map(({ tenant }) => tenant))), [
      'definitions',
      'rebuilds',
    ])
  return { definitions: [last], rebuilds: [last] }
}
