/** Index status for users of a tenant: custom parameters, rebuilds, and versions that could not be indexed. */
import { failedParameterOf, type IndexStatus, type UnindexableVersionStatus } from '../../ports/search/index-status.ts'
import type { Definitions, Rebuild, UnindexableVersion } from '../custom-definitions.ts'
import { hoursLeft } from './rebuild-estimate.ts'
import { ALL_TENANTS, type IndexState } from './state.ts'

/** Returns the index status for users of the tenant, without data of others. `types`, `uncovered`, `worker`: only in the state of an AWS deployment. */
export const statusOf = (
  {
    definitions,
    rebuilds,
    poisoned,
    types = {},
    uncovered,
    worker,
  }: Definitions & Partial<Pick<IndexState, 'types' | 'uncovered' | 'worker'>>,
  tenant: string,
): IndexStatus => ({
  definitions: definitions
    .filter((each) => each.tenant === tenant || each.tenant === ALL_TENANTS)
    .map(({ id, mapping: { base, code }, state }) => ({ id, base, code, state })),
  // guard: rebuild-covers-the-tenant
  rebuilds: rebuilds
    .filter((each) => each.tenant === tenant || each.tenant === '')
    .map((each) => (each.tenant === tenant ? each : inHundredths(each)))
    .map(({ type, done, total }) => ({ type, done, total, ...(types[type]?.lost ? { isSearched: false } : {}) }))
    .concat(reconciliationsIn(types)),
  unreadable: poisoned.filter((each) => each.tenant === tenant).map(unreadableOf),
  ...(uncovered === undefined ? {} : { uncovered }),
  ...estimateOf({ rebuilds, ...(worker && { worker }) }),
})

function estimateOf(state: Parameters<typeof hoursLeft>[0]): Pick<IndexStatus, 'hours'> {
  const hours = hoursLeft(state)
  return hours === undefined ? {} : { hours }
}

/** Returns the status of types that are being reconciled after a restore. `done` is a percentage. */
const reconciliationsIn = (types: IndexState['types']) =>
  Object.entries(types).flatMap(([type, { lost, unreconciled, reached }]) =>
    lost || !unreconciled ? [] : [{ type, done: Math.floor(100 * (reached?.share ?? 0)), total: 100, isSearched: false }],
  )

/**
 * Returns the progress as a percentage, so that a tenant does not learn the number of documents of all tenants. It is 0 until they are
 * counted.
 */
const inHundredths = (rebuild: Rebuild): Rebuild =>
  rebuild.total > 0 ? { ...rebuild, done: Math.floor((100 * rebuild.done) / rebuild.total), total: 100 } : { ...rebuild, done: 0 }

function unreadableOf({ type, id, versionId, reason }: UnindexableVersion): UnindexableVersionStatus {
  const parameter = failedParameterOf(reason)
  return { type, id, versionId, reason, ...(parameter === undefined ? {} : { parameter }) }
}
