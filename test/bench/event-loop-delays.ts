/** Loaded into a server before it starts (`--import`): tells how long its serving thread was held, in processor time of its own. */
import { isMainThread } from 'node:worker_threads'

/** Microseconds. `longest`: between two turns of the event loop. */
export type EventLoopDelays = { readonly longest: number; readonly all: number }

/** Milliseconds: what takes less is not told apart. */
const TICK = 2

if (isMainThread && process.send !== undefined) {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  let [began, last, longest] = [used(), used(), 0]
  const look = (): void => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
  }
  setInterval(look, TICK).unref()
  process.on('message', () => {
    look()
    process.send!({ longest, all: last - began } satisfies EventLoopDelays)
    ;[began, longest] = [last, 0]
  })
  process.channel?.unref()
}
