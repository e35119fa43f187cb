/**
 * Decides when the sweep of every minute sends a heartbeat: each time, but less often while nothing is written, because each beat costs
 * write units. Conditional interactions read the writes after the latest heartbeat from the store, and without load these are few.
 */
import type { Rows } from '../../ports/rows/rows.ts'
import { type HeartbeatState, latestHeartbeatOf } from './heartbeat.ts'

/**
 * `sent`: when the latest heartbeat was sent. `written`: end of the time that the latest note covers. The indexer followed versions in it.
 * Both in ms since 1970.
 */
type Activity = { readonly sent?: number; readonly written?: number }

const [OWNER, NAME] = ['PULSE_ACTIVITY', 'stream'] as const
/**
 * Time in milliseconds after which a heartbeat is also sent without writes, by the third sweep. The heartbeat is then three minutes old, two
 * less than MAX_HEARTBEAT_AGE_MS. The sweeps begin up to some seconds early.
 */
const IDLE = 150_000
/** Time in milliseconds that a note covers. All processes share it. */
const NOTED = 30_000

export class HeartbeatSchedule {
  readonly #rows: Rows
  #notedUntil = Number.NEGATIVE_INFINITY

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** Notes that versions have come through the stream. */
  async noteWrites(now: number): Promise<void> {
    if (now < this.#notedUntil) return
    const { written = 0 } =
      (await this.#rows.change<Activity>(OWNER, NAME, (before) =>
        before?.written !== undefined && now < before.written ? before : { ...before, written: now + NOTED },
      )) ?? {}
    this.#notedUntil = written
  }

  /**
   * Returns whether a heartbeat is due, and records that it is sent. It is due unless nothing was written since the latest one, which is
   * recent, complete and in all indices.
   */
  async recordIfDue(state: HeartbeatState, now: number): Promise<boolean> {
    const { sent = 0, written = 0 } = (await this.#rows.read<Activity>(OWNER, NAME)) ?? {}
    const isEverywhere = [latestHeartbeatOf(state) ?? 0, ...Object.values(state.held).map((held) => held.sent)].every(
      (each) => each >= sent,
    )
    if (isEverywhere && written < sent && now < sent + IDLE) return false
    await this.#rows.change<Activity>(OWNER, NAME, (before) => ({ ...before, sent: now }))
    return true
  }
}
