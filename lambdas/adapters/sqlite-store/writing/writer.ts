/** Sends commits to the writer thread and returns their results. */
import { Worker } from 'node:worker_threads'
import { MachineFault } from '../../../ports/faults.ts'
import type { CommitResult, UniquenessGuard, Write } from '../../../ports/store/resource-store.ts'
import { isDiskFull } from '../../sqlite-file/sqlite-errors.ts'
import type { KeyFilter } from '../keys/key-filter.ts'
import { type BatchReply, type CommitReply, packCommit } from './commit-message.ts'
import type { ThreadData, WriterData, WriterMessage } from './writer-thread.ts'

const MOST_WRITES = 20_000
const MOST_BYTES = 256_000_000
/**
 * Maximum size of the thread's young generation (V8 heap) in megabytes. A small one suffices: objects of one commit are garbage when the
 * next one arrives.
 */
const YOUNG_GENERATION = 6

type Waiting = {
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: Error) => void
  readonly writes: number
  readonly bytes: number
}

export type CommitWriterParts = {
  readonly data: WriterData
  readonly position: number
  /** Filter of the key table. The writer thread adds keys to it. */
  readonly old: KeyFilter
  /** Clock for the age of uniqueness guards, in milliseconds since 1970. Default: the newest lastUpdated of each commit. */
  readonly now?: (() => number) | undefined
  readonly onCommit?: (() => void) | undefined
}

export class CommitWriter {
  readonly #data: ThreadData
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #number = 0
  #writes = 0
  #bytes = 0
  #position = 0
  #closed = false
  readonly #now: (() => number) | undefined
  readonly #onCommit: () => void

  constructor({ data, position, old, now, onCommit = () => undefined }: CommitWriterParts) {
    this.#data = { ...data, keys: old.shared }
    this.#now = now
    this.#onCommit = onCommit
    this.#position = position
    this.#worker = this.#start()
  }

  /** Position of the last acknowledged version. */
  get position(): number {
    return this.#position
  }

  commit(writes: readonly Write[], guards: readonly UniquenessGuard[]): Promise<CommitResult> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    if (this.#writes > MOST_WRITES || this.#bytes > MOST_BYTES)
      return Promise.reject(new MachineFault('overloaded', 'too many writes are waiting'))
    const message = packCommit(++this.#number, writes, guards, this.#now?.() ?? newestOf(writes))
    const bytes = message.bodies.byteLength
    this.#writes += writes.length
    this.#bytes += bytes
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.number, { resolve, reject, writes: writes.length, bytes })
      this.#worker ??= this.#start()
      this.#worker.ref()
      this.#worker.postMessage(message satisfies WriterMessage, [message.bodies])
    })
  }

  /** Rejects further commits, completes pending ones, then ends the thread. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const worker = this.#worker
    if (worker === undefined) return
    // An unreferenced thread would let the process end before the thread finishes.
    worker.ref()
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    worker.postMessage('close' satisfies WriterMessage)
    await ended
  }

  #start(): Worker {
    const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), {
      name: 'fhir-store',
      workerData: this.#data,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    worker.on('message', (reply: BatchReply) => this.#acknowledge(reply))
    worker.on('error', (error) => this.#broken(worker, error as Error))
    worker.on('exit', () => this.#broken(worker, new Error('the writer thread ended')))
    worker.unref()
    return worker
  }

  #acknowledge({ replies, position }: BatchReply): void {
    this.#position = position
    for (const reply of replies) {
      const waiting = this.#take(reply.number)
      if (reply.failed === undefined) waiting?.resolve(resultOf(reply))
      else waiting?.reject(failureOf(reply.failed, reply.fault))
    }
    this.#onCommit()
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    if (waiting === undefined) return undefined
    this.#waiting.delete(number)
    this.#writes -= waiting.writes
    this.#bytes -= waiting.bytes
    if (this.#waiting.size === 0 && !this.#closed) this.#worker?.unref()
    return waiting
  }

  /** Rejects pending commits after the thread ended. Each may be stored or not. The next commit starts a new thread. */
  #broken(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const reason = isDiskFull(error) ? new MachineFault('disk-full', FULL, { cause: error }) : error
    for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(reason)
  }
}

const FULL = 'the disk takes no more resources'

function failureOf(text: string, fault: CommitReply['fault']): Error {
  // guard: full-disk-is-told-by-the-store
  if (fault === 'full') return new MachineFault('disk-full', `${FULL}: ${text}`)
  return fault === 'damaged' ? new MachineFault('store-damaged', text) : new Error(`the commit failed: ${text}`)
}

const newestOf = (writes: readonly Write[]): number => writes.reduce((newest, { lastUpdated }) => Math.max(newest, lastUpdated), 0)

function resultOf({ write, held: [first, ...others] = [] }: CommitReply): CommitResult {
  if (write !== undefined) return { kind: 'conflict', index: write }
  if (first !== undefined) return { kind: 'guarded', ...first, ...(others.length === 0 ? {} : { others }) }
  return { kind: 'committed' }
}
