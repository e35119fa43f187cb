/**
 * HTTP requests over persistent connections, with retries if the server is busy. Uses node:http, because fetch costs several times as much.
 */
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { resolveSafeLink } from './safe-link.ts'
import type { BufferedResponse } from './server-response.ts'

/** Sends a body by POST and returns the response. Rejects if the server cannot be reached or stays busy (429, 503). */
export type Post = (body: Buffer, headers?: Readonly<Record<string, string>>) => Promise<BufferedResponse>

/** Maximum retries after busy responses, and of requests that cannot be sent. Then the request fails. */
const PATIENCE = { busy: 8, unreachable: 5 }

/** The parts of a request that its authorization may depend on. */
export type UnsignedRequest = { readonly method: string; readonly url: string; readonly body?: Uint8Array }

/** Returns the headers that authorize a request. Called for every request, because tokens and signatures expire. */
export type Authorize = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>

/** Creates a `Post` for one URL. `authorize`: authorizes requests, if the server requires it. */
export function createPost(base: string, authorize?: Authorize): Post {
  const agents: Agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  return async (body, headers = {}) => {
    return retryWhileBusy(base, async () => {
      const authorized = { ...headers, ...(await authorize?.({ method: 'POST', url: base, body })) }
      return send(new URL(base), { method: 'POST', body, headers: authorized }, agents)
    })
  }
}

/** Sends one GET without retries and returns any response, also that of a busy server. Rejects if the server cannot be reached. */
export type Get = (url: string, headers: Readonly<Record<string, string>>) => Promise<BufferedResponse>

export function createGet(authorize?: Authorize): Get {
  const agents: Agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  return async (url, headers) =>
    send(
      new URL(url),
      { method: 'GET', body: Buffer.alloc(0), headers: { ...headers, ...(await authorize?.({ method: 'GET', url })) } },
      agents,
    )
}

/** Sends a GET. Retries like a `Post` if the server is busy or cannot be reached. */
export function getWithRetries(url: string): Promise<BufferedResponse> {
  const agents: Agents = { 'http:': http.globalAgent, 'https:': https.globalAgent }
  return retryWhileBusy(url, () => send(new URL(url), { method: 'GET', body: Buffer.alloc(0), headers: {} }, agents))
}

async function retryWhileBusy(url: string, request: () => Promise<BufferedResponse>): Promise<BufferedResponse> {
  for (let attempt = 0; ; attempt++) {
    let reason = 'no answer'
    const answer = await request().catch((error: NodeJS.ErrnoException) => {
      reason = error.code ?? error.message
      return undefined
    })
    if (answer !== undefined && answer.status !== 429 && answer.status !== 503) return answer
    if (attempt === PATIENCE[answer === undefined ? 'unreachable' : 'busy'])
      throw new Error(answer === undefined ? `${url} cannot be reached (${reason})` : `${url} stays busy (${answer.status})`)
    await wait(Math.max(Number(answer?.headers['retry-after'] ?? 0) * 1000 || 0, 50 * 2 ** attempt))
  }
}

type Agents = { readonly 'http:': http.Agent; readonly 'https:': https.Agent }

const MAX_REDIRECTS = 5

type Sent = { readonly method: 'GET' | 'POST'; readonly body: Buffer; readonly headers: Readonly<Record<string, string>> }

async function send(url: URL, sent: Sent, agents: Agents, redirects = 0): Promise<BufferedResponse> {
  const answer = await exchange(url, sent, agents)
  const { location } = answer.headers
  const isRedirect = (answer.status === 307 || answer.status === 308) && redirects < MAX_REDIRECTS
  const link = isRedirect ? resolveSafeLink(location, url.href) : undefined
  if (link === undefined) return answer
  const target = new URL(link)
  // A redirect to another server must receive neither the access token nor the session token of AWS credentials.
  const { authorization, 'x-amz-security-token': _, ...others } = sent.headers
  const headers = authorization === undefined || target.origin === url.origin ? sent.headers : others
  return send(target, { ...sent, headers }, agents, redirects + 1)
}

const LONGEST = 300_000

function exchange(url: URL, { method, body, headers: more }: Sent, agents: Agents): Promise<BufferedResponse> {
  const [{ request }, agent] = url.protocol === 'https:' ? [https, agents['https:']] : [http, agents['http:']]
  const headers = {
    'content-type': 'application/fhir+json',
    accept: 'application/fhir+json',
    'content-length': body.length,
    'accept-encoding': 'identity',
    prefer: 'return=minimal',
    ...more,
  }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, agent, headers, timeout: LONGEST }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => resolve({ status: incoming.statusCode!, headers: incoming.headers, body: Buffer.concat(chunks) }))
      incoming.on('error', reject)
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')))
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
