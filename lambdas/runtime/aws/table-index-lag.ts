/** Measures the lag of the table's index on AWS. Publishes it as a metric, and in a row for readers of that index. */
import { setTimeout as wait } from 'node:timers/promises'
import { noteLag } from '../../adapters/dynamodb/store/index-lag.ts'
import { hiddenHeartbeats } from '../../adapters/dynamodb/stream/heartbeat.ts'
import { beatsOf } from '../../indexing/stream/heartbeat.ts'
import { measureTableIndexLag } from '../../indexing/table-index-lag.ts'
import { logTableIndexLag, report } from './log.ts'
import { clock, deploymentSettings, resourceTable } from './ports.ts'

/**
 * Logs the lag of the table's index, or an error. Resolves within about a minute and never rejects. `sent`: instant at which the heartbeat
 * was sent, in milliseconds since 1970.
 */
export async function reportTableIndexLag(sent: number): Promise<void> {
  const table = resourceTable()
  const parts = {
    hidden: (beats: Parameters<typeof hiddenHeartbeats>[1]) => hiddenHeartbeats(table, beats),
    note: (instant: number, lag: number) => noteLag(table, instant, lag),
    now: () => clock().now(),
    wait: (time: number) => wait(time),
  }
  try {
    logTableIndexLag(await measureTableIndexLag(parts, beatsOf(sent), sent), { stage: deploymentSettings().stage, at: sent })
  } catch (error) {
    report(error, 'table index lag')
  }
}
