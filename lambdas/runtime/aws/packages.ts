/** Packages of definitions of a deployment, stored in its bucket. Commands access them with the operator's AWS credentials. */
import { documentClient } from '../../adapters/dynamodb/client.ts'
import { DynamoDbSharedRowsReader } from '../../adapters/dynamodb/rows/shared-rows-reader.ts'
import { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { openS3Packages } from '../../adapters/s3/open-blob-store.ts'
import { readIndexState } from '../../indexing/lifecycle/known-state.ts'
import type { ServingSummary } from '../../indexing/lifecycle/serving-summary.ts'
import { INDEX_STATE, NO_STORED_STATE, type StoredState } from '../../indexing/lifecycle/stored-state.ts'
import type { PackageAdministration } from '../control/package-commands.ts'
import { buildStatesIn, type ParameterStates } from '../control/parameter-states.ts'
import { type Deployment, LIMITS, openDeploymentAdministration } from './administration.ts'

/** Opens the packages of a deployment. `bucket`: name of its S3 bucket. */
export function openDeployedPackages({ bucket, ...deployment }: Deployment & { readonly bucket: string }): PackageAdministration {
  const { audit, clock, close } = openDeploymentAdministration(deployment)
  const { region, stateTable } = deployment
  const store = openS3Packages({ bucket, region, now: () => clock.now() })
  return { store, recording: { audit, clock }, parameterStates: () => parameterStatesIn(region, stateTable), close }
}

/** Reads the states from the index state of the deployment, to which a sweep of every minute adds parameters. */
async function parameterStatesIn(region: string, stateTable: string): Promise<ParameterStates> {
  const client = documentClient({ region })
  try {
    const table = new TableClient(client, stateTable, LIMITS)
    const rows = new DynamoDbSharedRowsReader<StoredState, ServingSummary>(table, INDEX_STATE, NO_STORED_STATE)
    return { states: buildStatesIn((await readIndexState(rows, {})).value), absent: 'building' }
  } finally {
    client.destroy()
  }
}
