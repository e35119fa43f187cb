/** Asks one address over connections that stay open, and a busy server again. node:http, because fetch costs several times as much. */
import * as http from 'node:http'
import * as https from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { resolveSafeLink } from './safe-link.ts'
import type { BufferedResponse } from './server-response.ts'

/** Rejects when the server cannot be reached, or stays busy. */
export type Post = (body: Buffer, headers?: Readonly<Record<string, string>>) => Promise<BufferedResponse>

/** How often a busy server is asked again, and one that cannot be reached. */
const PATIENCE = { busy: 8, unreachable: 5 }

/** A request, as far as who asks is said of it. */
export type UnsignedRequest = { readonly method: string; readonly url: string; readonly body?: Uint8Array }

/** The headers that say who asks, as of now. */
export type Authorize = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>

/** `authorize`: where the server asks for a token. */
export function createPost(base: string, authorize?: Authorize): Post {
  const agents: Agents = { 'http:': new http.Agent({ keepAlive: true }), 'https:': new https.Agent({ keepAlive: true }) }
  return async (body, headers = {}) => {
    return patiently(base, async () => {
      const authorized = { ...headers, ...(await authorize?.({ method: 'POST', url: base, body })) }
      return send(new URL(base), { method: 'POST', body, headers: authorized }, agents)
    })
  }
}

/** Gets what is there now, also the answer of a busy server. Rejects when it cannot be reached. */
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

/** As a post: where it cannot be reached, or is busy, it is asked again. */
export function getWithRetries(url: string): Promise<BufferedResponse> {
  const agents: Agents = { 'http:': http.globalAgent, 'https:': https.globalAgent }
  return patiently(url, () => send(new URL(url), { method: 'GET', body: Buffer.alloc(0), headers: {} }, agents))
}

async function patiently(url: string, ask: () => Promise<BufferedResponse>): Promise<BufferedResponse> {
  for (let attempt = 0; ; attempt++) {
    let reason = 'no answer'
    const answer = await ask().catch((error: NodeJS.ErrnoException) => {
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

const MOST_REDIRECTS = 5

type Sent = { readonly method: 'GET' | 'POST'; readonly body: Buffer; readonly headers: Readonly<Record<string, string>> }

async function send(url: URL, sent: Sent, agents: Agents, redirects = 0): Promise<BufferedResponse> {
  const answer = await exchange(url, sent, agents)
  const { location } = answer.headers
  const isElsewhere = (answer.status === 307 || answer.status === 308) && redirects < MOST_REDIRECTS
  const link = isElsewhere ? resolveSafeLink(location, url.href) : undefined
  if (link === undefined) return answer
  const target = new URL(link)
  // A token is for the server it was given for, and a session's is of who asks.
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
