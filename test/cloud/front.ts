/** What stands before the deployed API: one address that stays, and CloudFront's work on a request. Bytes and headers pass as they are. */
import { Agent, createServer, type IncomingMessage, request as requestOf, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Distribution } from './distribution.ts'
import { type FileBehaviour, handOut, isFile } from './files.ts'
import { type Headers, type Viewer, viewerOf } from './viewer.ts'

export type Front = {
  readonly port: number
  /** Requests that the viewer function leaves or leads below /fhir go to this address from now on. */
  readonly forwardTo: (api: string, distribution?: Distribution) => void
  /** How many have been answered. */
  readonly answered: () => number
  readonly close: () => Promise<void>
}

/** Requests under way at once; more wait. Each may take a process of the stand-in's, where Lambda has as many as it needs. */
const AT_ONCE = 8

/** Where tests ask for an empty server: `control` gets what the body says, and its result is the answer. */
const CONTROL = '/-/fresh'
const BASE = '/fhir'
/** Milliseconds: longer than clients keep connections. */
export const KEEP_ALIVE_MS = 120_000

/** `port`: 0 is any. `control`: see CONTROL. An error of it is answered with 500 and its text. */
export async function startFront(port: number, control: (wish: object) => Promise<object>): Promise<Front> {
  // A connection is left before the other end may close it: a request that is on its way then would be lost.
  const agent = new Agent({ keepAlive: true, timeout: 2_000 })
  let api: string | undefined
  let view: Viewer = (url) => ({ url, headers: {} })
  let sent: Headers = {}
  let files: FileBehaviour | undefined
  let answered = 0
  let pending = 0
  const waiting: (() => void)[] = []
  const enter = (go: () => void): void => {
    if (pending === AT_ONCE) return void waiting.push(go)
    pending++
    go()
  }
  const leave = (): void => {
    pending--
    const next = waiting.shift()
    if (next !== undefined) enter(next)
  }
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.url === CONTROL) return void freshen(request, response, control)
    if (files !== undefined && isFile(files, request.url!)) return void handOut(files, request, response).catch(() => response.destroy())
    if (api === undefined) return void response.writeHead(502).end()
    answered++
    const seen = view(request.url!, request.headers)
    if ('status' in seen) {
      // A client reads the answer only after it has sent its body. An earlier answer would close the connection under it.
      return void request.once('end', () => response.writeHead(seen.status, seen.headers).end(seen.body)).resume()
    }
    const { url, headers } = seen
    if (!url.startsWith(BASE)) return void response.writeHead(502).end()
    const target = api + (url.slice(BASE.length) || '/')
    enter(() => {
      // Who waited may have gone.
      if (response.closed) return leave()
      response.once('close', leave)
      forward(target, { ...headers, ...sent }, request, response, agent)
    })
  }
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    try {
      answer(request, response)
    } catch (error) {
      response.writeHead(502).end((error as Error).message)
    }
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    forwardTo(to, distribution) {
      api = to
      sent = distribution?.headers ?? {}
      files = distribution?.files
      view = distribution === undefined ? (url) => ({ url, headers: {} }) : viewerOf(distribution.viewerFunction)
    },
    answered: () => answered,
    close: () =>
      new Promise((resolve) => {
        agent.destroy()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function freshen(request: IncomingMessage, response: ServerResponse, control: (wish: object) => Promise<object>): Promise<void> {
  try {
    const chunks = await request.toArray()
    const result = await control(JSON.parse(Buffer.concat(chunks).toString() || '{}') as object)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
  } catch (error) {
    response.writeHead(500).end(String((error as Error).stack))
  }
}

function forward(url: string, headers: Headers, request: IncomingMessage, response: ServerResponse, agent: Agent): void {
  const { hostname, port, pathname } = new URL(url)
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  const onward = requestOf({
    hostname,
    port,
    path: pathname + query,
    method: request.method!,
    headers: { ...passed(request), ...headers },
    agent,
  })
  onward.once('error', (error) => (response.headersSent ? response.destroy() : response.writeHead(502).end(error.message)))
  // Nobody waits for it any more.
  response.once('close', () => onward.destroy())
  onward.once('response', (answer) => {
    const pairs = Array.from({ length: answer.rawHeaders.length / 2 }, (_, i) => answer.rawHeaders.slice(2 * i, 2 * i + 2))
    response.writeHead(answer.statusCode!, pairs.filter(([name]) => !HOPS.has(name!.toLowerCase())).flat())
    answer.once('error', () => response.destroy()).pipe(response)
  })
  request.pipe(onward)
}

/** Headers of a connection, not of a message. */
const HOPS = new Set(['connection', 'keep-alive', 'transfer-encoding'])

const passed = ({ headers }: IncomingMessage): Record<string, string | string[]> =>
  Object.fromEntries(Object.entries(headers).filter(([name, value]) => value !== undefined && name !== 'connection')) as Record<
    string,
    string | string[]
  >
