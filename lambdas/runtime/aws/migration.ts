/** Prepares what the functions share, once in each deployment. */
import { makeSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { type AdoptedStore, NO_ADOPTED_STORE, revokeAllOnAdoption } from '../../auth/tokens/restored-state.ts'
import { changeFormat } from '../../indexing/index-retention.ts'
import { applySearchParameter } from '../../indexing/index-state.ts'
import { applyRestore, epochOf, type Restore, readSearchParameters, withRestoredIdentity } from '../../indexing/restore.ts'
import type { IdentifiedState } from '../../indexing/serving-indices.ts'
import type { SharedState } from '../../ports/rows/shared-state.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { DeploymentSettings } from '../config.ts'
import { revocations } from './authorization.ts'
import { DeploymentError, type ResourceProperties } from './custom-resource.ts'
import { extraction, newIdentity, startRebuild } from './index-workers.ts'
import { clock, deploymentSettings, indexState, openStore, stateTable } from './ports.ts'

/**
 * Once in every deployment: what functions share is there, and documents made by another extractor are made again. `AdoptedState`: `yes` where
 * the table of state is one that was restored.
 */
export async function migrate({ AdoptedState }: ResourceProperties): Promise<void> {
  await makeSecretKey(stateTable())
  const fresh = newIdentity()
  // Nothing is ended where it fails.
  setBackHere(withRestoredIdentity(deploymentSettings().epoch, (await indexState().read()).value, fresh), fresh)
  await endWhereSetBack(AdoptedState === 'yes')
  const parameters = await parametersAfterRestore()
  const state = await indexState().change((kept) => {
    const known = withRestoredIdentity(deploymentSettings().epoch, kept, fresh)
    const back = setBackHere(known, fresh)
    return changeFormat(
      back === known ? known : (parameters.reduce(applySearchParameter, back) as IdentifiedState),
      extraction(),
      clock().now(),
    )
  })
  await startRebuild(state)
}

/** What does not follow from what was there is told to who deploys. */
function setBackHere(known: IdentifiedState, fresh: string): IdentifiedState {
  try {
    return applyRestore(known, restoreOf(deploymentSettings()), fresh, clock().now())
  } catch (error) {
    throw error instanceof RangeError ? new DeploymentError(error.message) : error
  }
}

/** Before anybody verifies a token by this table of state. Epochs follow each other: one that it does not know was another table's. */
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

/** Once in an epoch. */
async function parametersAfterRestore(): Promise<readonly ResourceVersion[]> {
  const { value } = await indexState().read()
  return epochOf(value) === deploymentSettings().epoch ? [] : readSearchParameters(value, { resources: openStore(0), now: clock().now() })
}
