/**
 * API Gateway in this process: the routes and error answers of the synthesized template, the bundled functions behind them, and the limits of
 * the real one, which no emulator has. https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { deflateSync, gunzipSync, gzipSync, inflateSync } from 'node:zlib'
import type { ApiTemplate, Match } from './api-template.ts'
import type { Firewall } from './firewall.ts'
import { KEEP_ALIVE_MS } from './front.ts'
import type { FunctionHost, InvocationResult } from './function-host.ts'

export type GatewayOptions = {
  readonly api: ApiTemplate
  readonly firewall: Firewall
  readonly invoke: FunctionHost['invoke']
  readonly stage: string
  /** Milliseconds; API Gateway's is 29 s. */
  readonly timeout?: number
}

export type RunningGateway = {
  /** With the stage. */
  readonly url: string
  readonly close: () => Promise<void>
}

const LARGEST_BODY = 10 * 1024 * 1024
/** Of the request line and the values of all headers. */
const LARGEST_HEAD = 10_240
export const GATEWAY_TIMEOUT_MS = 29_000

export async function startGateway(options: GatewayOptions): Promise<RunningGateway> {
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    answer(options, request, response).catch((error: Error) =>
      response.headersSent ? response.destroy() : fault(options.api, response, 'DEFAULT_5XX', 500, error.message),
    )
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}/${options.stage}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  { api, firewall, invoke, stage, timeout = GATEWAY_TIMEOUT_MS }: GatewayOptions,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { method, url } = request as { method: string; url: string }
  const sent = Buffer.concat(await request.toArray())
  // Before any route is looked up, and so without a GatewayResponse.
  if (headSize(request) > LARGEST_HEAD)
    return void response.writeHead(400, { connection: 'close' }).end('Request Header Or Cookie Too Large')
  const blocked = firewall(request.headers)
  if (blocked !== undefined)
    return void response.writeHead(blocked.status, { 'content-type': blocked.contentType, connection: 'close' }).end(blocked.body)
  const path = url.split('?', 1)[0]!.slice(stage.length + 1)
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length))
  if (/[|{}]/.test(url) || !isText(path)) return fault(api, response, 'BAD_REQUEST_PARAMETERS', 400, 'Unsupported character')
  const matched = api.match(path)
  const target = matched?.functionOf(method)
  if (matched === undefined || target === undefined)
    return fault(api, response, 'MISSING_AUTHENTICATION_TOKEN', 403, 'Missing Authentication Token')
  if (sent.length > LARGEST_BODY) return fault(api, response, 'REQUEST_TOO_LARGE', 413, 'Request Too Long')
  const body = decompressed(sent, request.headers['content-encoding'])
  if (body === 'too large') return fault(api, response, 'REQUEST_TOO_LARGE', 413, 'Request Too Long')
  if (body === undefined) return fault(api, response, 'UNSUPPORTED_MEDIA_TYPE', 415, 'Unsupported Media Type')
  const invoked = await within(timeout, invoke(target, eventOf(api, request, matched, query, body, path)))
  if (invoked === 'late') return fault(api, response, 'INTEGRATION_TIMEOUT', 504, 'Endpoint request timed out')
  // https://github.com/koki-develop/lgtm-generator/issues/10 shows such an answer.
  if (!('result' in invoked) && invoked.kind === 'event too large')
    return fault(api, response, 'REQUEST_TOO_LARGE', 413, 'Request Too Long')
  if (!('result' in invoked)) return fault(api, response, 'INTEGRATION_FAILURE', 502, 'Internal server error')
  return send(api, request, response, JSON.parse(invoked.result) as Result | null)
}

/**
 * Returns undefined if the coding is unknown, or is not that of the body. The function still gets the header Content-Encoding. API Gateway
 * decompresses requests even if it compresses no responses.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-make-request-with-compressed-payload.html
 */
function decompressed(body: Buffer, coding = 'identity'): Buffer | 'too large' | undefined {
  const limit = { maxOutputLength: LARGEST_BODY }
  const decompress = {
    identity: (bytes: Buffer) => bytes,
    gzip: (bytes: Buffer) => gunzipSync(bytes, limit),
    deflate: (bytes: Buffer) => inflateSync(bytes, limit),
  }[coding]
  try {
    return decompress?.(body)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too large' : undefined
  }
}

/**
 * Returns the coding for a response, or undefined if it is not compressed.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-receive-response-with-compressed-payload.html
 */
function codingOf({ minimumCompressionSize }: ApiTemplate, accepted: unknown, size: number): keyof typeof COMPRESS | undefined {
  if (minimumCompressionSize === undefined || size < minimumCompressionSize) return undefined
  const codings = String(accepted ?? '')
    .split(',')
    .map((each) => each.split(';', 1)[0]!.trim())
  return (['gzip', 'deflate'] as const).find((each) => codings.includes(each))
}

const COMPRESS = { gzip: gzipSync, deflate: deflateSync } as const

/** Whether it is percent-encoded UTF-8. */
function isText(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}

const headSize = ({ method, url, rawHeaders }: IncomingMessage): number =>
  method!.length + url!.length + rawHeaders.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

function within(timeout: number, invoked: Promise<InvocationResult>): Promise<InvocationResult | 'late'> {
  let timer: NodeJS.Timeout
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeout)
  })
  return Promise.race([invoked, late]).finally(() => clearTimeout(timer))
}

function eventOf(
  api: ApiTemplate,
  request: IncomingMessage,
  { resource, pathParameters }: Match,
  query: URLSearchParams,
  body: Buffer,
  path: string,
): object {
  const { rawHeaders, headers, method } = request
  // What a name inherits is no value of it.
  const multiValueHeaders: Record<string, string[]> = Object.create(null)
  for (let i = 0; i < rawHeaders.length; i += 2) {
    multiValueHeaders[rawHeaders[i]!] ??= []
    multiValueHeaders[rawHeaders[i]!]!.push(rawHeaders[i + 1]!)
  }
  const names = [...new Set(query.keys())]
  const isBinary = isAmong(api.binaryMediaTypes, headers['content-type'])
  return {
    resource,
    path: decodeURIComponent(path),
    httpMethod: method,
    headers: Object.fromEntries(Object.entries(multiValueHeaders).map(([name, values]) => [name, values.at(-1)])),
    multiValueHeaders,
    queryStringParameters: names.length === 0 ? null : Object.fromEntries(query),
    multiValueQueryStringParameters: names.length === 0 ? null : Object.fromEntries(names.map((name) => [name, query.getAll(name)])),
    pathParameters,
    stageVariables: null,
    requestContext: { resourcePath: resource, httpMethod: method, requestId: crypto.randomUUID(), identity: { sourceIp: '127.0.0.1' } },
    body: body.length === 0 ? null : body.toString(isBinary ? 'base64' : 'utf8'),
    isBase64Encoded: isBinary && body.length > 0,
  }
}

/** Whether a media type is one of `image/*`, `application/pdf`. Of several, as in Accept, only the first counts. */
function isAmong(types: readonly string[], header = ''): boolean {
  const type = header.split(/[,;]/, 1)[0]!.trim().toLowerCase()
  return types.some((each) => each === '*/*' || each === type || (each.endsWith('/*') && type.startsWith(each.slice(0, -1))))
}

type Result = {
  readonly statusCode?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>
  readonly body?: string
  readonly isBase64Encoded?: boolean
}

/** Headers the gateway keeps for itself: a function's own come out under another name. */
const REMAPPED = new Set(['connection', 'content-length', 'date', 'server', 'trailer', 'upgrade', 'via', 'www-authenticate'])

function send(api: ApiTemplate, request: IncomingMessage, response: ServerResponse, result: Result | null): void {
  if (typeof result?.statusCode !== 'number' || !['string', 'undefined'].includes(typeof result.body)) {
    return fault(api, response, 'INTEGRATION_FAILURE', 502, 'Internal server error')
  }
  const { statusCode, headers = {}, multiValueHeaders = {}, body = '', isBase64Encoded = false } = result
  for (const [name, value] of [...Object.entries(headers), ...Object.entries(multiValueHeaders)]) {
    response.setHeader(REMAPPED.has(name.toLowerCase()) ? `x-amzn-Remapped-${name}` : name, value)
  }
  // Base64 becomes bytes only for a client whose Accept is one of the binary types.
  const isDecoded = isBase64Encoded && isAmong(api.binaryMediaTypes, request.headers.accept)
  const bytes = Buffer.from(body, isDecoded ? 'base64' : 'utf8')
  const coding = response.hasHeader('content-encoding') ? undefined : codingOf(api, request.headers['accept-encoding'], bytes.length)
  if (coding === undefined) return void response.writeHead(statusCode).end(bytes)
  response.writeHead(statusCode, { 'content-encoding': coding }).end(COMPRESS[coding](bytes))
}

/** An error of the gateway itself, as the template wants it. */
function fault(api: ApiTemplate, response: ServerResponse, type: string, usual: number, message: string): void {
  const { responses } = api
  const { status, headers, templates } = responses[type] ??
    responses[usual < 500 ? 'DEFAULT_4XX' : 'DEFAULT_5XX'] ?? { headers: {}, templates: {} }
  const [contentType, template] = Object.entries(templates)[0] ?? ['application/json', '{"message":$context.error.messageString}']
  const values: Readonly<Record<string, string>> = {
    'error.messageString': JSON.stringify(message),
    'error.message': message,
    'error.responseType': type,
    requestId: crypto.randomUUID(),
  }
  const body = template.replace(/\$context\.([a-zA-Z.]+)/g, (whole, name: string) => values[name] ?? whole)
  response.writeHead(status ?? usual, { 'content-type': contentType, ...headers }).end(body)
}
