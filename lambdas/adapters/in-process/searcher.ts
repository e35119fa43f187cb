/** SearchIndex on a thread of its own: searches never block the thread that serves, and see everything acknowledged before them. */
import { Worker } from 'node:worker_threads'
import type { HitPage, IndexDocument, SearchIndex } from '../../ports/search-index.ts'
import { TooCostly } from '../../ports/too-costly.ts'
import type { Plan } from '../../search/plan.ts'

export type SearcherData = { readonly store: string; readonly index: string }

export type SearcherMessage =
  | { readonly kind: 'follow'; readonly position: number }
  | { readonly kind: 'find'; readonly number: number; readonly plan: Plan; readonly position: number }
  | { readonly kind: 'close' }

export type SearcherReply =
  | { readonly kind: 'position'; readonly position: number }
  | { readonly kind: 'found'; readonly number: number; readonly page: HitPage }
  | { readonly kind: 'failed'; readonly number: number; readonly reason: string }
  | { readonly kind: 'poison'; readonly type: string; readonly reason: string }

export type SearcherOptions = SearcherData & {
  /** The thread's program. */
  readonly thread: URL
  /** The position in the store's feed up to which writes were acknowledged. */
  readonly acknowledged: () => number
  /** Milliseconds a search may take. */
  readonly budget: number
  readonly report: (error: unknown) => void
}

type Waiting = {
  readonly plan: Plan
  readonly resolve: (page: HitPage) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

export class Searcher implements SearchIndex {
  readonly #options: SearcherOptions
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker
  #number = 0
  #position = 0
  #closed = false

  constructor(options: SearcherOptions) {
    this.#options = options
    this.#worker = this.#start()
    this.follow()
  }

  /** The store has acknowledged more. */
  follow(): void {
    this.#post({ kind: 'follow', position: this.#options.acknowledged() })
  }

  /** Acknowledged versions that are not indexed yet. */
  lag(): number {
    return Math.max(0, this.#options.acknowledged() - this.#position)
  }

  find(plan: Plan): Promise<HitPage> {
    if (this.#closed) return Promise.reject(new Error('the index is closed'))
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#overBudget(number), this.#options.budget)
      this.#waiting.set(number, { plan, resolve, reject, timer })
      this.#ask(number, plan)
    })
  }

  /** Its thread applies what the store holds; nobody hands it documents. */
  apply(_documents: readonly IndexDocument[]): Promise<void> {
    return Promise.reject(new TypeError('this index follows its store'))
  }

  caughtUp(): Promise<boolean> {
    return Promise.resolve(true)
  }

  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    // An unreferenced thread would let the process end before it has.
    worker.ref()
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    this.#post({ kind: 'close' })
    await ended
  }

  #ask(number: number, plan: Plan): void {
    this.#post({ kind: 'find', number, plan, position: this.#options.acknowledged() })
  }

  #post(message: SearcherMessage): void {
    this.#worker.postMessage(message)
  }

  #start(): Worker {
    const { thread, store, index } = this.#options
    const worker = new Worker(thread, { workerData: { store, index } satisfies SearcherData })
    worker.on('message', (reply: SearcherReply) => this.#receive(reply))
    worker.on('error', (error) => this.#options.report(error))
    worker.on('exit', () => this.#ended(worker))
    worker.unref()
    return worker
  }

  #receive(reply: SearcherReply): void {
    switch (reply.kind) {
      case 'position':
        this.#position = reply.position
        return
      case 'found':
        return this.#take(reply.number)?.resolve(reply.page)
      case 'failed':
        return this.#take(reply.number)?.reject(new Error(`the search failed: ${reply.reason}`))
      case 'poison':
        return this.#options.report(new Error(`a ${reply.type} could not be indexed: ${reply.reason}`))
    }
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    clearTimeout(waiting?.timer)
    return waiting
  }

  /** SQLite cannot be stopped from outside: the thread is, and another takes over. */
  #overBudget(number: number): void {
    this.#take(number)?.reject(new TooCostly('the search used up its budget'))
    void this.#worker.terminate()
  }

  #ended(worker: Worker): void {
    if (worker !== this.#worker || this.#closed) return
    this.#worker = this.#start()
    this.follow()
    for (const [number, { plan }] of this.#waiting) this.#ask(number, plan)
  }
}
