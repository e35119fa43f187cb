/**
 * Others pass. All requests share one thread: what may take long is done in slices, and each piece asks first whether the slice is used up.
 */
import { FhirError } from '../fhir/outcome.ts'
import type { Awaitable } from './interaction.ts'

/** Milliseconds since the event loop last turned, after which others pass. */
const SLICE = 20

/** When the first piece of this turn was begun. */
let began: number | undefined
/** Those who found it used up. One goes on in each turn, so that nobody does before who waits for longer. */
const waiting: (() => void)[] = []

/** undefined: go on at once. */
export function yieldIfDue(): Promise<void> | undefined {
  const now = performance.now()
  began ??= beginTurn(now)
  return now - began < SLICE ? undefined : new Promise((resolve) => waiting.push(resolve))
}

function beginTurn(now: number): number {
  setImmediate(() => {
    const next = waiting.shift()
    began = next === undefined ? undefined : beginTurn(performance.now())
    next?.()
  })
  return now
}

/** Between two pieces that may each be longer than a slice. */
export const yieldNow = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Promises under way at once: more would only wait in the queue of the index, until it takes them for late. */
const AT_ONCE = 32

/**
 * Works on all items, on some of them at once where they wait for something, in slices. Whoever takes the promises is told what failed; where
 * a machine did, no other item is begun: each might wait as long.
 */
export async function mapInSlices<T, U>(items: readonly T[], each: (item: T, index: number) => U): Promise<readonly U[]> {
  const made: U[] = []
  const underWay = new Set<Promise<unknown>>()
  const machine = new Machine()
  for (const [index, item] of items.entries()) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const one = each(item, index)
    made.push(one)
    if (!(one instanceof Promise)) continue
    const settled: Promise<unknown> = machine
      .watch(one)
      .then(noop, noop)
      .then(() => underWay.delete(settled))
    underWay.add(settled)
    if (underWay.size === AT_ONCE) await Promise.race(underWay)
    machine.mustWork()
  }
  return made
}

const noop = (): void => undefined

/** Remembers that it failed: by an error that is nobody's answer. */
class Machine {
  #failed: { readonly error: unknown } | undefined

  async watch<T>(task: Promise<T>): Promise<T> {
    try {
      return await task
    } catch (error) {
      if (!(error instanceof FhirError)) this.#failed ??= { error }
      throw error
    }
  }

  /** Its error, where it failed. */
  mustWork(): void {
    if (this.#failed !== undefined) throw this.#failed.error
  }
}

/** For tasks that come from several places: runs so many at once; those that came later wait for their turn, and fail when a machine has. */
export function limitConcurrency(atOnce: number = AT_ONCE): <T>(task: () => Promise<T>) => Promise<T> {
  let running = 0
  const machine = new Machine()
  const waiting: (() => void)[] = []
  return async (task) => {
    if (running === atOnce) await new Promise<void>((resolve) => waiting.push(resolve))
    else running++
    try {
      machine.mustWork()
      return await machine.watch(task())
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}

/** Works on one item after the other, in slices. */
export async function mapInOrder<T, U>(items: Iterable<T>, each: (item: T) => Awaitable<U>): Promise<readonly U[]> {
  const made: U[] = []
  for (const item of items) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const one = each(item)
    made.push(one instanceof Promise ? await one : one)
  }
  return made
}
