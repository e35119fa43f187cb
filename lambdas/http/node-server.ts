/** Server on node:http. Reads bodies within limits, compresses responses, and answers every client that is still connected. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { fhirError } from '../fhir/outcome.ts'
import { MachineFault } from '../ports/faults.ts'
import { pathBelowBase } from './base-path.ts'
import { answerConnection, connectionErrorOf } from './broken-connection.ts'
import { Connections } from './connections.ts'
import { clientRequestIdOf, type HttpRequest, type HttpResponse } from './exchange.ts'
import { repeatedHeaderError } from './headers.ts'
import { addressOf } from './peer-address.ts'
import { BodyReader } from './request-bodies.ts'
import { acceptsGzip, Compressor, MIN_GZIP_BYTES } from './response-compression.ts'
import { lengthOf, PendingResponses } from './response-memory.ts'
import type { Serve } from './server.ts'
import type { Admit } from './steps/authenticate.ts'
import { describeError } from './steps/describe-errors.ts'
import { acceptsPages, redirectToBase } from './steps/redirect-browsers.ts'
import { toHttpResponse } from './steps/write-response.ts'

export type NodeServerSettings = {
  /** Path of the base URL, such as `/fhir`, or empty. */
  readonly basePath: string
  /** Maximum bytes of a request body. Longer bodies are answered 413. */
  readonly maxBody: number
  /** Maximum concurrent requests, not counting those with a body that is still arriving. Further requests are answered 503. */
  readonly maxRequests: number
  readonly newRequestId: () => string
  /** Header in which a proxy names the client's address. Absent or empty: the address is that of the connection. */
  readonly addressHeader?: string
  /** Checks a request before its body is read, so that a rejected one uses no memory. Absent: every body is read. */
  readonly admit?: Admit
  /** Receives errors outside the steps of a request, for the operator. */
  readonly report: (error: unknown, requestId: string) => void
  /** Milliseconds between two checks of arriving bodies. Only tests set it. */
  readonly tick?: number
  /** Replaces MOST_ANSWERS in tests. */
  readonly mostAnswers?: number
  /** Replaces MOST_COMPRESSING in tests. */
  readonly mostCompressing?: number
  /** Replaces MOST_CONNECTIONS in tests. */
  readonly mostConnections?: number
  /** Replaces MOST_HEADS in tests. */
  readonly mostHeads?: number
}

/** Maximum bytes of a URL and its headers, enough for long searches. Longer ones are answered 431. */
const LONGEST_HEAD = 512 * 1024
/** Memory for arriving and processed bodies, as a multiple of `maxBody`. Above it, the heaviest arriving body is answered 503. */
const LARGE_BODIES = 16
/** Maximum bytes of responses that clients have not received yet. Above it, the response with the most bytes and time is cut off. */
const MOST_ANSWERS = 256_000_000
/** Maximum bytes of bodies under compression: 28 pages of maximum size. Further bodies are sent uncompressed. */
const MOST_COMPRESSING = 128_000_000
/** Maximum connections, below the usual limit of open files. A further one replaces an idle one, or is closed if none is idle. */
const MOST_CONNECTIONS = 4_000
/** Maximum bytes of incomplete URLs and headers. Above it, the longest are answered 503. */
const MOST_HEADS = 64_000_000
/** Milliseconds between two checks of the incomplete heads. */
const TICK_OF_HEADS = 50

export function nodeServer(serve: Serve, settings: NodeServerSettings): Server {
  const front = new Front(serve, settings, () => !server.listening)
  // Accept requests without Host: `Front` rejects them with an OperationOutcome, node:http would not.
  const options = { keepAliveTimeout: 65_000, requestTimeout: 300_000, maxHeaderSize: LONGEST_HEAD, requireHostHeader: false }
  const server = createServer(options, (incoming, outgoing) => front.take(incoming, outgoing))
  return server
    .on('connection', (socket) => front.connections.take(socket))
    .on('checkExpectation', (incoming, outgoing) => front.take(incoming, outgoing, UNEXPECTED))
    .on('connect', (_, socket) => {
      // Handle errors of this socket: node does not after CONNECT, and an unhandled error would end the process.
      socket.on('error', () => socket.destroy())
      void front.answerBroken(socket, NO_TUNNEL)
    })
    .on('clientError', (error, socket) => void front.answerBroken(socket, connectionErrorOf(error)))
}

const UNEXPECTED = fhirError(417, 'not-supported', 'The only expectation that is met is 100-continue')
const TOO_MANY_HEADS = new MachineFault('overloaded', 'too many bytes of heads')
const NO_TUNNEL = fhirError(405, 'not-supported', 'CONNECT is not possible here')

class Front {
  readonly connections: Connections
  readonly #serve: Serve
  readonly #settings: NodeServerSettings
  readonly #bodies: BodyReader
  readonly #answers: PendingResponses
  readonly #compressor: Compressor
  readonly #isEnding: () => boolean
  /** Response to the latest request of each connection. */
  readonly #latest = new WeakMap<Duplex, ServerResponse>()
  /** Responses that a handler has claimed, so that no other one writes to them. */
  readonly #claimed = new WeakSet<ServerResponse>()
  #underWay = 0

  constructor(serve: Serve, settings: NodeServerSettings, isEnding: () => boolean) {
    this.#serve = serve
    this.#isEnding = isEnding
    this.#settings = settings
    this.#bodies = new BodyReader({ most: LARGE_BODIES * settings.maxBody, tick: settings.tick ?? 1_000 })
    this.#answers = new PendingResponses(settings.mostAnswers ?? MOST_ANSWERS)
    this.#compressor = new Compressor(settings.mostCompressing ?? MOST_COMPRESSING)
    const { mostConnections: most = MOST_CONNECTIONS, mostHeads: heads = MOST_HEADS } = settings
    this.connections = new Connections({ most, heads, tick: TICK_OF_HEADS }, (socket) => void this.answerBroken(socket, TOO_MANY_HEADS))
  }

  /** Answers a request after earlier ones on its connection. `refused`: error to answer with instead of processing it. */
  take(incoming: IncomingMessage, outgoing: ServerResponse, refused?: Error): void {
    const { socket } = incoming
    this.#latest.set(socket, outgoing)
    this.connections.inTurn(socket, async () => {
      await this.#answer(incoming, outgoing, refused)
    })
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse, refused?: Error): Promise<void> {
    const headers = headersOf(incoming)
    const requestId = clientRequestIdOf(headers) ?? this.#settings.newRequestId()
    const [path, query] = split(incoming.url ?? '/')
    const below = pathBelowBase(path, this.#settings.basePath)
    const method = incoming.method === 'HEAD' ? 'GET' : (incoming.method ?? 'GET')
    const request: HttpRequest = {
      method,
      ...(incoming.method === 'HEAD' ? { isHead: true } : {}),
      path: below ?? '/',
      query,
      headers,
      body: NO_BODY,
      ...addressOf(incoming, this.#settings.addressHeader),
    }
    try {
      const error = refused ?? this.#faultOf(incoming, below)
      if (error === undefined && hasBody(incoming)) return await this.#answerWithBody(incoming, outgoing, request, requestId)
      if (!this.#claim(outgoing)) return
      if (error === undefined) await this.#work(incoming, outgoing, request, requestId)
      else await this.#send(incoming, outgoing, await this.#refuse(request, requestId, error))
    } catch (error) {
      await this.#fail(incoming, outgoing, request, requestId, error)
    }
  }

  /**
   * Answers a connection that sent no request to process: invalid bytes, a timeout, CONNECT, or a long incomplete head. `error`: undefined
   * if the client has disconnected.
   */
  async answerBroken(socket: Duplex, error: Error | undefined): Promise<void> {
    const latest = this.#latest.get(socket)
    const isReading = latest !== undefined && !latest.req.complete
    if (error === undefined || !socket.writable || (isReading && latest.headersSent)) return void socket.destroy()
    if (isReading) {
      latest.setHeader('connection', 'close')
      return this.#answer(latest.req, latest, error)
    }
    const requestId = this.#settings.newRequestId()
    const nothing: HttpRequest = { method: 'GET', path: '/', query: '', headers: {}, body: NO_BODY }
    const response = await this.#refuse(nothing, requestId, error).catch((thrown: unknown) => this.#describe(thrown, requestId))
    await answerConnection(socket, latest, response)
  }

  #faultOf(incoming: IncomingMessage, below: string | undefined): Error | undefined {
    if (below === undefined) return this.#outsideBase(incoming)
    if (incoming.headers.host === undefined && incoming.httpVersion === '1.1')
      return fhirError(400, 'required', 'The header host is missing')
    // node:http stores one entry per header name. Fewer entries than raw headers mean that a header repeats.
    const { rawHeaders } = incoming
    if (rawHeaders.length === 2 * Object.keys(incoming.headers).length) return undefined
    return repeatedHeaderError(rawHeaders.filter((_, i) => i % 2 === 0))
  }

  #outsideBase({ url, method, headers: { accept } }: IncomingMessage): Error {
    const { basePath } = this.#settings
    if (url === '/' && method === 'GET' && acceptsPages(accept)) return redirectToBase(basePath)
    return fhirError(404, 'not-found', `The base of this server is ${basePath}`)
  }

  async #answerWithBody(incoming: IncomingMessage, outgoing: ServerResponse, request: HttpRequest, requestId: string): Promise<void> {
    const { unread, limit = Number.POSITIVE_INFINITY } = (await this.#settings.admit?.(request)) ?? {}
    if (incoming.destroyed) return void (this.#claim(outgoing) && outgoing.destroy())
    const body = await this.#bodies.read(incoming, { isKept: unread === undefined, limit: Math.min(limit, this.#settings.maxBody) })
    if (!this.#claim(outgoing)) return void (body.kind === 'whole' && this.#bodies.giveBack(body.bytes))
    const known = unread === undefined ? request : { ...request, unread }
    switch (body.kind) {
      case 'gone':
        return void outgoing.destroy()
      case 'refused':
        if (body.isCut) outgoing.setHeader('connection', 'close')
        return this.#send(incoming, outgoing, await this.#refuse(request, requestId, body.error))
      case 'too long':
        if (!incoming.complete) outgoing.setHeader('connection', 'close')
        return this.#work(incoming, outgoing, { ...known, bodyTooLong: true }, requestId)
      case 'whole':
        try {
          return await this.#work(incoming, outgoing, { ...known, body: body.bytes }, requestId)
        } finally {
          this.#bodies.giveBack(body.bytes)
        }
    }
  }

  /**
   * Returns true to the first caller for a response, so that a request is answered once. The error of an aborted request may be answered
   * while its body is still being read.
   */
  #claim(outgoing: ServerResponse): boolean {
    if (this.#claimed.has(outgoing)) return false
    this.#claimed.add(outgoing)
    return true
  }

  async #work(incoming: IncomingMessage, outgoing: ServerResponse, request: HttpRequest, requestId: string): Promise<void> {
    const isBusy = this.#underWay >= this.#settings.maxRequests
    this.#underWay++
    try {
      const response = await (isBusy ? this.#refuse(request, requestId, new MachineFault('overloaded')) : this.#serve(request, requestId))
      await this.#send(incoming, outgoing, response)
    } finally {
      this.#underWay--
    }
  }

  #refuse(request: HttpRequest, requestId: string, refused: Error): Promise<HttpResponse> {
    return this.#serve({ ...request, refused }, requestId)
  }

  /** Describes, reports and records an error that no step has caught, as far as possible. Such an error is a fault of the server. */
  async #fail(incoming: IncomingMessage, outgoing: ServerResponse, request: HttpRequest, requestId: string, error: unknown): Promise<void> {
    if (outgoing.headersSent) {
      this.#settings.report(error, requestId)
      return void outgoing.destroy()
    }
    const response = await this.#refuse(request, requestId, error as Error).catch(() => this.#describe(error, requestId))
    await this.#send(incoming, outgoing, response).catch(() => outgoing.destroy())
  }

  async #send(incoming: IncomingMessage, outgoing: ServerResponse, response: HttpResponse): Promise<void> {
    const pieces = await writeHead(incoming, outgoing, response, this.#compressor)
    const { stream, headers } = response
    if (incoming.method === 'HEAD') return this.#answers.end(outgoing, [])
    if (stream === undefined) return this.#answers.end(outgoing, pieces)
    // Do not await the stream: it may take hours, and the request would count as concurrent until then.
    void this.#answers.stream(outgoing, stream.pieces(), this.#isEnding).catch((error: unknown) => {
      this.#settings.report(error, headers['x-request-id'] ?? '')
      outgoing.destroy()
    })
  }

  #describe(error: unknown, requestId: string): HttpResponse {
    const { status, headers, body } = toHttpResponse(describeError(error, requestId, this.#settings.report))
    return { status, headers: { ...headers, 'x-request-id': requestId }, ...(body === undefined ? {} : { body }) }
  }
}

const NO_BODY = new Uint8Array()

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    flat[name] = Array.isArray(value) ? value.join(', ') : (value ?? '')
  }
  return flat
}

function split(url: string): readonly [string, string] {
  const at = url.indexOf('?')
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

const lengthHeader = (status: number, length: number | undefined): Record<string, number> =>
  length === undefined || status === 204 || status === 304 ? {} : { 'content-length': length }

/** Writes the status and headers. Returns the pieces of the body to send, compressed if the client accepts it. */
async function writeHead(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { status, headers, body, stream }: HttpResponse,
  compressor: Compressor,
): Promise<readonly Uint8Array[]> {
  const isWorth = body !== undefined && lengthOf(body) >= MIN_GZIP_BYTES
  const gzipped = isWorth && acceptsGzip(String(incoming.headers['accept-encoding'] ?? '')) ? await compressor.compress(body) : undefined
  const pieces = gzipped ?? body
  outgoing.writeHead(status, {
    ...headers,
    ...(gzipped === undefined
      ? {}
      : { 'content-encoding': 'gzip', vary: headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding` }),
    ...lengthHeader(status, stream === undefined ? lengthOf(pieces ?? []) : stream.length),
  })
  return pieces ?? []
}
