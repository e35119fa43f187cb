/**
 * Others pass. All requests share one thread: what may take long is done in slices, and each piece asks first whether the slice is used up.
 */
import type { Awaitable } from './interaction.ts'

/** Milliseconds since the event loop last turned, after which others pass. */
const SLICE = 20

/** When the first piece of this turn was begun. */
let began: number | undefined

/** undefined: go on at once. */
export function othersPass(): Promise<void> | undefined {
  const now = performance.now()
  if (began === undefined) {
    began = now
    setImmediate(() => {
      began = undefined
    })
  }
  // Of several that waited, the first may have used up the new slice.
  return now - began < SLICE ? undefined : new Promise<void>((resolve) => setImmediate(resolve)).then(othersPass)
}

/** Begins the work on all items, in slices; what an item promises is not waited for. */
export async function inSlices<T, U>(items: readonly T[], each: (item: T, index: number) => U): Promise<readonly U[]> {
  const made: U[] = []
  for (const [index, item] of items.entries()) {
    const pause = othersPass()
    if (pause !== undefined) await pause
    const one = each(item, index)
    // Whoever waits for it is told; until then it is not unhandled.
    if (one instanceof Promise) one.catch(() => undefined)
    made.push(one)
  }
  return made
}

/** Works on one item after the other, in slices. */
export async function inTurn<T, U>(items: Iterable<T>, each: (item: T) => Awaitable<U>): Promise<readonly U[]> {
  const made: U[] = []
  for (const item of items) {
    const pause = othersPass()
    if (pause !== undefined) await pause
    const one = each(item)
    made.push(one instanceof Promise ? await one : one)
  }
  return made
}
