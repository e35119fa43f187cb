/**
 * Sends requests to OpenSearch and classifies failures. It repeats requests while OpenSearch is overloaded, unreachable or does not
 * respond.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from '@opensearch-project/opensearch'
import { timed } from '../../ports/execution/call-times.ts'
import { MachineFault } from '../../ports/faults.ts'

/**
 * `attempts`: maximum attempts of a request. `patience`: maximum duration of one attempt. `pause`: first pause between two attempts. Both
 * in milliseconds.
 */
export type CallLimits = { readonly attempts: number; readonly patience: number; readonly pause: number }

/** `now`: milliseconds since any fixed instant. `wait`: resolves after the given milliseconds. */
export type Timer = { readonly now: () => number; readonly wait: (time: number) => Promise<unknown> }

const TIMER: Timer = { now: () => performance.now(), wait }

/** How long the client waits after the time limit of the engine, in milliseconds. So the engine can report that it stopped. */
const ANSWER_TIME = 2_000

/**
 * How long a bulk request waits for a missing shard. Its items then fail alone. With the default of a minute the client stops first, and
 * the items of all other indices count as failed too. https://docs.opensearch.org/latest/api-reference/document-apis/bulk/
 */
export const BULK_TIMEOUT = '5s'

export type ClusterRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly querystring?: Readonly<Record<string, string | number | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  /** Lines of JSON to send instead of `body`, as bulk requests need them. */
  readonly lines?: string
  /** Matches errors that do not go away if the request is repeated. */
  readonly final?: RegExp
  /**
   * Instant of the timer at which the time of all attempts ends. The engine stops then, and a request that timed out is not repeated.
   * Searches use it.
   */
  readonly until?: number
}

/** Failed request. The message contains neither the request nor the response, because both may contain resource data. */
export class OpenSearchError extends MachineFault {
  /** HTTP status. Undefined if there was no usable response: the request may or may not have been executed. */
  readonly status: number | undefined
  /** Error type of OpenSearch, or error name of the client. */
  readonly kind: string
  readonly #answer: string

  constructor(status: number | undefined, kind: string, answer: unknown = '') {
    const isUnavailable = status === undefined || UNAVAILABLE.has(status) || isIndexBlocked(kind)
    super(isUnavailable ? 'unavailable' : 'failed', `OpenSearch: ${status ?? 'no answer'} ${kind}`)
    this.status = status
    this.kind = kind
    this.#answer = JSON.stringify(answer)
  }

  says(pattern: RegExp | undefined): boolean {
    return pattern?.test(this.#answer) ?? false
  }

  /** Whether the engine, or a gateway before it, exceeded a time limit. */
  get isTimeout(): boolean {
    return this.kind === 'TimeoutError' || this.status === 408 || this.status === 504
  }

  /** Whether the failure is temporary, so that the same request may succeed later. */
  get passes(): boolean {
    return isTransient(this.status)
  }
}

/** Status codes of timeouts, of gateways without a backend, and of failed shards. */
const UNAVAILABLE = new Set([408, 502, 503, 504])

/**
 * Whether the error means that the index is closed, or blocked for reads or writes. Such an error says nothing about the request, and may
 * be temporary.
 */
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

  /**
   * Sends a request and repeats it after temporary failures. It must have the same effect if executed twice. Throws the fault `overloaded`
   * if the last attempt was rejected (429), otherwise the OpenSearchError.
   */
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
          throw error.status === 429 ? new MachineFault('overloaded', 'OpenSearch refused all attempts', { cause: error }) : error
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
      const request = { method, path, querystring: query, ...content }
      const answer = await timed('opensearch', () => this.#client.transport.request(request, options))
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

  /** Returns the pause after an attempt in milliseconds. It doubles with each attempt, up to five seconds, and has a random part. */
  #pauseAfter(attempt: number): number {
    return Math.min(this.limits.pause * 2 ** (attempt - 1), 5_000) * (0.25 + 0.75 * Math.random())
  }
}

/** Shards, or copies of shards, that a request concerns. */
export type ShardCounts = { readonly total: number; readonly successful: number; readonly failed: number }

/** Whether no shard failed. OpenSearch answers 200 even if copies of a shard failed; those count in `failed`. */
const isComplete = (answer: unknown): boolean => ((answer as { readonly _shards?: ShardCounts } | null)?._shards?.failed ?? 0) === 0

/** `kind` of the OpenSearchError for a response that is not complete. */
export const SHARDS_FAILED = 'shards_failed'

type Answered = { readonly statusCode?: number | null; readonly body?: { readonly error?: { readonly type?: string } } | null }

/**
 * Converts failed and missing responses to OpenSearchError. Errors of the client itself, such as an invalid request, remain as they are.
 */
function failureOf(error: unknown): unknown {
  const { name, meta } = error as { readonly name?: string; readonly meta?: Answered }
  if (name === 'ResponseError') return new OpenSearchError(meta?.statusCode ?? undefined, meta?.body?.error?.type ?? 'unknown', meta?.body)
  return UNANSWERED.has(name ?? '') ? new OpenSearchError(undefined, name!) : error
}

/** Error names of the client for a missing response. A truncated or garbled response counts as missing. */
const UNANSWERED = new Set(['ConnectionError', 'TimeoutError', 'NoLivingConnectionsError', 'DeserializationError'])
