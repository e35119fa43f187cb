/** Sends changes to the thread that writes the grants file. The first change starts the thread, so a process that only reads has none. */
import { Worker } from 'node:worker_threads'
import { MachineFault } from '../../ports/faults.ts'
import type { GrantValues } from './grant-changes.ts'
import type { GrantsWriterReply, GrantsWriterRequest } from './writer-thread.ts'

/** Maximum pending changes. A further change throws the fault `overloaded`. */
const MOST_WAITING = 5_000
/** Maximum size of the thread's young generation, in megabytes. It limits the memory of the thread. */
const YOUNG_GENERATION = 2

type Waiting = { readonly resolve: (done: boolean) => void; readonly reject: (error: unknown) => void }

export class GrantsWriter {
  readonly #file: string
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #number = 0
  #closed = false

  constructor(file: string) {
    this.#file = file
  }

  /**
   * Executes a change. Resolves when it is on disk, to whether it changed a row. After the faults `overloaded` and `disk-full` nothing was
   * changed, and the change can be tried again.
   */
  make(sql: string, values: GrantValues): Promise<boolean> {
    if (this.#closed) return Promise.reject(new Error('the grants are closed'))
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.reject(new MachineFault('overloaded', 'too many grants are waiting to be written'))
    return new Promise((resolve, reject) => {
      const number = ++this.#number
      this.#waiting.set(number, { resolve, reject })
      this.#worker ??= this.#start()
      this.#worker.ref()
      this.#worker.postMessage({ number, change: { sql, values } } satisfies GrantsWriterRequest)
    })
  }

  /** Waits for pending changes, then ends the thread. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const worker = this.#worker
    if (worker === undefined) return
    worker.ref()
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage('close' satisfies GrantsWriterRequest)
    await ended
  }

  #start(): Worker {
    const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      name: 'fhir-grants',
      workerData: this.#file,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    worker.on('message', (answered: GrantsWriterReply) => this.#answer(answered))
    worker.on('error', (error) => this.#broken(worker, error))
    worker.on('exit', () => this.#broken(worker, new Error('the thread that writes grants ended')))
    worker.unref()
    return worker
  }

  #answer(answered: GrantsWriterReply): void {
    if ('done' in answered) for (const [number, done] of answered.done) this.#take(number)?.resolve(done)
    else for (const number of answered.failed) this.#take(number)?.reject(errorOf(answered))
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    if (this.#waiting.size === 0 && !this.#closed) this.#worker?.unref()
    return waiting
  }

  /** Rejects the pending changes of a thread that ended. Each may be stored or not. The next change starts a new thread. */
  #broken(worker: Worker, error: unknown): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(error)
  }
}

function errorOf({ fault, text }: Extract<GrantsWriterReply, { readonly failed: unknown }>): Error {
  if (fault === 'busy') return new MachineFault('overloaded', text)
  // guard: full-disk-is-reported
  if (fault === 'full') return new MachineFault('disk-full', text)
  return fault === 'damaged' ? new MachineFault('store-damaged', text) : new Error(`grants cannot be written: ${text}`)
}
