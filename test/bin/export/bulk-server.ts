/** A small Bulk Data server with prepared responses. It records the requests. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { waitMs } from '../../fixtures/delays.ts'

export type ReceivedRequest = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** `breakAfter`: bytes of the body that are sent before the connection is cut. */
export type PreparedResponse = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly breakAfter?: number
}

export type BulkServer = {
  readonly base: string
  readonly requests: ReceivedRequest[]
  /** Number of requests with a method and a path. */
  readonly times: (method: string, path: string) => number
}

/** `answers`: responses by method and path; each is used once, the last one repeatedly. `{base}` in them becomes the base URL. */
export async function startBulkServer(
  answers: Readonly<Record<string, PreparedResponse[] | ((request: ReceivedRequest) => PreparedResponse)>>,
): Promise<BulkServer> {
  const requests: ReceivedRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const one = { method: request.method!, url: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() }
    requests.push(one)
    const found = answers[`${one.method} ${pathOf(one.url)}`]
    const answer = typeof found === 'function' ? found(one) : found !== undefined && found.length > 1 ? found.shift()! : found?.[0]
    send(response, answer ?? { status: 404 }, base)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  runAtEnd(() => server.closeAllConnections())
  runAtEnd(() => server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/fhir`
  return { base, requests, times: (method, path) => requests.filter((each) => each.method === method && pathOf(each.url) === path).length }
}

const pathOf = (url: string): string => url.replace(/^\/fhir/, '').replace(/\?.*$/, '')

function send(response: ServerResponse, { status, headers = {}, body = '', breakAfter }: PreparedResponse, base: string): void {
  const bytes = Buffer.from(body.replaceAll('{base}', base))
  const headerFields = Object.entries(headers).map(([name, value]) => [name, value.replaceAll('{base}', base)])
  response.writeHead(status, { 'content-length': bytes.length, ...Object.fromEntries(headerFields) })
  if (breakAfter === undefined) return void response.end(bytes)
  // The client loses any bytes that it has not read when the connection is cut.
  response.write(bytes.subarray(0, breakAfter), () => void waitMs(300).then(() => response.destroy()))
}

/** Returns a responder for a file that supports ranges. */
export function rangeResponder(text: string, etag: string): (asked: ReceivedRequest) => PreparedResponse {
  return ({ headers }) => {
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? Number.NaN)
    const whole = { headers: { etag } }
    if (Number.isNaN(from) || headers['if-range'] !== etag) return { status: 200, ...whole, body: text }
    return { status: 206, headers: { etag, 'content-range': `bytes ${from}-${text.length - 1}/${text.length}` }, body: text.slice(from) }
  }
}
