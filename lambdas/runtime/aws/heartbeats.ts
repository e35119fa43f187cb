/** Heartbeats on AWS: their state and rows are in the state table, and their beats in the table of the resources, whose stream delivers them. */
import { DynamoDbRows } from '../../adapters/dynamodb/rows/rows.ts'
import { DynamoDbSharedState } from '../../adapters/dynamodb/rows/shared-state.ts'
import { countOpenShards, streamsClient } from '../../adapters/dynamodb/stream/open-shards.ts'
import {
  collectBeats,
  type HeartbeatParts,
  type HeartbeatState,
  isIncomplete,
  NO_HEARTBEAT,
  sendHeartbeat,
  storeBeats,
} from '../../indexing/stream/heartbeat.ts'
import { HeartbeatSchedule } from '../../indexing/stream/heartbeat-schedule.ts'
import { MAX_STREAM_PARTITIONS, type ShardHeartbeat } from '../../ports/search/heartbeat.ts'
import { once } from '../once.ts'
import { report, warn } from './log.ts'
import { clock, deploymentSettings, stateTable } from './ports.ts'
import { beatSender } from './table-index-lag.ts'

const streams = /* @__PURE__ */ once(() => streamsClient())

/**
 * Returns the number of partitions of the stream. Lambda divides each shard further by the hash of the keys, and each of these parts is only
 * ordered by itself.
 */
async function countPartitions(): Promise<number> {
  const { stream, streamParallelization: each } = deploymentSettings()
  return each * (await countOpenShards(streams(), stream, MAX_STREAM_PARTITIONS / each))
}

const reportFailure = (error: unknown): void => report(error, 'pulse')

export class Heartbeats {
  readonly #schedule: HeartbeatSchedule
  readonly #parts: Omit<HeartbeatParts, 'send'>

  constructor(parts: Pick<HeartbeatParts, 'tell' | 'missed'>) {
    const rows = new DynamoDbRows(stateTable())
    const state = new DynamoDbSharedState<HeartbeatState>(stateTable(), 'PULSE', NO_HEARTBEAT)
    this.#schedule = new HeartbeatSchedule(rows)
    this.#parts = { state, rows, newId: () => clock().newId(), partitions: countPartitions, report, ...parts }
  }

  /**
   * Records beats that arrived. Throws if it cannot store them, so that Lambda delivers them again. Only logs any other failure: the index
   * then appears further behind until the next heartbeat arrives.
   */
  async follow(beats: readonly ShardHeartbeat[]): Promise<void> {
    if (beats.length > 0 && (await storeBeats(this.#parts, beats))) await this.collect()
  }

  /** Notes that versions have come through the stream. Only logs a failure: the next heartbeat is then sent later. */
  async noteWrites(): Promise<void> {
    await this.#schedule.noteWrites(clock().now()).catch(reportFailure)
  }

  /** Collects beats that arrived, and writes the heartbeat to the indices if that failed before. Only logs a failure. */
  async collect(): Promise<void> {
    await collectBeats(this.#parts, clock().now()).catch(reportFailure)
  }

  /** Sends a heartbeat if it is due. Returns the state. `measuring`: measurement of the table's index by its beats; may take a minute. */
  async send(at: number): Promise<{ readonly state: HeartbeatState; readonly measuring?: Promise<void> }> {
    const { value } = await this.#parts.state.read()
    if (!(await this.#schedule.recordIfDue(value, at))) return { state: value }
    const sender = beatSender()
    const state = await sendHeartbeat({ ...this.#parts, send: sender.send }, at)
    if (isIncomplete(state, at))
      warn(
        `the stream of the table has more than ${MAX_STREAM_PARTITIONS} partitions, or they were not counted for an hour: no heartbeat becomes complete`,
      )
    return { state, measuring: sender.logLag(at) }
  }
}
