/** Requests to a Bulk Data server, with retries after transient failures: a busy server, a restart, a network failure. */
import { setTimeout } from 'node:timers/promises'
import type { Authorize } from '../client/http-post.ts'
import { parseOutcomeIssues } from '../client/server-response.ts'
import { TokenRequestError } from '../client/token-endpoint.ts'
import { ExportFault } from './export-fault.ts'

/**
 * Limits of retries. `attempts`: failures in a row after which the request fails. `unheard`: failures in a row without any response after
 * which it fails; default `attempts`. `wait`: waits for milliseconds.
 */
export type RetryPolicy = {
  readonly attempts: number
  readonly unheard?: number
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/** Policy that gives up after about seven minutes, or later if the server asks for longer waits. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 14,
  wait: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
}

export type RequestOptions = {
  /** Authorizes requests, if the server requires it. */
  readonly authorize?: Authorize
  /** Aborts requests and waits. */
  readonly signal: AbortSignal
  readonly patience: RetryPolicy
}

export type TextResponse = { readonly status: number; readonly headers: Headers; readonly text: string }

type Request = { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }

const FIRST = 500
const LONGEST = { own: 60_000, asked: 3_600_000 }

/**
 * Sends a request and retries it after transient failures. Returns any other response. Throws ExportFault `unreachable` if the server stays
 * unreachable or busy.
 */
export function sendWithRetries(url: string, request: Request, options: RequestOptions): Promise<TextResponse> {
  return retryTransientFailures(url, options, async () => {
    const response = await sendOnce(url, request, options)
    const answer = { status: response.status, headers: response.headers, text: await readBoundedText(response, url) }
    return isPassing(answer) ? new TransientFailure(`answers ${answer.status}${outcomeSuffixOf(answer.text)}`, answer.headers) : answer
  })
}

/** Sends a request once. A signed request follows no redirect, because its signature is for one address. */
export async function sendOnce(
  url: string,
  request: Request,
  { authorize, signal }: Pick<RequestOptions, 'authorize' | 'signal'>,
): Promise<Response> {
  const { method = 'GET', headers, body } = request
  const credentials = await authorize?.({ method, url, ...(body === undefined ? {} : { body: Buffer.from(body) }) })
  const redirect = credentials?.['x-amz-date'] === undefined ? 'follow' : 'manual'
  return fetch(url, { ...request, headers: { ...headers, ...credentials }, signal, redirect })
}

/** Maximum bytes of a response that is not a file. A larger response ends the export. */
const MAX_TEXT_BYTES = 64_000_000

/** Returns the body as text. Throws ExportFault if it exceeds MAX_TEXT_BYTES. */
export async function readBoundedText({ body }: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_TEXT_BYTES)
      throw new ExportFault('failed', `${withoutQuery(url)} answers with more than ${MAX_TEXT_BYTES / 1_000_000} MB`)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * An attempt failed, but another one may succeed. `progressed`: it got further than every previous attempt, so that the count of failures
 * starts again.
 */
export class TransientFailure {
  readonly reason: string
  readonly wait: number
  readonly progressed: boolean

  constructor(reason: string, headers?: Headers, progressed = false) {
    this.reason = reason
    this.wait = headers === undefined ? 0 : retryAfterMs(headers)
    this.progressed = progressed
  }
}

/**
 * Repeats `attempt` while it fails transiently. Thrown errors count as transient, except ExportFault, TokenRequestError and an abort by the
 * signal. Throws ExportFault `unreachable` at the limit.
 */
export async function retryTransientFailures<Result>(
  url: string,
  { patience, signal }: RequestOptions,
  attempt: () => Promise<Result | TransientFailure>,
): Promise<Result> {
  let unheard = 0
  for (let failures = 1; ; failures++) {
    const result = await attempt().catch((error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof ExportFault) throw error
      if (error instanceof TokenRequestError) throw new ExportFault('refused', error.message)
      // fetch throws a TypeError if there is no response: https://fetch.spec.whatwg.org/#fetch-method
      unheard = (error as Error).name === 'TypeError' ? unheard + 1 : 0
      return new TransientFailure(`cannot be reached (${codeOf(error)})`)
    })
    if (!(result instanceof TransientFailure)) return result
    if (result.progressed) failures = 1
    if (failures >= patience.attempts || unheard >= (patience.unheard ?? patience.attempts))
      throw new ExportFault('unreachable', `${withoutQuery(url)} ${result.reason}`)
    await patience.wait(Math.max(result.wait, Math.min(FIRST * 2 ** (failures - 1), LONGEST.own)), signal)
  }
}

/**
 * Whether a failure is transient. 429 and 502 to 504 always are. Any other server error is transient if it has no OperationOutcome, or an
 * issue that is `transient` or `throttled`: https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---error-status-1
 */
function isPassing({ status, text }: TextResponse): boolean {
  if (status === 429 || (status >= 502 && status <= 504)) return true
  const codes = parseOutcomeIssues(text)?.map(({ code }) => code) ?? []
  return status >= 500 && (codes.length === 0 || codes.some((code) => code === 'transient' || code === 'throttled'))
}

/** Returns the issue texts of a failure after a colon, or an empty text if there are none. */
export function outcomeSuffixOf(text: string): string {
  const texts = parseOutcomeIssues(text)?.map(({ details, diagnostics, code }) => details?.text ?? diagnostics ?? code ?? '') ?? []
  return texts.length === 0 ? '' : `: ${texts.join('; ')}`
}

/**
 * Returns the delay of Retry-After in milliseconds, at most LONGEST.asked. https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; 0 if the
 * header is missing or invalid.
 */
export function retryAfterMs(headers: Headers, now = Date.now()): number {
  const text = headers.get('retry-after') ?? ''
  const delay = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Math.min(Math.max(delay || 0, 0), LONGEST.asked)
}

function codeOf(error: unknown): string {
  const { code, message, cause } = error as { readonly code?: string; readonly message?: string; readonly cause?: unknown }
  return cause === undefined ? (code ?? message ?? String(error)) : codeOf(cause)
}

/** Removes the query of a URL for messages. A signed link is as secret as a token. */
export const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '')
