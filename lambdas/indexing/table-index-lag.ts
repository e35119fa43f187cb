/** Measures how long the index of the table takes to show writes, with the beats of a heartbeat. Readers of that index wait accordingly. */
import type { ShardHeartbeat } from '../ports/search/heartbeat.ts'

export type TableIndexLagParts = {
  /** Returns the beats, of those given, that the index of the table does not show yet. */
  readonly hidden: (beats: readonly ShardHeartbeat[]) => Promise<readonly ShardHeartbeat[]>
  /** Reports to readers the lag of writes at the instant `sent`. `sent`: ms since 1970; `lag`: ms. */
  readonly note: (sent: number, lag: number) => Promise<unknown>
  readonly now: () => number
  readonly wait: (time: number) => Promise<unknown>
}

/** Minimum lag that is reported to readers, in ms; a shorter lag is usual. Then the growth factor that triggers the next report. */
const [NOTED, AGAIN] = [1_000, 1.5]
/** Maximum duration of a measurement, in ms. Longer than any reader waits, and than the time until the next heartbeat. */
const LONGEST = 61_000
/** Pause between two checks, in ms: the first pause, which doubles each time, and the maximum. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [25, 1_000]

/**
 * Returns the time, in ms, from the sending of the beats until the index shows them all. If the measurement gives up, returns the time
 * until then. Reports a growing lag to readers, so that they do not continue meanwhile.
 */
export async function measureTableIndexLag(
  { hidden, note, now, wait }: TableIndexLagParts,
  beats: readonly ShardHeartbeat[],
  sent: number,
): Promise<number> {
  let left = beats
  let noted = NOTED / AGAIN
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    left = await hidden(left)
    const lag = Math.max(0, now() - sent)
    const isOver = left.length === 0 || lag >= LONGEST
    if (lag >= (isOver ? NOTED : AGAIN * noted)) {
      await note(sent, lag)
      noted = lag
    }
    if (isOver) return lag
    await wait(pause)
  }
}
