/** Packages of definitions of a deployment, stored in its bucket. Commands access them with the operator's AWS credentials. */
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbSharedRows } from '../../adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbSharedRowsReader } from '../../adapters/dynamodb/rows/shared-rows-reader.ts'
import { DynamoDbCanonicals } from '../../adapters/dynamodb/store/canonicals.ts'
import { DynamoDbResourceStore } from '../../adapters/dynamodb/store/resource-store.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { SystemClock } from '../../adapters/in-process/system-clock.ts'
import { openS3BlobStore, openS3Packages } from '../../adapters/s3/open-blob-store.ts'
import { readIndexState } from '../../indexing/lifecycle/known-state.ts'
import { endRemovedParameters, isRegistered } from '../../indexing/lifecycle/registered-packages.ts'
import type { ServingSummary } from '../../indexing/lifecycle/serving-summary.ts'
import { openIndexState } from '../../indexing/lifecycle/shared-index-state.ts'
import type { IndexState, StateScope } from '../../indexing/lifecycle/state.ts'
import { INDEX_STATE, NO_STORED_STATE, type StoredState } from '../../indexing/lifecycle/stored-state.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import type { PackageAdministration } from '../control/package-commands.ts'
import {
  definitionsWithCanonicalOf,
  type EffectiveParts,
  type PackageEffects,
  parametersWithCodeOf,
  type TenantDefinition,
} from '../control/package-effects.ts'
import { buildStatesIn, type ParameterStates } from '../control/parameter-states.ts'
import { type Deployment, LIMITS, openDeploymentAdministration } from './administration.ts'

type DocumentClient = ReturnType<typeof documentClient>

/** `bucket`: name of its S3 bucket. `resourceTable`: table of its resources. */
type PackageDeployment = Deployment & { readonly bucket: string; readonly resourceTable: string }

/** Opens the packages of a deployment. */
export function openDeployedPackages({ bucket, resourceTable, ...deployment }: PackageDeployment): PackageAdministration {
  const { audit, clock, close } = openDeploymentAdministration(deployment)
  const { region, stateTable } = deployment
  const store = openS3Packages({ bucket, region, now: () => clock.now() })
  return {
    ...{ store, recording: { audit, clock }, close },
    parameterStates: () => parameterStatesIn({ store, region, stateTable }),
    endRemovedParameters: (wanted) => endParametersIn({ region, stateTable, now: () => clock.now() }, wanted),
    effectsOf: (parts) => effectsIn({ region, stateTable, resourceTable, bucket }, parts),
  }
}

/**
 * Reads the states from the index state of the deployment. A sweep of every minute registers the parameters of the list of packages there,
 * as far as there is capacity.
 */
async function parameterStatesIn({ store, region, stateTable }: StateParts): Promise<ParameterStates> {
  const { state: list } = await store.now()
  const state = await withClient(region, (client) => indexStateIn(client, stateTable, {}))
  return { states: buildStatesIn(state), absent: isRegistered(state, list) ? 'refused' : 'building' }
}

type StateParts = Pick<Deployment, 'region' | 'stateTable'> & { readonly store: AddedPackages }

async function indexStateIn(client: DocumentClient, stateTable: string, scope: StateScope): Promise<IndexState> {
  const table = new TableClient(client, stateTable, LIMITS)
  const rows = new DynamoDbSharedRowsReader<StoredState, ServingSummary>(table, INDEX_STATE, NO_STORED_STATE)
  return (await readIndexState(rows, scope)).value
}

/**
 * Ends parameters of removed packages in the index state at once. The sweep of every minute would do it too. It also registers the
 * parameters that take their place.
 */
const endParametersIn = (
  { region, stateTable, now }: Pick<Deployment, 'region' | 'stateTable'> & { readonly now: () => number },
  wanted: readonly CustomMapping[],
): Promise<void> =>
  withClient(region, async (client) => {
    const table = new TableClient(client, stateTable, LIMITS)
    const rows = new DynamoDbSharedRows<StoredState, ServingSummary>(table, INDEX_STATE, NO_STORED_STATE)
    await openIndexState(rows, now).change((state) => endRemovedParameters(state, wanted, now()))
    // A failure only delays this until the sweep.
  }).catch(() => undefined)

/** Reads the effects from the tables. Documents are not counted, because the operator's credentials do not open the index. */
const effectsIn = (
  { region, stateTable, resourceTable, bucket }: Omit<PackageDeployment, keyof Deployment> & Pick<Deployment, 'region' | 'stateTable'>,
  parts: EffectiveParts,
): Promise<PackageEffects> =>
  withClient(region, async (client) => {
    const clock = new SystemClock()
    const { definitions } = await indexStateIn(client, stateTable, { definitions: 'all' })
    const found: TenantDefinition[] = [...parametersWithCodeOf(definitions, parts)]
    const blobs = openS3BlobStore(bucket, { region })
    const resources = new DynamoDbResourceStore({ ...{ client, table: resourceTable, blobs, clock, shards: () => 1 }, ...LIMITS })
    const canonicals = new DynamoDbCanonicals({ dynamo: new TableClient(client, resourceTable, LIMITS), clock, keptFor: 0 })
    for await (const tenant of resources.tenants())
      for await (const each of definitionsWithCanonicalOf({ canonicals, resources }, tenant, parts)) found.push(each)
    return { definitions: found }
  })

async function withClient<Result>(region: string, work: (client: DocumentClient) => Promise<Result>): Promise<Result> {
  const client = documentClient({ region })
  try {
    return await work(client)
  } finally {
    client.destroy()
  }
}
