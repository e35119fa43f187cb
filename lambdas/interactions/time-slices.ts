/**
 * Divides long work into time slices, because all requests share one thread. When a slice is used up, the work yields before its next step.
 */
import { FhirError } from '../fhir/outcome.ts'

/** Maximum milliseconds of sliced work in one turn of the event loop. Then the work yields to other requests. */
const SLICE = 20

/** Start of the current slice, by performance.now(). undefined: no slice has begun in this turn of the event loop. */
let began: number | undefined
/** Work that has yielded, in order. Each turn of the event loop resumes the first, so that none overtakes work that has waited longer. */
const waiting: (() => void)[] = []

/** Returns undefined if the current slice has time left. Otherwise returns a promise that resolves when the work may continue. */
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

/** Default maximum of concurrent promises. More would wait in the queue of the index so long that they exceed its time limit. */
const AT_ONCE = 32

/**
 * Calls `each` for all items, in time slices, with at most AT_ONCE pending promises. Returns the results without awaiting the last
 * promises. A FhirError rejects only the promise of its item. After a machine fault the call itself rejects and starts no further item,
 * which might wait as long.
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

/** Stores the first machine fault of its tasks: any error that is not a FhirError. */
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

  /** Throws the stored machine fault, if there is one. */
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

/** Calls `each` for one item after the other, awaiting each result, in time slices. */
export async function mapInOrder<T, U>(items: Iterable<T>, each: (item: T) => U | Promise<U>): Promise<readonly U[]> {
  const made: U[] = []
  for (const item of items) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const one = each(item)
    made.push(one instanceof Promise ? await one : one)
  }
  return made
}
