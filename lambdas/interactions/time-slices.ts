/** Long work in time slices, because all requests share one thread. Work yields between two steps if its slice is used up. */
import { FhirError } from '../fhir/outcome.ts'
import type { Awaitable } from './interaction.ts'

/** Maximum milliseconds of sliced work in one turn of the event loop. Then the work yields to other requests. */
const SLICE = 20

/** Start of the first step in this turn of the event loop. */
let began: number | undefined
/** Work that has yielded, in order. Each turn resumes one, so that none overtakes work that has waited longer. */
const waiting: (() => void)[] = []

/** Returns undefined if the work may continue at once. Otherwise returns a promise for its turn. */
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

/** Yields in any case. Use it between two steps that may each take longer than a slice. */
export const yieldNow = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Maximum concurrent promises. More would only wait in the queue of the index, until the index considers them late. */
const AT_ONCE = 32

/**
 * Calls `each` for all items, in time slices, with a limited number of concurrent promises. A rejection stays in the returned promise of
 * its item. After a machine fault no further item starts, because each might wait as long: the call itself rejects.
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

/** Remembers the first machine fault: any error that is not a FhirError, and so no regular response. */
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

  /** Throws the machine fault, if there was one. */
  mustWork(): void {
    if (this.#failed !== undefined) throw this.#failed.error
  }
}

/**
 * Returns a function that runs tasks, at most `atOnce` at a time. Others wait in order. After a machine fault, the function starts no more
 * tasks: waiting and new ones reject with that fault.
 */
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

/** Calls `each` for one item after the other, in time slices. */
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
