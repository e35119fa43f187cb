/**
 * Migration of the state that all functions share. A deployment that changes code or settings runs it before it updates the functions that
 * answer requests, and again after that.
 */
import { makeSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { type AdoptedStore, NO_ADOPTED_STORE, revokeAllOnAdoption } from '../../auth/tokens/restored-state.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { applySearchParameter } from '../../indexing/lifecycle/definitions.ts'
import { recordDeployed, recordFormatChange } from '../../indexing/lifecycle/identifier-rows.ts'
import { changeFormat } from '../../indexing/lifecycle/index-retention.ts'
import { requestNewIndices, restartAllRebuilds } from '../../indexing/lifecycle/rebuild-queue.ts'
import { allowPackages, removeUnknownPackages } from '../../indexing/lifecycle/registered-packages.ts'
import { applyRestore, epochOf, type Restore, readSearchParameters, withRestoredIdentity } from '../../indexing/lifecycle/restore.ts'
import { changeShards } from '../../indexing/lifecycle/search-shards.ts'
import { changeByTenant } from '../../indexing/lifecycle/shared-index-state.ts'
import { ALL_REBUILDS, type IndexState } from '../../indexing/lifecycle/state.ts'
import { allowRows, deferRows } from '../../indexing/lifecycle/tenant-rows.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import type { DeploymentSettings } from '../config.ts'
import { revocations } from './authorization.ts'
import { DeploymentError, type ResourceProperties } from './custom-resource.ts'
import { extraction, newIdentity, startRebuild } from './index-workers.ts'
import { clock, deploymentSettings, indexState, openStore, stateTable } from './ports.ts'

/**
 * Creates the shared secret, applies a restore, and requests rebuilds if the document format or the number of shards changed. `AdoptedState`:
 * `yes` if the state table is a restored one. `UpdatedFunctions`: `yes` at the end of the deployment. It then only records that the functions
 * that answer requests are updated. `IndexRows`: `yes` if the release reads rows of the index state.
 * `PackageParameters`: `yes` if it builds the search parameters of packages. `before`: properties of the previous
 * deployment, absent for the first one.
 */
export async function migrate({ AdoptedState, UpdatedFunctions }: ResourceProperties, before?: ResourceProperties): Promise<void> {
  if (UpdatedFunctions === 'yes') {
    await indexState().change((state) => allowPackages(allowRows(recordDeployed(state, clock().now()), clock().now())))
    return
  }
  await makeSecretKey(stateTable())
  const fresh = newIdentity()
  // Check the restore before revoking, so that a rejected deployment revokes no token.
  setBackHere(withRestoredIdentity(deploymentSettings().epoch, (await indexState().read()).value, fresh), fresh)
  await endWhereSetBack(AdoptedState === 'yes')
  const state = await indexState().change((kept) => {
    const at = clock().now()
    const isKnown = before === undefined || before.PackageParameters === 'yes'
    const known = removeUnknownPackages(withRestoredIdentity(deploymentSettings().epoch, kept, fresh), isKnown, at)
    const back = setBackHere(known, fresh)
    // A release that reads no rows may have indexed documents without their custom parameters, also if it never changed the state.
    const isOverlooked = kept.redefine === 'all' || (kept.rows === true && before !== undefined && before.IndexRows !== 'yes')
    const isStale = isOverlooked || kept.redefine !== undefined || epochOf(kept) !== deploymentSettings().epoch
    const current = isOverlooked ? requestNewIndices(restartAllRebuilds(back), resourceTypes) : back
    const after = recordFormatChange(kept, changeFormat(current, extraction(), at), at)
    const next: IndexState = isStale ? { ...after, redefine: 'parameters' } : after
    return deferRows(changeShards(next, deploymentSettings().searchShards))
  })
  if (state.value.redefine) await applySearchParameters()
  await startRebuild(await indexState().read(ALL_REBUILDS))
}

/**
 * Applies the restore of the settings to the state. Throws a DeploymentError if the settings do not fit the state, for example with an
 * earlier restore generation.
 */
function setBackHere(known: IndexState, fresh: string): IndexState {
  try {
    return applyRestore(known, restoreOf(deploymentSettings()), fresh, clock().now())
  } catch (error) {
    throw error instanceof RangeError ? new DeploymentError(error.message) : error
  }
}

/**
 * Revokes all tokens if the state table was restored or missed a restore generation. Generations are consecutive, so a missing one ran with
 * another state table. Runs before functions verify tokens with this table.
 */
async function endWhereSetBack(isRestored: boolean): Promise<void> {
  const { stateTable: name, epoch } = deploymentSettings()
  const wasAway = epochOf((await indexState().read()).value) + 1 < epoch
  const adopted: SharedState<AdoptedStore> = new DynamoDbSharedState(stateTable(), 'ADOPTED', NO_ADOPTED_STORE)
  if (isRestored || wasAway) await revokeAllOnAdoption({ adopted, revocations: revocations(), clock: clock() }, name, wasAway)
}

const restoreOf = ({
  epoch,
  table,
  restoredAt,
  formerTable,
}: Pick<DeploymentSettings, 'epoch' | 'table' | 'restoredAt' | 'formerTable'>): Restore => ({
  epoch,
  store: table,
  instant: Date.parse(restoredAt) || 0,
  ...(formerTable === '' ? {} : { former: formerTable }),
})

/**
 * Applies the SearchParameters of the store again, those of a few tenants at a time. A repeated deployment continues if one ended before
 * that.
 */
async function applySearchParameters(): Promise<void> {
  const state = indexState()
  const { value } = await state.read({ definitions: 'all' })
  const parameters = await readSearchParameters(value, { resources: openStore(0), now: clock().now() })
  if (parameters.length > 0)
    await changeByTenant(state, parameters, (each, some) => some.reduce(applySearchParameter, each), [
      'definitions',
      'poisoned',
      'rebuilds',
    ])
  await state.change(({ redefine: _, ...each }) => each)
}
