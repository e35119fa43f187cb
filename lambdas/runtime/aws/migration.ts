/** Prepares what the functions share, once in each deployment. */
import { makeSecretKey } from '../../adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbKeptState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { type Adopted, endWhatWasIssued, NOT_ADOPTED } from '../../auth/tokens/restored-state.ts'
import { migrated } from '../../indexing/index-retention.ts'
import { afterSearchParameter } from '../../indexing/index-state.ts'
import { epochOf, identifiedIn, parametersNow, type Restore, setBack } from '../../indexing/restore.ts'
import type { Identified } from '../../indexing/serving-indices.ts'
import type { KeptState } from '../../ports/rows/shared-state.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Places } from '../config.ts'
import { revocations } from './authorization.ts'
import { type Properties, Told } from './custom-resource.ts'
import { extraction, newIdentity, startRebuild } from './index-workers.ts'
import { clock, indexState, openStore, places, stateTable } from './ports.ts'

/**
 * Once in every deployment: what functions share is there, and documents made by another extractor are made again. `AdoptedState`: `yes` where
 * the table of state is one that was restored.
 */
export async function migrate({ AdoptedState }: Properties): Promise<void> {
  await makeSecretKey(stateTable())
  const fresh = newIdentity()
  // Nothing is ended where it fails.
  setBackHere(identifiedIn(places().epoch, (await indexState().read()).value, fresh), fresh)
  await endWhereSetBack(AdoptedState === 'yes')
  const parameters = await parametersAfterRestore()
  const state = await indexState().change((kept) => {
    const known = identifiedIn(places().epoch, kept, fresh)
    const back = setBackHere(known, fresh)
    return migrated(back === known ? known : (parameters.reduce(afterSearchParameter, back) as Identified), extraction(), clock().now())
  })
  await startRebuild(state)
}

/** What does not follow from what was there is told to who deploys. */
function setBackHere(known: Identified, fresh: string): Identified {
  try {
    return setBack(known, restoreOf(places()), fresh, clock().now())
  } catch (error) {
    throw error instanceof RangeError ? new Told(error.message) : error
  }
}

/** Before anybody verifies a token by this table of state. Epochs follow each other: one that it does not know was another table's. */
async function endWhereSetBack(isRestored: boolean): Promise<void> {
  const { stateTable: name, epoch } = places()
  const wasAway = epochOf((await indexState().read()).value) + 1 < epoch
  const adopted: KeptState<Adopted> = new DynamoDbKeptState(stateTable(), 'ADOPTED', NOT_ADOPTED)
  if (isRestored || wasAway) await endWhatWasIssued({ adopted, revocations: revocations(), clock: clock() }, name, wasAway)
}

const restoreOf = ({ epoch, table, restoredAt, formerTable }: Pick<Places, 'epoch' | 'table' | 'restoredAt' | 'formerTable'>): Restore => ({
  epoch,
  store: table,
  instant: Date.parse(restoredAt) || 0,
  ...(formerTable === '' ? {} : { former: formerTable }),
})

/** Once in an epoch. */
async function parametersAfterRestore(): Promise<readonly ResourceVersion[]> {
  const { value } = await indexState().read()
  return epochOf(value) === places().epoch ? [] : parametersNow(value, { resources: openStore(0), now: clock().now() })
}
