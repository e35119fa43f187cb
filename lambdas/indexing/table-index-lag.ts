/**
 * Measures how long the global secondary index of the DynamoDB table takes to show writes. The beats of a heartbeat serve as test writes.
 * Readers of that index wait according to the reported lag.
 */
import type { ShardHeartbeat } from '../ports/search/heartbeat.ts'

export type TableIndexLagParts = {
  /** Returns those of the given beats that the secondary index holds, but does not show yet. It holds some of the beats only. */
  readonly hidden: (beats: readonly ShardHeartbeat[]) => Promise<readonly ShardHeartbeat[]>
  /** Reports the lag to readers. `sent`: instant of the measured writes, in ms since 1970. `lag`: in ms. */
  readonly note: (sent: number, lag: number) => Promise<unknown>
  readonly now: () => number
  readonly wait: (time: number) => Promise<unknown>
}

/** Minimum lag that is reported to readers, in ms; a shorter lag is usual. */
export const NOTED_LAG_MS = 1_000
/** A lag that grew by this factor since the last report is reported again. */
const REPORT_FACTOR = 1.5
/** Duration, in ms, after which a measurement gives up. It exceeds the wait of any reader and the minute between two heartbeats. */
const LONGEST = 61_000
/** Pauses between two checks, in ms. The first pause is FIRST_PAUSE. Each next one is twice as long, up to LONGEST_PAUSE. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [25, 1_000]

/**
 * Returns the time, in ms, from `sent` until the secondary index shows all its beats. If the measurement gives up, returns the time until
 * then. Already reports a growing lag during the measurement, so that readers wait long enough meanwhile.
 */
export async function measureTableIndexLag(
  { hidden, note, now, wait }: TableIndexLagParts,
  beats: readonly ShardHeartbeat[],
  sent: number,
): Promise<number> {
  let left = beats
  let noted = NOTED_LAG_MS / REPORT_FACTOR
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    left = await hidden(left)
    const lag = Math.max(0, now() - sent)
    const isOver = left.length === 0 || lag >= LONGEST
    if (lag >= (isOver ? NOTED_LAG_MS : REPORT_FACTOR * noted)) {
      await note(sent, lag)
      noted = lag
    }
    if (isOver) return lag
    await wait(pause)
  }
}
