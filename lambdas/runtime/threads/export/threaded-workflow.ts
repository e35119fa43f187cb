/**
 * The workflows of exports on a thread of its own, which is there from the first one on. Whoever exports nothing has none of it, and who is served
 * never waits for it. A thread that dies is begun again when its jobs are.
 */
import { Worker } from 'node:worker_threads'
import { type CallMessage, ThreadCalls } from '../../../adapters/in-process/thread-calls.ts'
import type { AdditionalResources } from '../../../export/additional-resources.ts'
import type { Workflow } from '../../../ports/execution/workflow.ts'
import { Damaged } from '../../../ports/faults/damaged.ts'
import type { SearchIndex } from '../../../ports/search/search-index.ts'
import type { SettledVersions } from '../../../ports/store/settled-versions.ts'
import type { SearchContext } from '../../../search/search-context.ts'
import { isOutOfMemory } from '../../error-log.ts'

/** Files of the store and of rows of jobs, the folder of export files; `requests`: how many requests came since the server began. */
export type ExportThreadData = {
  readonly store: string
  readonly rows: string
  readonly folder: string
  readonly groupTypes: readonly string[]
  readonly additionalResources: AdditionalResources
  readonly requests: Int32Array<SharedArrayBuffer>
}

/** What the thread asks the one that serves. */
export type ServerMethods = {
  readonly settled: SettledVersions['settled']
  readonly find: SearchIndex['find']
  readonly distinct: SearchIndex['distinct']
  readonly readingOf: (tenant: string) => Promise<SearchContext>
}

/** What broke in a step. Messages may quote what was being worked on, and stay in the thread, but for that of damage. */
export type StepFailure = { readonly kind: 'broke'; readonly name: string; readonly places: string; readonly damage?: string }

/** What else it tells: which job's steps begin and end, too. */
export type ExportThreadReply =
  | CallMessage
  | StepFailure
  | { readonly kind: 'begins'; readonly job: string }
  | { readonly kind: 'ends'; readonly job: string }

export type ThreadedWorkflowOptions = ExportThreadData & {
  /** The thread's program. */
  readonly thread: URL
  readonly answers: ServerMethods
  readonly report: (error: unknown) => void
  /** A thread died in steps of these jobs. */
  readonly onDied: (jobs: ReadonlySet<string>) => void
  /** Some time later: its executions are no more. */
  readonly onEnded: () => void
  /** MB, in place of what an export takes. */
  readonly heap?: number
}

type Thread = { readonly worker: Worker; readonly calls: ThreadCalls }

/** MB: more than an export takes, whatever its size; most take a fifth of it, a million keys of chains or members nearly all. Bytes stand beside it. */
const LARGEST_HEAP = 448
/** Milliseconds until it is told that a thread has ended: twice as many each time, until one has lived for so long. */
const PAUSE = { first: 500, longest: 60_000 }
const LONG = 120_000
/** Milliseconds for a thread that is told to close. What a step had not noted by then is done again. */
const LONGEST_CLOSE = 2_000

export class ThreadedWorkflow implements Workflow {
  readonly #options: ThreadedWorkflowOptions
  #thread: Thread | undefined
  #pause = PAUSE.first
  #isClosed = false

  constructor(options: ThreadedWorkflowOptions) {
    this.#options = options
  }

  async start(name: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    if (this.#isClosed) throw new Error('the exporter is closed')
    this.#thread ??= this.#begin()
    await this.#thread.calls.call('start', name, input)
  }

  async stop(name: string): Promise<void> {
    await this.#thread?.calls.call('stop', name)
  }

  async isRunning(name: string): Promise<boolean> {
    return (await this.#thread?.calls.call<boolean>('isRunning', name)) ?? false
  }

  /** Steps that run come to an end, or are begun again by the next start: nothing of a job is lost. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    if (thread === undefined) return
    const { worker, calls } = thread
    // An unreferenced thread would let the process end before it has.
    worker.ref()
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    calls.call('close').catch(() => undefined)
    const late = setTimeout(() => worker.terminate(), LONGEST_CLOSE)
    await ended
    clearTimeout(late)
  }

  #begin(): Thread {
    const { thread, answers, report, onDied, onEnded, heap = LARGEST_HEAP, ...data } = this.#options
    const steps: string[] = []
    const began = performance.now()
    const worker = new Worker(thread, {
      name: 'fhir-export',
      workerData: data satisfies ExportThreadData,
      resourceLimits: { maxOldGenerationSizeMb: heap },
    })
    const calls = new ThreadCalls((message) => worker.postMessage(message), { ...answers })
    worker.on('message', (reply: ExportThreadReply) => {
      if (reply.kind === 'broke') report(errorOf(reply))
      else if (reply.kind === 'begins') steps.push(reply.job)
      else if (reply.kind === 'ends') steps.splice(steps.indexOf(reply.job), 1)
      else calls.receive(reply)
    })
    worker.on('error', (error) => report(told(error, heap)))
    worker.on('exit', () => this.#ended(calls, new Set(steps), performance.now() - began))
    worker.unref()
    return { worker, calls }
  }

  #ended(calls: ThreadCalls, jobs: ReadonlySet<string>, lived: number): void {
    this.#thread = undefined
    calls.end(new Error('the thread of exports has ended'))
    if (this.#isClosed) return
    this.#options.onDied(jobs)
    if (lived > LONG) this.#pause = PAUSE.first
    setTimeout(() => this.#isClosed || this.#options.onEnded(), this.#pause).unref()
    this.#pause = Math.min(2 * this.#pause, PAUSE.longest)
  }
}

function errorOf({ name, places, damage }: StepFailure): Error {
  const error = damage === undefined ? new Error('a step of an export broke') : new Damaged('store', damage)
  return Object.defineProperties(error, { name: { value: name }, stack: { value: `${name}\n${places}` } })
}

/** The error of one that had too little memory says whose. */
const told = (error: unknown, heap: number): unknown =>
  isOutOfMemory(error)
    ? Object.assign(new Error(`the thread of exports ran out of its ${heap} MB of memory: it goes on from its last checkpoints`), {
        code: error.code,
      })
    : error
