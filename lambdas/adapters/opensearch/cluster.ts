/** Requests to OpenSearch: repeated while it is overloaded, unreachable or silent, and a failure says which it was. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '@opensearch-project/opensearch'
import { MachineFault } from '../../ports/faults/machine-error.ts'
import { Overloaded } from '../../ports/faults/overloaded.ts'

/** How often a request is tried, how long one try may take (ms), and the first pause between two (ms). */
export type CallLimits = { readonly attempts: number; readonly patience: number; readonly pause: number }

/** `now`: ms since any instant. `wait`: ms. */
export type Timer = { readonly now: () => number; readonly wait: (time: number) => Promise<unknown> }

const TIMER: Timer = { now: () => performance.now(), wait }

/** Time that the client waits longer than the engine works, in ms. So the engine can report that it stopped. */
const ANSWER_TIME = 2_000

export type ClusterRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly querystring?: Readonly<Record<string, string | number | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  /** Lines of JSON instead of a body. */
  readonly lines?: string
  /** What the text of an error has in it that no repetition changes. */
  readonly final?: RegExp
  /** Where the time of all attempts ends. The engine stops then, and after a timeout the request is not sent again: searches have it. */
  readonly until?: number
}

/** An answer that is none. It is printed without what was sent and answered, for both may tell of resources. */
export class OpenSearchError extends MachineFault {
  override readonly fault: 'failed' | 'unavailable'
  /** Undefined where nothing was answered: it may have been done or not. */
  readonly status: number | undefined
  /** OpenSearch's name of the error. */
  readonly kind: string
  readonly #answer: string

  constructor(status: number | undefined, kind: string, answer: unknown = '') {
    super(`OpenSearch: ${status ?? 'no answer'} ${kind}`)
    this.fault = status === undefined || UNAVAILABLE.has(status) || isIndexBlocked(kind) ? 'unavailable' : 'failed'
    this.status = status
    this.kind = kind
    this.#answer = JSON.stringify(answer)
  }

  says(pattern: RegExp | undefined): boolean {
    return pattern?.test(this.#answer) ?? false
  }

  /** The engine, or what stands before it, did not answer in time. */
  get isTimeout(): boolean {
    return this.kind === 'TimeoutError' || this.status === 408 || this.status === 504
  }

  /** The same request may succeed later. */
  get passes(): boolean {
    return isTransient(this.status)
  }
}

/** Timeouts, gateways that reach nobody, shards that are not there yet or any more. */
const UNAVAILABLE = new Set([408, 502, 503, 504])

/** Of an index that somebody closed, or shut for reading or writing, and may open again: that says nothing of what was asked, or sent. */
export const isIndexBlocked = (kind: string | undefined): boolean => kind === 'index_closed_exception' || kind === 'cluster_block_exception'

export const isTransient = (status: number | undefined): boolean =>
  status === undefined || status === 408 || status === 429 || status >= 500

export class Cluster {
  readonly #client: Client
  readonly limits: CallLimits
  readonly #timer: Timer

  constructor(client: Client, limits: CallLimits, timer = TIMER) {
    this.#client = client
    this.limits = limits
    this.#timer = timer
  }

  now(): number {
    return this.#timer.now()
  }

  /** Only for what may be repeated. Overloaded: it was refused to the end. Failed: anything else. */
  async send<Answer>(request: ClusterRequest): Promise<Answer> {
    const { final, until = Number.POSITIVE_INFINITY } = request
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.sendOnce(request)
      } catch (error) {
        if (!(error instanceof OpenSearchError) || !error.passes || error.says(final)) throw error
        if (request.until !== undefined && error.isTimeout) throw error
        const pause = this.#pauseAfter(attempt)
        if (attempt === this.limits.attempts || this.now() + pause >= until)
          throw error.status === 429 ? new Overloaded('OpenSearch refused all attempts', { cause: error }) : error
        await this.#timer.wait(pause)
      }
    }
  }

  async sendOnce<Answer>({
    method,
    path,
    querystring = {},
    body,
    lines,
    until = Number.POSITIVE_INFINITY,
  }: ClusterRequest): Promise<Answer> {
    const left = Math.max(1, Math.ceil(until - this.now()))
    const isEndless = left === Number.POSITIVE_INFINITY
    const options = { maxRetries: 0, requestTimeout: isEndless ? this.limits.patience : left + ANSWER_TIME }
    const query = isEndless ? querystring : { ...querystring, cancel_after_time_interval: `${left}ms` }
    const content = lines === undefined ? (body === undefined ? {} : { body }) : { bulkBody: lines }
    try {
      const answer = await this.#client.transport.request({ method, path, querystring: query, ...content }, options)
      // guard: write-reaches-all-shards
      if (!isComplete(answer.body)) throw new OpenSearchError(503, SHARDS_FAILED)
      return answer.body as Answer
    } catch (error) {
      throw failureOf(error)
    }
  }

  async pause(attempt: number): Promise<void> {
    await this.#timer.wait(this.#pauseAfter(attempt))
  }

  /** Longer from attempt to attempt, and never the same for two. */
  #pauseAfter(attempt: number): number {
    return Math.min(this.limits.pause * 2 ** (attempt - 1), 5_000) * (0.25 + 0.75 * Math.random())
  }
}

type Shards = { readonly _shards?: { readonly total: number; readonly successful: number; readonly failed: number } }

/**
 * OpenSearch answers 200 for those copies of a shard that did it. A copy that did not is among `failed`; a shard without a primary is not, it
 * only counts for nothing: each of our indices is one shard. https://docs.opensearch.org/latest/api-reference/index-apis/refresh/
 */
export function isComplete(answer: unknown): boolean {
  const { total = 0, successful = 0, failed = 0 } = (answer as Shards | null)?._shards ?? {}
  return failed === 0 && (successful > 0 || total === 0)
}

/** The kind of such a failure. */
export const SHARDS_FAILED = 'shards_failed'

type Answered = { readonly statusCode?: number | null; readonly body?: { readonly error?: { readonly type?: string } } | null }

/** Errors of the client's own making, a wrong request for one, are as they are. */
function failureOf(error: unknown): unknown {
  const { name, meta } = error as { readonly name?: string; readonly meta?: Answered }
  if (name === 'ResponseError') return new OpenSearchError(meta?.statusCode ?? undefined, meta?.body?.error?.type ?? 'unknown', meta?.body)
  return UNANSWERED.has(name ?? '') ? new OpenSearchError(undefined, name!) : error
}

/** An answer that is cut off or garbled is no answer. */
const UNANSWERED = new Set(['ConnectionError', 'TimeoutError', 'NoLivingConnectionsError', 'DeserializationError'])
