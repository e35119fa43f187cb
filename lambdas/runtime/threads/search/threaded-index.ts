/** SearchIndex on a thread of its own: searches never block the thread that serves, and see everything acknowledged before them. */
import { Worker } from 'node:worker_threads'
import type { FeedPositions } from '../../../indexing/feed/lines.ts'
import { NotIndexed } from '../../../indexing/unindexable-versions.ts'
import { Damaged } from '../../../ports/faults/damaged.ts'
import { IndexBehind } from '../../../ports/faults/index-behind.ts'
import { SearchTooCostly, TooManyGroups } from '../../../ports/faults/too-costly.ts'
import { ALWAYS_FALSE, type Freshness, type GroupPlan, type Matching, type Plan } from '../../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../../ports/search/search-index.ts'
import { IndexProgress } from './index-progress.ts'
import type { IndexCall, RequiredPosition, SearchThreadData, SearchThreadMessage, SearchThreadReply } from './thread-messages.ts'

export type ThreadedIndexOptions = Omit<SearchThreadData, 'asked' | 'stored'> & {
  /** The thread's program. */
  readonly thread: URL
  /** The position in the store's feed up to which writes were acknowledged: of all tenants, or of one. */
  readonly acknowledged: (tenant?: string) => number
  readonly report: (error: unknown) => void
  readonly onDefinitions?: (definitions: unknown) => void
  /** Gets lines for the operator. */
  readonly warn?: (line: string) => void
}

type Waiting = RequiredPosition & {
  readonly question: IndexCall
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Milliseconds until a thread that failed is replaced: twice as many each time, until one comes further or answers. */
const PAUSE = { first: 500, longest: 60_000 }
/** MB: more than any search takes. The less a heap may grow, the sooner it is swept: this keeps 60 MB of waste from lying about. */
const LARGEST_HEAP = 1_024
/** Milliseconds for a thread that is told to close: what it had not committed by then is taken from the store again. */
const LONGEST_CLOSE = 3_000

export class ThreadedIndex implements SearchIndex {
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

  /** The store has acknowledged more. */
  follow(): void {
    this.#post({ kind: 'follow', position: this.#options.acknowledged() })
  }

  /** Positions between the index and the last acknowledged version of the tenant, also those of other tenants. Without a tenant: of all. */
  lag(tenant?: string): number {
    return this.#progress.lag(tenant)
  }

  /** Milliseconds until the acknowledged versions in the line of the tenant are indexed; 0 if that is not known, or the index makes no progress. */
  delay(tenant: string): number {
    return this.#progress.delay(tenant, performance.now())
  }

  /** The position up to which it is known to have indexed all of the store's feed. */
  get position(): number {
    return this.#progress.positionOf()
  }

  /** The position up to which it is known to have indexed the versions of the tenant. */
  positionOf(tenant: string): number {
    return this.#progress.positionOf(tenant)
  }

  /** Whether the index follows the tenant apart from the others, at its own pace. */
  isApart(tenant: string): boolean {
    return this.#progress.isApart(tenant)
  }

  /** `upTo`: the position that it has to see; absent: everything acknowledged, unless the plan takes what there is. */
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

  /** SearchTooCostly when the search uses up the budget, or is not answered in twice that time; IndexBehind when the index has not caught up with the store by then. */
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
        this.#take(number)?.reject(this.#isReached(from) ? new SearchTooCostly('not answered in time') : this.#behind(from))
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

  #behind({ position, tenant }: RequiredPosition): IndexBehind {
    const versions = position - this.#progress.positionOf(tenant)
    return new IndexBehind({ retryAfter: this.#progress.secondsTo(position, tenant), versions })
  }

  /** Its thread applies what the store holds; nobody hands it documents. */
  apply(_documents: readonly IndexDocument[]): Promise<void> {
    return Promise.reject(new TypeError('this index follows its store'))
  }

  /** `tokens`: positions; without them, the last acknowledged one of all tenants. Throws IndexBehind or SearchTooCostly if late. */
  async caughtUp(tokens: readonly string[] = [], _patience?: number, tenant?: string): Promise<boolean> {
    const all = this.#options.acknowledged()
    const position = tokens.length === 0 ? all : Math.min(all, Math.max(...tokens.map(Number)))
    const nothing = { tenant: '', types: [], where: ALWAYS_FALSE, access: 'everything' } as const
    await this.#askAt({ position, tenant }, { method: 'distinct', of: [nothing, '', 1] })
    return true
  }

  /** The documents of these types are made again. */
  rebuild(tenant: string, types: readonly string[]): void {
    this.#post({ kind: 'rebuild', tenant, types })
  }

  /** A thread that does not close its files in time, as in the middle of a pattern, is ended where it is. */
  async close(): Promise<void> {
    this.#closed = true
    const worker = this.#worker
    if (worker === undefined) return
    // An unreferenced thread would let the process end before it has.
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

  /** Also takes over what was asked of the thread before. */
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

  /** What the thread had not committed yet it takes from the store again. */
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

  /** Told once; who asks is told each time. */
  #storeIsDamaged(reason: string): void {
    const error = new Damaged('store', reason)
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
        return this.#take(reply.number)?.reject(new SearchTooCostly('the search used up its budget'))
      case 'too-many-groups':
        return this.#take(reply.number)?.reject(new TooManyGroups('the search has too many groups'))
      case 'failed':
        return this.#take(reply.number)?.reject(new Error(`the search failed: ${reply.reason}`))
      case 'store-damaged':
        return this.#storeIsDamaged(reply.reason)
      case 'index-damaged':
        return this.#options.report(new Damaged('index', 'the search index is damaged: it is made again'))
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
