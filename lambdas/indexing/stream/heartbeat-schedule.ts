/**
 * Decides when the sweep of every minute sends a heartbeat: each time, but less often while nothing is written, because each beat costs
 * write units. Without writes an old heartbeat loses nothing: what follows it is read from the store anyway, and there is little.
 */
import type { Rows } from '../../ports/rows/rows.ts'
import { type HeartbeatState, latestHeartbeatOf } from './heartbeat.ts'

/** `sent`: when the latest heartbeat was sent. `written`: when the indexer last noted records of versions. Both in ms since 1970. */
type Activity = { readonly sent?: number; readonly written?: number }

const [SHELF, ROW] = ['PULSE_ACTIVITY', 'stream'] as const
/**
 * Time in milliseconds after which a heartbeat is also sent without writes, by the third sweep. The heartbeat is then three minutes old, two
 * less than MAX_HEARTBEAT_AGE_MS. The sweeps begin up to some seconds early.
 */
const IDLE = 150_000
/** Minimum time in milliseconds between two notes of a process. */
const NOTED = 30_000

export class HeartbeatSchedule {
  readonly #rows: Rows
  #noted = Number.NEGATIVE_INFINITY

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Notes that versions have come through the stream. */
  async noteWrites(now: number): Promise<void> {
    if (now < this.#noted + NOTED) return
    this.#noted = now
    await this.#rows.change<Activity>(SHELF, ROW, (before) => ({ ...before, written: Math.max(now, before?.written ?? 0) }))
  }

  /**
   * Whether to send a heartbeat now, and notes that it is sent. It is due unless nothing was written since the latest one, which is complete
   * and recent.
   */
  async isDue(state: HeartbeatState, now: number): Promise<boolean> {
    const { sent = 0, written = 0 } = (await this.#rows.read<Activity>(SHELF, ROW)) ?? {}
    const isComplete = (latestHeartbeatOf(state) ?? 0) >= sent
    if (isComplete && written < sent && now < sent + IDLE) return false
    await this.#rows.change<Activity>(SHELF, ROW, (before) => ({ ...before, sent: now }))
    return true
  }
}
