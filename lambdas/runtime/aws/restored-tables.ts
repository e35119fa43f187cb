/** Prepares tables that were restored from a backup, during a deployment. */
import { adoptTable, type CapacityUnits, type TableRequirements } from '../../adapters/dynamodb/stream/restored-table.ts'
import { DeploymentError, type ResourceProperties } from './custom-resource.ts'

/**
 * Prepares restored tables, and returns the ARNs of their streams. `StreamArn` is that of the resource table. The properties come from the
 * template. `Resources`, `State`: table names. Without `State` the state table stays. `StateStream`: set if the state table needs a stream.
 * `Key`: ARN of their encryption key. `Most`: maximum throughput of the resource table. `Warm`: throughput that it accepts immediately;
 * `WarmIndex` and `WarmState`: the same of its index and of the state table. All are units per second, as `READS WRITES`. `Former`: name of
 * the previous resource table. `Instant`: time to which it was restored.
 */
export async function adoptTables(
  properties: ResourceProperties,
): Promise<{ readonly StreamArn: string; readonly StateStreamArn: string }> {
  const { Resources = '', State, StateStream, Key: key = '', Most, Warm, WarmIndex, WarmState, Former, Instant = '' } = properties
  const StreamArn = await adopted({
    ...{ name: Resources, key, isFollowed: true },
    ...(Most === undefined ? {} : { most: unitsOf(Most) }),
    ...(Warm === undefined ? {} : { warm: unitsOf(Warm) }),
    ...(WarmIndex === undefined ? {} : { warmIndex: unitsOf(WarmIndex) }),
    ...(Former === undefined ? {} : { former: { name: Former, instant: Date.parse(Instant) } }),
  })
  if (State === undefined) return { StreamArn, StateStreamArn: '' }
  const isArchived = StateStream !== undefined
  const warm = WarmState === undefined ? {} : { warm: unitsOf(WarmState) }
  return { StreamArn, StateStreamArn: await adopted({ name: State, key, isFollowed: false, isArchived, ...warm }) }
}

/**
 * Prepares a restored table, and returns the ARN of its stream. Throws a DeploymentError if the table does not fit, so that the operator
 * sees the reason.
 */
const adopted = (wanted: TableRequirements): Promise<string> =>
  adoptTable(wanted).catch((error: Error) => {
    throw error instanceof RangeError ? new DeploymentError(error.message) : error
  })

function unitsOf(text: string): CapacityUnits {
  const [reads = 0, writes = 0] = text.split(' ').map(Number)
  return { reads, writes }
}
