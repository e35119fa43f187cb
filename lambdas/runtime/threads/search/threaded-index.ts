/**
 * Search index on a separate thread, which reads the versions from the store. Searches never block the thread that serves requests. A
 * search finds every version acknowledged before it, unless it is eventual.
 */
import { Worker } from 'node:worker_threads'
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import { NotIndexed } from '../../../indexing/stream/unindexable-versions.ts'
import type { PackageDefinitions } from '../../../ports/definitions/package-definitions.ts'
import { timed } from '../../../ports/execution/call-times.ts'
import { indexBehind, MachineFault } from '../../../ports/faults.ts'
import type { IndexHealth } from '../../../ports/search/index-status.ts'
import { ALWAYS_FALSE, type Freshness, type GroupPlan, type Matching, type Plan } from '../../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexVisibility, OutdatedParameters, Searches } from '../../../ports/search/search-index.ts'
import { IndexProgress } from './index-progress.ts'
import { SentPackages } from './sent-packages.ts'
import type {
  IndexCall,
  RequiredPosition,
  SearchThreadData,
  SearchThreadMessage,
  SearchThreadReply,
  ThreadedIndexOptions,
} from './thread-messages.ts'

type Waiting = RequiredPosition & {
  readonly question: IndexCall
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Milliseconds until a thread that ended is replaced. They double each time, up to `longest`, until a thread makes progress or answers. */
const PAUSE = { first: 500, longest: 60_000 }
/**
 * Maximum heap of the thread in MB: more than any search takes. It is below the default, so that garbage collection runs earlier, which
 * saves about 60 MB.
 */
const LARGEST_HEAP = 1_024
/**
 * Maximum milliseconds that the thread may take to close. Then it is terminated, and the next thread reads uncommitted versions from the
 * store again.
 */
const LONGEST_CLOSE = 3_000

export class ThreadedIndex implements Searches, IndexVisibility, OutdatedParameters {
  readonly #options: ThreadedIndexOptions
  readonly #waiting = new Map<number, Waiting>()
  readonly #asked = new Int32Array(new SharedArrayBuffer(4))
  #worker: Worker | undefined
  #number = 0
  readonly #progress: IndexProgress
  #closed = false
  /** Whether the running thread has reported its position, so it has opened its files. */
  #hasPosition = false
  #pause = PAUSE.first
  #isStoreDamaged = false
  readonly #packages = new SentPackages((message) => this.#post(message))

  constructor(options: ThreadedIndexOptions) {
    this.#options = options
    this.#progress = new IndexProgress(options.acknowledged)
    this.#start()
  }

  /** Makes the index follow the store up to the last acknowledged write. Called after each write. */
  follow(): void {
    this.#post({ kind: 'follow', position: this.#options.acknowledged() })
  }

  /**
   * Returns the number of positions from the index to the last acknowledged version of the tenant. Positions of other tenants count too.
   * Without a tenant: to the last version of all.
   */
  lag(tenant?: string): number {
    return this.#progress.lag(tenant)
  }

  /**
   * Returns the milliseconds until the acknowledged writes that precede the tenant's next write are indexed. Returns 0 if that is unknown,
   * or if the index makes no progress.
   */
  delay(tenant: string): number {
    return this.#progress.delay(tenant, performance.now())
  }

  /**
   * Returns whether the thread follows the store: it has reported its position, and the store is not damaged. Also returns the estimated
   * seconds until searches find every acknowledged version.
   */
  health(): IndexHealth {
    return { isWorking: this.#hasPosition && !this.#isStoreDamaged, lag: this.#progress.secondsBehind(performance.now()) }
  }

  /** Position of the change feed up to which the versions of all tenants are indexed, as last reported. */
  get position(): number {
    return this.#progress.positionOf()
  }

  /** Returns the position of the change feed up to which the versions of the tenant are indexed, as last reported. */
  positionOf(tenant: string): number {
    return this.#progress.positionOf(tenant)
  }

  /** Whether the index follows the tenant separately from the others, at its own pace. */
  isApart(tenant: string): boolean {
    return this.#progress.isApart(tenant)
  }

  /**
   * Returns a page of hits. `upTo`: position up to which versions must be indexed before. Default: all acknowledged versions of the tenant.
   * For eventual plans nothing must be.
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
   * Returns the answer of the thread. Throws the fault `too-costly` if the search exceeds its budget, or is not answered within twice that
   * time. Throws `index-behind` if the index has not caught up by then.
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
    return timed('index', () => this.#send(from, question))
  }

  #send<Answer>(from: RequiredPosition, question: IndexCall): Promise<Answer> {
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      const late = () => {
        this.#take(number)?.reject(this.#isReached(from) ? new MachineFault('too-costly', 'not answered in time') : this.#behind(from))
        this.#post({ kind: 'forget', number })
      }
      const [{ budget = this.#options.budget }] = question.of
      const timer = setTimeout(late, 2 * Math.min(budget, this.#options.budget))
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

  /** Reports no outdated parameters, even while the thread answers from an outdated index. */
  async outdated(): Promise<readonly string[]> {
    return []
  }

  /**
   * Resolves to true when the index has reached a position. `tokens`: positions, of which the highest counts. Without tokens: the last
   * acknowledged position of all tenants. Throws the fault `index-behind` or `too-costly` if that takes too long.
   */
  async caughtUp(tokens: readonly string[] = [], _patience?: number, tenant?: string): Promise<boolean> {
    const all = this.#options.acknowledged()
    const position = tokens.length === 0 ? all : Math.min(all, Math.max(...tokens.map(Number)))
    const nothing = { tenant: '', types: [], where: ALWAYS_FALSE, access: 'everything' } as const
    await this.#askAt({ position, tenant }, { method: 'distinct', of: [nothing, '', 1] })
    return true
  }

  /** Requests a rebuild of the tenant's documents of these types. */
  rebuild(tenant: string, types: readonly string[]): void {
    this.#post({ kind: 'rebuild', tenant, types })
  }

  /** Replaces the parameters of packages. Resolves once the thread has registered them, or if it ends. `at`: now, in ms since 1970. */
  setPackages(packages: readonly PackageDefinitions[], at: number): Promise<void> {
    return this.#packages.set(packages, at, this.#worker !== undefined)
  }

  /** Closes the index. Terminates a thread that does not close in time, for example because it evaluates a pattern. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === undefined) return
    // Keep the process alive until the thread has closed.
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

  /** Starts a thread, which takes over the unanswered requests of the previous one. */
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
    this.#packages.send()
    for (const [number, { question, position, tenant }] of this.#waiting) this.#post({ kind: 'ask', number, question, position, tenant })
  }

  /** Schedules the next thread after a pause. It reads uncommitted versions from the store again. */
  #ended(): void {
    this.#worker = undefined
    this.#packages.release()
    this.#hasPosition = false
    setTimeout(() => this.#start(), this.#pause).unref()
    this.#pause = Math.min(2 * this.#pause, PAUSE.longest)
  }

  #cameTo(positions: FeedPositions): void {
    this.#hasPosition = true
    if (!this.#progress.cameTo(positions, performance.now())) return
    this.#pause = PAUSE.first
    this.#isStoreDamaged = false
  }

  /** Reports store damage once until the index makes progress again. Rejects every waiting request for which the index lacks versions. */
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
      case 'packages':
        return this.#packages.release(reply.number)
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
        this.#packages.release()
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
