/**
 * Runs the state machine of exports on a separate thread, which starts with the first export. Only the requests that start or cancel an
 * export wait for its answer. A thread that died is replaced when its jobs are resumed.
 */
import { Worker } from 'node:worker_threads'
import { type CallMessage, ThreadCalls } from '../../../adapters/in-process/thread-calls.ts'
import type { AdditionalResources } from '../../../export/additional-resources.ts'
import type { PartnerSettings } from '../../../export/partner-export.ts'
import type { ExportParts, JobMatchLimits } from '../../../export/step-types.ts'
import type { TransmittingPayer } from '../../../partners/disclosures/transmissions.ts'
import type { Workflow } from '../../../ports/execution/workflow.ts'
import { MachineFault } from '../../../ports/faults.ts'
import type { Searches } from '../../../ports/search/search-index.ts'
import type { SettledVersions } from '../../../ports/store/settled-versions.ts'
import type { SearchContext } from '../../../search/search-context.ts'
import { isOutOfMemory } from '../../error-log.ts'

/**
 * Data of the thread. `store`, `rows`: files of the store and of job rows. `folder`: folder of export files. `disclosing`: folder of the
 * records of disclosures, and the payer. `requests`: counter of requests since the server started.
 */
export type ExportThreadData = {
  readonly store: string
  readonly rows: string
  readonly folder: string
  readonly groupTypes: readonly string[]
  readonly additionalResources: AdditionalResources
  readonly partners: PartnerSettings
  readonly disclosing: { readonly folder: string; readonly payer: TransmittingPayer }
  readonly requests: Int32Array<SharedArrayBuffer>
}

/** Methods of the server that the export thread calls by message. */
export type ServerMethods = JobMatchLimits & {
  readonly now: () => number
  readonly settled: SettledVersions['settled']
  readonly find: Searches['find']
  readonly distinct: Searches['distinct']
  readonly readingOf: (tenant: string) => Promise<SearchContext>
  readonly storeMatch: ExportParts['storeMatch']
  readonly isPartner: ExportParts['isPartner']
}

/** Failure of a step, as a message. The text of the error may quote content, so the thread sends only the text of store damage. */
export type StepFailure = { readonly kind: 'broke'; readonly name: string; readonly places: string; readonly damage?: string }

/** Message from the thread to the server. `begins`, `ends`: start and end of a step of the job. */
export type ExportThreadReply =
  | CallMessage
  | StepFailure
  | { readonly kind: 'begins'; readonly job: string }
  | { readonly kind: 'ends'; readonly job: string }

export type ThreadedWorkflowOptions = ExportThreadData & {
  /** Program of the thread. */
  readonly thread: URL
  readonly answers: ServerMethods
  readonly report: (error: unknown) => void
  /** Called when a thread ended unexpectedly. `jobs`: jobs whose steps it was running. */
  readonly onDied: (jobs: ReadonlySet<string>) => void
  /** Called after a pause, when jobs can be resumed. All executions of the thread ended with it. */
  readonly onEnded: () => void
  /** Maximum heap of the thread in MB. Absent: LARGEST_HEAP. */
  readonly heap?: number
}

type Thread = { readonly worker: Worker; readonly calls: ThreadCalls }

/**
 * Maximum heap of the thread in MB. Most exports take a fifth, and one with a million keys of chains or members nearly all. A thread beyond
 * it dies, and its jobs resume. Buffers are not part of the heap.
 */
const LARGEST_HEAP = 448
/** Milliseconds from the death of a thread to `onEnded`. They double with each death, up to `longest`. */
const PAUSE = { first: 500, longest: 60_000 }
/** Milliseconds that a thread must live to reset this pause to `first`. */
const LONG = 120_000
/**
 * Maximum milliseconds that a thread may take to close. Then it is terminated, and its steps repeat the work after their last checkpoint.
 */
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

  /** Closes the thread. The next start repeats interrupted steps from their last checkpoint, so no job loses recorded work. */
  async close(): Promise<void> {
    this.#isClosed = true
    const thread = this.#thread
    if (thread === undefined) return
    const { worker, calls } = thread
    // Keep the process alive until the thread has closed.
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
  const error = damage === undefined ? new Error('a step of an export broke') : new MachineFault('store-damaged', damage)
  return Object.defineProperties(error, { name: { value: name }, stack: { value: `${name}\n${places}` } })
}

/** Returns the error to report. For a lack of memory, its message names the thread and its limit. */
const told = (error: unknown, heap: number): unknown =>
  isOutOfMemory(error)
    ? Object.assign(new Error(`the thread of exports ran out of its ${heap} MB of memory: it goes on from its last checkpoints`), {
        code: error.code,
      })
    : error
