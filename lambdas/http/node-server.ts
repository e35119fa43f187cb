/** The server on node:http: reads bodies within the limit, compresses answers, drains on close. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { fhirError } from '../fhir/outcome.ts'
import { Overloaded } from '../ports/overloaded.ts'
import { givenRequestId, type HttpRequest, type HttpResponse } from './exchange.ts'
import type { Serve } from './server.ts'

export type NodeServerSettings = {
  /** The path of the base URL: `/fhir`, or empty. */
  readonly basePath: string
  /** Bytes. */
  readonly maxBody: number
  /** Requests under way at once; more are answered 503. */
  readonly maxRequests: number
  readonly newRequestId: () => string
}

/** Bytes of a URL and its headers: long searches fit. */
const LONGEST_HEAD = 512 * 1024

export function nodeServer(serve: Serve, settings: NodeServerSettings): Server {
  let underWay = 0
  return createServer({ keepAliveTimeout: 65_000, requestTimeout: 300_000, maxHeaderSize: LONGEST_HEAD }, async (incoming, outgoing) => {
    underWay++
    try {
      const response = await answer(serve, settings, incoming, underWay > settings.maxRequests)
      await send(incoming, outgoing, response)
    } catch {
      // The client is gone, or sent what is not HTTP: there is nobody to answer.
      outgoing.destroy()
    } finally {
      underWay--
    }
  })
}

async function answer(serve: Serve, settings: NodeServerSettings, incoming: IncomingMessage, isBusy: boolean): Promise<HttpResponse> {
  const headers = headersOf(incoming)
  const requestId = givenRequestId(headers) ?? settings.newRequestId()
  const [path, query] = split(incoming.url ?? '/')
  const method = incoming.method === 'HEAD' ? 'GET' : (incoming.method ?? 'GET')
  const refuse = (refused: Error) => serve({ method, path: '/', query: '', headers, ...NO_BODY, refused }, requestId)
  if (isBusy) return refuse(new Overloaded())
  if (path !== settings.basePath && !path.startsWith(`${settings.basePath}/`))
    return refuse(fhirError(404, 'not-found', `The base of this server is ${settings.basePath}`))
  const body = await readBody(incoming, settings.maxBody)
  const request: HttpRequest = { method, path: path.slice(settings.basePath.length) || '/', query, headers, ...body }
  return serve(request, requestId)
}

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

const NO_BODY = { body: new Uint8Array() }

async function readBody(incoming: IncomingMessage, limit: number): Promise<{ readonly body: Uint8Array; readonly bodyTooLong?: boolean }> {
  if (incoming.headers['content-length'] === undefined && incoming.headers['transfer-encoding'] === undefined) return NO_BODY
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= limit) chunks.push(chunk)
    // A client that sends much more than is read is cut off instead of listened to.
    else if (size > limit * 4) break
  }
  if (size > limit) return { ...NO_BODY, bodyTooLong: true }
  return { body: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) }
}

const compress = promisify(gzip)
const WORTH_COMPRESSING = 1_400

async function send(incoming: IncomingMessage, outgoing: ServerResponse, { status, headers, body }: HttpResponse): Promise<void> {
  const gzipped = body !== undefined && body.length >= WORTH_COMPRESSING && takesGzip(incoming)
  const bytes = gzipped ? await compress(body, { level: 1 }) : body
  outgoing.writeHead(status, {
    ...headers,
    ...(gzipped
      ? { 'content-encoding': 'gzip', vary: headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding` }
      : {}),
    ...(bytes === undefined ? (status === 204 || status === 304 ? {} : { 'content-length': 0 }) : { 'content-length': bytes.length }),
  })
  outgoing.end(incoming.method === 'HEAD' ? undefined : bytes)
}

const takesGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(String(headers['accept-encoding'] ?? ''))
