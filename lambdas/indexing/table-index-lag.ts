/** Measures how late the index of the table shows what was written, by the beats of a pulse. Readers of that index wait accordingly. */
import type { ShardHeartbeat } from '../ports/search/heartbeat.ts'

export type TableIndexLagParts = {
  /** Returns the beats, of those given, that the index of the table does not show yet. */
  readonly hidden: (beats: readonly ShardHeartbeat[]) => Promise<readonly ShardHeartbeat[]>
  /** Reports to readers the lag of the writes at an instant. */
  readonly note: (sent: number, lag: number) => Promise<unknown>
  readonly now: () => number
  readonly wait: (time: number) => Promise<unknown>
}

/** Lag from which readers get a report, in ms: a shorter one is usual. Then the growth factor that causes the next report. */
const [NOTED, AGAIN] = [1_000, 1.5]
/** Longer than any reader waits, and than it takes until the next pulse: ms. */
const LONGEST = 61_000
/** Between two looks, ms: at first, doubled each time, and at the most. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [25, 1_000]

/**
 * Returns the time, in ms, from the sending of the beats until the index shows them all, or the time until it gives up. Reports a growing lag
 * to readers, so that they do not go on meanwhile.
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
