/** Measures the lag of the table's index on AWS. Publishes it as a metric, and in a row for readers of that index. */
import { setTimeout as wait } from 'node:timers/promises'
import { noteLag } from '../../adapters/dynamodb/store/index-lag.ts'
import { heartbeatItem, hiddenHeartbeats } from '../../adapters/dynamodb/stream/heartbeat.ts'
import { measureTableIndexLag, NOTED_LAG_MS } from '../../indexing/table-index-lag.ts'
import { BEATS_AT_ONCE, type ShardHeartbeat } from '../../ports/search/heartbeat.ts'
import { logTableIndexLag, report } from './log.ts'
import { clock, deploymentSettings, resourceTable } from './ports.ts'

/** Writes beats to the table, and measures when its index shows them. */
export function beatSender() {
  const measurements: Promise<number>[] = []
  return {
    /** Writes the beats. Does not wait for an index that lags. */
    async send(beats: readonly ShardHeartbeat[]): Promise<void> {
      for (let from = 0; from < beats.length; from += BEATS_AT_ONCE) {
        const slice = beats.slice(from, from + BEATS_AT_ONCE)
        const sent = clock().now()
        await resourceTable().putAll(slice.map(heartbeatItem))
        const measurement = measure(slice, sent)
        measurements.push(measurement)
        const isLast = from + BEATS_AT_ONCE >= beats.length
        if (!isLast) await Promise.race([measurement.catch(() => undefined), wait(NOTED_LAG_MS)])
      }
    },
    /** Logs the greatest lag, or an error. Resolves within about a minute after the beats were sent, and never rejects. `at`: ms since 1970. */
    async logLag(at: number): Promise<void> {
      try {
        logTableIndexLag(Math.max(...(await Promise.all(measurements))), { stage: deploymentSettings().stage, at })
      } catch (error) {
        report(error, 'table index lag')
      }
    },
  }
}

function measure(beats: readonly ShardHeartbeat[], sent: number): Promise<number> {
  const table = resourceTable()
  const parts = {
    hidden: (some: readonly ShardHeartbeat[]) => hiddenHeartbeats(table, some),
    note: (instant: number, lag: number) => noteLag(table, instant, lag),
    now: () => clock().now(),
    wait: (time: number) => wait(time),
  }
  return measureTableIndexLag(parts, beats, sent)
}
