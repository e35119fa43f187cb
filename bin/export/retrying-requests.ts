/** Asks a server of Bulk Data, and again where what it answers passes: it is busy, somebody restarts it, a network fails. */
import { setTimeout } from 'node:timers/promises'
import type { Authorize } from '../client/http-post.ts'
import { parseOutcomeIssues } from '../client/server-response.ts'
import { TokenRequestError } from '../client/token-endpoint.ts'
import { ExportFault } from './export-fault.ts'

/** `attempts`: that fail in a row, until it is given up; `unheard`: of those the ones that nobody answers. `wait`: milliseconds. */
export type RetryPolicy = {
  readonly attempts: number
  readonly unheard?: number
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/** Six minutes. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  attempts: 14,
  wait: (milliseconds, signal) => setTimeout(milliseconds, undefined, { signal }),
}

export type RequestOptions = {
  /** Where the server asks for a token. */
  readonly authorize?: Authorize
  /** Ends all waiting. */
  readonly signal: AbortSignal
  readonly patience: RetryPolicy
}

export type TextResponse = { readonly status: number; readonly headers: Headers; readonly text: string }

type Request = { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }

const FIRST = 500
const LONGEST = { own: 60_000, asked: 3_600_000 }

/** ExportFault `unreachable` where it stays away, or busy. The answer may be any other. */
export function sendWithRetries(url: string, request: Request, asking: RequestOptions): Promise<TextResponse> {
  return retryTransientFailures(url, asking, async () => {
    const response = await sendOnce(url, request, asking)
    const told = { status: response.status, headers: response.headers, text: await readBoundedText(response, url) }
    return isPassing(told) ? new TransientFailure(`answers ${told.status}${outcomeSuffixOf(told.text)}`, told.headers) : told
  })
}

/** Once. What is signed is for one address: nobody is followed to another with it. */
export async function sendOnce(
  url: string,
  request: Request,
  { authorize, signal }: Pick<RequestOptions, 'authorize' | 'signal'>,
): Promise<Response> {
  const { method = 'GET', headers, body } = request
  const who = await authorize?.({ method, url, ...(body === undefined ? {} : { body: Buffer.from(body) }) })
  const redirect = who?.['x-amz-date'] === undefined ? 'follow' : 'manual'
  return fetch(url, { ...request, headers: { ...headers, ...who }, signal, redirect })
}

/** Bytes of an answer that is no file. */
const MOST_TEXT = 64_000_000

/** ExportFault where it goes on and on. */
export async function readBoundedText({ body }: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MOST_TEXT) throw new ExportFault('failed', `${withoutQuery(url)} answers with more than ${MOST_TEXT / 1_000_000} MB`)
  }
  return Buffer.concat(chunks).toString()
}

/** Of an attempt: it is worth another one. `progressed`: it brought what none before had, so that it counts as the first. */
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

/** What is thrown passes as well. */
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
      // fetch throws a TypeError where nobody answers: https://fetch.spec.whatwg.org/#fetch-method
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

/** A server that says why it failed has failed: https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---error-status-1 */
function isPassing({ status, text }: TextResponse): boolean {
  if (status === 429 || (status >= 502 && status <= 504)) return true
  const codes = parseOutcomeIssues(text)?.map(({ code }) => code) ?? []
  return status >= 500 && (codes.length === 0 || codes.some((code) => code === 'transient' || code === 'throttled'))
}

/** What a server says of a failure, after a colon; nothing where it says nothing. */
export function outcomeSuffixOf(text: string): string {
  const texts = parseOutcomeIssues(text)?.map(({ details, diagnostics, code }) => details?.text ?? diagnostics ?? code ?? '') ?? []
  return texts.length === 0 ? '' : `: ${texts.join('; ')}`
}

/** Milliseconds. https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3; 0 where it says nothing that makes sense. */
export function retryAfterMs(headers: Headers, now = Date.now()): number {
  const text = headers.get('retry-after') ?? ''
  const asked = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Math.min(Math.max(asked || 0, 0), LONGEST.asked)
}

function codeOf(error: unknown): string {
  const { code, message, cause } = error as { readonly code?: string; readonly message?: string; readonly cause?: unknown }
  return cause === undefined ? (code ?? message ?? String(error)) : codeOf(cause)
}

/** A signed link is as good as a token: it is not told whole. */
export const withoutQuery = (url: string): string => url.replace(/\?.*$/s, '')
