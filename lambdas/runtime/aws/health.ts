/**
 * Handler of the function that answers `GET /health`. It runs without the steps of a pipeline: there is no caller to authenticate, and the
 * response holds no data, so there is nothing to audit. The processes of the function share nothing, so each checks the tables for itself.
 */
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { readSentHeartbeat } from '../../adapters/dynamodb/stream/heartbeat.ts'
import type { TableClient } from '../../adapters/dynamodb/table-client.ts'
import { type GatewayEvent, type GatewayResult, requestIdOf, resultOf } from '../../http/gateway-event.ts'
import { decode, INDEX_STATE, NO_STORED_STATE } from '../../indexing/lifecycle/stored-state.ts'
import { type HeartbeatState, indexHealthOf, NO_HEARTBEAT } from '../../indexing/stream/heartbeat.ts'
import type { IndexHealth } from '../../ports/search/index-status.ts'
import { healthEndpoint } from '../health.ts'
import { report } from './log.ts'
import { clock, resourceTable, stateTable } from './ports.ts'

/** Milliseconds after which a check sends no further attempt to DynamoDB. Load balancers wait a few seconds for a response. */
const LONGEST_CHECK = 2_000

export function healthHandler(): (event: GatewayEvent) => Promise<GatewayResult> {
  const now = () => clock().now()
  const answer = healthEndpoint({
    check: () => {
      const end = now() + LONGEST_CHECK
      return checkTables(resourceTable().until(end, now), stateTable().until(end, now), now())
    },
    now,
    report,
  })
  return async (event) => {
    const { status, headers, body = '' } = await answer({ requestId: requestIdOf(event, () => clock().newId()) })
    return resultOf(event, { status, headers, body: [new TextEncoder().encode(body)] })
  }
}

/** Reads both tables, and returns the health of the search index by its heartbeats. Throws if a table does not respond. */
export async function checkTables(resources: TableClient, state: TableClient, now: number): Promise<IndexHealth> {
  const heartbeats = new DynamoDbSharedState<HeartbeatState>(state, 'PULSE', NO_HEARTBEAT)
  const indices = new DynamoDbSharedState(state, INDEX_STATE, NO_STORED_STATE)
  const [{ value }, { value: index }] = await Promise.all([heartbeats.read(), indices.read(), readSentHeartbeat(resources)])
  return indexHealthOf(value, decode(index).types, now)
}
