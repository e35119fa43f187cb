/** The cloud home's tables that were restored: what the template says of them. */
import { adoptTable, type CapacityUnits, type TableRequirements } from '../../adapters/dynamodb/stream/restored-table.ts'
import { DeploymentError, type ResourceProperties } from './custom-resource.ts'

/**
 * `Resources`, `State`: their names; no `State` where that table stays. `Key`: ARN of what encrypts them. `Most`, `Warm`: units a second of the
 * table of resources, `READS WRITES`. `Former`: the name of the table before, `Instant`: to which it was set back. Gives the ARN of the stream
 * that is followed.
 */
export async function adoptTables(properties: ResourceProperties): Promise<{ readonly StreamArn: string }> {
  const { Resources = '', State, Key: key = '', Most, Warm, Former, Instant = '' } = properties
  const StreamArn = await adopted({
    ...{ name: Resources, key, isFollowed: true },
    ...(Most === undefined ? {} : { most: unitsOf(Most) }),
    ...(Warm === undefined ? {} : { warm: unitsOf(Warm) }),
    ...(Former === undefined ? {} : { former: { name: Former, instant: Date.parse(Instant) } }),
  })
  if (State !== undefined) await adopted({ name: State, key, isFollowed: false })
  return { StreamArn }
}

/** What is wrong with a table is told to who deploys. */
const adopted = (wanted: TableRequirements): Promise<string> =>
  adoptTable(wanted).catch((error: Error) => {
    throw error instanceof RangeError ? new DeploymentError(error.message) : error
  })

function unitsOf(text: string): CapacityUnits {
  const [reads = 0, writes = 0] = text.split(' ').map(Number)
  return { reads, writes }
}
