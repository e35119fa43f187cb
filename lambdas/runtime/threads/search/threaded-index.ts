/**
 * Search index on a thread of its own, which reads its documents from the store. Searches never block the thread that serves requests.
 * They find every version acknowledged before them.
 */
import { Worker } from 'node:worker_threads'
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import { NotIndexed } from '../../../indexing/unindexable-versions.ts'
import { indexBehind, MachineFault } from '../../../ports/faults.ts'
import { ALWAYS_FALSE, type Freshness, type GroupPlan, type Matching, type Plan } from '../../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexVisibility, OutdatedParameters, Searches } from '../../../ports/search/search-index.ts'
import { IndexProgress } from './index-progress.ts'
import type { IndexCall, RequiredPosition, SearchThreadData, SearchThreadMessage, SearchThreadReply } from './thread-messages.ts'

export type ThreadedIndexOptions = Omit<SearchThreadData, 'asked' | 'stored'> & {
  /** Program of the thread. */
  readonly thread: URL
  /** Returns the position in the change feed up to which writes were acknowledged, of one tenant or of all. */
  readonly acknowledged: (tenant?: string) => number
  readonly report: (error: unknown) => void
  readonly onDefinitions?: (definitions: unknown) => void
  /** Gets one-line messages for the operator. */
  readonly warn?: (line: string) => void
}

type Waiting = RequiredPosition & {
  readonly question: IndexCall
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Milliseconds until a failed thread is replaced. They double each time, until a thread makes progress or answers. */
const PAUSE = { first: 500, longest: 60_000 }
/** Maximum heap in MB: more than any search takes. A lower limit makes garbage collection run earlier, which saves about 60 MB. */
const LARGEST_HEAP = 1_024
/** Milliseconds that a thread has to close. The next thread reads uncommitted versions from the store again. */
const LONGEST_CLOSE = 3_000

export class ThreadedIndex implements Searches, IndexVisibility, OutdatedParameters {
  readonly #options: ThreadedIndexOptions
  readonly #waiting = new Map<number, Waiting>()
  readonly #asked = new Int32Array(new SharedArrayBuffer(4))
  #worker: Worker | undefined
  #number = 0
  readonly #progress: IndexProgress
  #closed = false
  #pause = PAUSE.first
  #isStoreDamaged = false

  constructor(options: ThreadedIndexOptions) {
    this.#options = options
    this.#progress = new IndexProgress(options.acknowledged)
    this.#start()
  }

  /** Makes the index follow the store after a write was acknowledged. */
  follow(): void {
    this.#post({ kind: 'follow', position: this.#options.acknowledged() })
  }

  /**
   * Returns the number of positions between the index and the last acknowledged version of the tenant. It includes positions of other
   * tenants. Without a tenant: of all.
   */
  lag(tenant?: string): number {
    return this.#progress.lag(tenant)
  }

  /**
   * Returns the milliseconds until the acknowledged versions in the line of the tenant are indexed. Returns 0 if that is unknown, or if the
   * index makes no progress.
   */
  delay(tenant: string): number {
    return this.#progress.delay(tenant, performance.now())
  }

  /** Position up to which the index has reported all versions of the change feed as indexed. */
  get position(): number {
    return this.#progress.positionOf()
  }

  /** Returns the position up to which the index has reported the versions of the tenant as indexed. */
  positionOf(tenant: string): number {
    return this.#progress.positionOf(tenant)
  }

  /** Whether the index follows the tenant apart from the others, at a separate pace. */
  isApart(tenant: string): boolean {
    return this.#progress.isApart(tenant)
  }

  /**
   * Returns a page of hits. `upTo`: position that the search must include. Absent: all acknowledged versions, or for eventual plans
   * whatever is indexed.
   */
  async find(plan: Plan, upTo = this.#positionFor(plan)): Promise<HitPage> {
    const page = await this.#askAt<HitPage>({ position: upTo, tenant: plan.tenant }, { method: 'find', of: [plan] })
    return plan.eventual ? { ...page, lag: this.lag(plan.tenant) } : page
  }

  distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]> {
    return this.#ask({ method: 'distinct', of: [matching, field, limit] })
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    const page = await this.#ask<GroupPage>({ method: 'groups', of: [plan] })
    return plan.eventual ? { ...page, lag: this.lag(plan.tenant) } : page
  }

  explain(plan: Plan): Promise<readonly string[]> {
    return this.#ask({ method: 'explain', of: [plan] })
  }

  /**
   * Returns the answer. Throws the fault `too-costly` if the search exceeds its budget, or is not answered within twice that time. Throws
   * `index-behind` if the index has not caught up by then.
   */
  #ask<Answer>(question: IndexCall): Promise<Answer> {
    const [matching] = question.of
    return this.#askAt({ position: this.#positionFor(matching), tenant: matching.tenant }, question)
  }

  #positionFor({ tenant, eventual }: Matching & Freshness): number {
    return eventual ? 0 : this.#options.acknowledged(tenant)
  }

  #askAt<Answer>(from: RequiredPosition, question: IndexCall): Promise<Answer> {
    if (this.#closed) return Promise.reject(new Error('the index is closed'))
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#take(number)?.reject(this.#isReached(from) ? new MachineFault('too-costly', 'not answered in time') : this.#behind(from))
        this.#post({ kind: 'forget', number })
      }
      const timer = setTimeout(late, 2 * this.#options.budget)
      this.#waiting.set(number, { question, ...from, resolve, reject, timer })
      this.#post({ kind: 'ask', number, question, ...from })
    })
  }

  #isReached({ position, tenant }: RequiredPosition): boolean {
    return position <= this.#progress.positionOf(tenant)
  }

  #behind({ position, tenant }: RequiredPosition): MachineFault {
    const versions = position - this.#progress.positionOf(tenant)
    return indexBehind({ retryAfter: this.#progress.secondsTo(position, tenant), versions })
  }

  /** Reports none, also while the thread answers from an outdated index. */
  async outdated(): Promise<readonly string[]> {
    return []
  }

  /**
   * Resolves to true when the index has reached the positions. `tokens`: positions; without them, the last acknowledged one of all tenants.
   * Throws the fault `index-behind` or `too-costly` if that takes too long.
   */
  async caughtUp(tokens: readonly string[] = [], _patience?: number, tenant?: string): Promise<boolean> {
    const all = this.#options.acknowledged()
    const position = tokens.length === 0 ? all : Math.min(all, Math.max(...tokens.map(Number)))
    const nothing = { tenant: '', types: [], where: ALWAYS_FALSE, access: 'everything' } as const
    await this.#askAt({ position, tenant }, { method: 'distinct', of: [nothing, '', 1] })
    return true
  }

  /** Requests a rebuild of the documents of these types. */
  rebuild(tenant: string, types: readonly string[]): void {
    this.#post({ kind: 'rebuild', tenant, types })
  }

  /** Closes the index. A thread that does not close its files in time, such as one that evaluates a pattern, is terminated. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === undefined) return
    // An unreferenced thread would let the process end before the thread has closed.
    worker.ref()
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    this.#post({ kind: 'close' })
    const late = setTimeout(() => worker.terminate(), LONGEST_CLOSE)
    await ended
    clearTimeout(late)
    for (const number of [...this.#waiting.keys()]) this.#take(number)?.reject(new Error('the index is closed'))
  }

  #post(message: SearchThreadMessage): void {
    if (this.#worker === undefined) return
    if (message.kind === 'ask') Atomics.add(this.#asked, 0, 1)
    this.#worker.postMessage(message)
  }

  /** Starts a thread. It takes over the requests of the previous one. */
  #start(): void {
    if (this.#closed) return
    const { thread, store, index, reading, defining = [], budget, acknowledged } = this.#options
    const worker = new Worker(thread, {
      name: 'fhir-index',
      workerData: { store, index, reading, defining, budget, asked: this.#asked, stored: acknowledged() } satisfies SearchThreadData,
      resourceLimits: { maxOldGenerationSizeMb: LARGEST_HEAP },
    })
    worker.on('message', (reply: SearchThreadReply) => this.#receive(reply))
    worker.on('error', (error) => this.#options.report(error))
    worker.on('exit', () => this.#ended())
    worker.unref()
    this.#worker = worker
    Atomics.store(this.#asked, 0, 0)
    this.follow()
    for (const [number, { question, position, tenant }] of this.#waiting) this.#post({ kind: 'ask', number, question, position, tenant })
  }

  /** Schedules the next thread. That thread reads uncommitted versions from the store again. */
  #ended(): void {
    this.#worker = undefined
    setTimeout(() => this.#start(), this.#pause).unref()
    this.#pause = Math.min(2 * this.#pause, PAUSE.longest)
  }

  #cameTo(positions: FeedPositions): void {
    if (this.#progress.cameTo(positions, performance.now())) this.#isWell()
  }

  #isWell(): void {
    this.#pause = PAUSE.first
    this.#isStoreDamaged = false
  }

  /** Reports the damage once. Rejects every waiting request that the index cannot answer yet. */
  #storeIsDamaged(reason: string): void {
    const error = new MachineFault('store-damaged', reason)
    if (!this.#isStoreDamaged) this.#options.report(error)
    this.#isStoreDamaged = true
    for (const [number, waiting] of this.#waiting) if (!this.#isReached(waiting)) this.#take(number)?.reject(error)
  }

  #receive(reply: SearchThreadReply): void {
    switch (reply.kind) {
      case 'positions':
        return this.#cameTo(reply.positions)
      case 'definitions':
        return this.#options.onDefinitions?.(reply.definitions)
      case 'answer':
        this.#pause = PAUSE.first
        return this.#take(reply.number)?.resolve(reply.answer as never)
      case 'too-costly':
        return this.#take(reply.number)?.reject(new MachineFault('too-costly', 'the search used up its budget'))
      case 'too-many-groups':
        return this.#take(reply.number)?.reject(new MachineFault('too-many-groups', 'the search has too many groups'))
      case 'failed':
        return this.#take(reply.number)?.reject(new Error(`the search failed: ${reply.reason}`))
      case 'store-damaged':
        return this.#storeIsDamaged(reply.reason)
      case 'index-damaged':
        return this.#options.report(new MachineFault('index-damaged', 'the search index is damaged: it is made again'))
      case 'notice':
        return this.#options.warn?.(reply.text)
      case 'poison':
        return this.#options.report(new NotIndexed(reply.version, reply.reason))
    }
  }

  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number)
    this.#waiting.delete(number)
    clearTimeout(waiting?.timer)
    return waiting
  }
}
