/** Index state of one tenant, read from its rows. The bundles have this code in a file of its own, because few requests need it. */
import { DynamoDbSharedRowsReader } from '../adapters/dynamodb/rows/shared-rows-reader.ts'
import type { TableClient } from '../adapters/dynamodb/table-client.ts'
import { progressOf, servingDetailsOf } from '../indexing/lifecycle/index-progress.ts'
import type { ServingDetails, ServingSummary } from '../indexing/lifecycle/serving-summary.ts'
import { NO_STORED_STATE, type StoredState } from '../indexing/lifecycle/stored-state.ts'
import type { IndexProgress } from '../ports/search/index-status.ts'

export type TenantIndexState = { readonly progress: IndexProgress; readonly details: ServingDetails }

/** `name`: partition key of the index state. */
export function openTenantIndexState(dynamo: TableClient, name: string): TenantIndexState {
  const stored = new DynamoDbSharedRowsReader<StoredState, ServingSummary>(dynamo, name, NO_STORED_STATE)
  return { progress: progressOf(stored), details: servingDetailsOf(stored) }
}
