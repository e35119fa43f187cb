/** Module for a server under test (`--import`). Reports how long the server occupied its serving thread, in processor time of that thread. */
import { isMainThread } from 'node:worker_threads'

/** Microseconds since the last report. `longest`: maximum between two turns of the event loop. */
export type EventLoopDelays = { readonly longest: number; readonly all: number }

/** Milliseconds between two turns. Shorter tasks are not distinguished. */
const TICK = 2

if (isMainThread && process.send !== undefined) {
  const used = (): number => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  let [began, last, longest] = [used(), used(), 0]
  const measure = (): void => {
    const now = used()
    longest = Math.max(longest, now - last)
    last = now
  }
  setInterval(measure, TICK).unref()
  process.on('message', () => {
    measure()
    process.send!({ longest, all: last - began } satisfies EventLoopDelays)
    ;[began, longest] = [last, 0]
  })
  process.channel?.unref()
}
