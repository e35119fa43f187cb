/**
 * Stands between the functions and what they call, and notes every call: who, of which service, what. Each function signs with its own name
 * as access key, so that the caller is known.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Tree } from './aws-calls.ts'
import { KEEP_ALIVE_MS } from './front.ts'

export type RecordedCall = {
  /** The function. */
  readonly caller: string
  readonly service: 'dynamodb' | 's3' | 'states' | 'es' | 'kms'
  /** Of DynamoDB, KMS and Step Functions the operation, else the HTTP method; of uploads in parts what it does with them. */
  readonly operation: string
  /** Without the query. */
  readonly path: string
  /** Of S3: what is copied, `bucket/key`. */
  readonly source?: string
  /** What was sent and answered, of the services that speak JSON. */
  readonly input: Tree
  readonly output: Tree
  readonly status: number
}

export type Recorder = {
  readonly awsEndpoint: string
  readonly searchEndpoint: string
  /** Since the last call of it. */
  readonly take: () => readonly RecordedCall[]
  readonly close: () => Promise<void>
}

export async function startRecorder(awsEndpoint: string, searchEndpoint: string): Promise<Recorder> {
  let calls: RecordedCall[] = []
  const note = (call: RecordedCall): void => void calls.push(call)
  const aws = await passingTo(awsEndpoint, note)
  const search = await passingTo(searchEndpoint, note)
  return {
    awsEndpoint: aws.endpoint,
    searchEndpoint: search.endpoint,
    take() {
      const recorded = calls
      calls = []
      return recorded
    },
    async close() {
      await Promise.all([aws.close(), search.close()])
    },
  }
}

async function passingTo(endpoint: string, note: (call: RecordedCall) => void) {
  const server = createServer({ maxHeaderSize: 65_536 }, (request, response) => {
    pass(endpoint, note, request, response).catch(() => response.destroy())
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { endpoint: `http://127.0.0.1:${port}`, close }
}

async function pass(
  endpoint: string,
  note: (call: RecordedCall) => void,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url, headers } = request as { method: string; url: string; headers: Record<string, string | undefined> }
  const body = Buffer.concat(await request.toArray())
  const started = startHeaders(headers)
  if (started !== undefined) {
    note(callOf(method, url, headers, body, 200, started))
    return void response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end(started)
  }
  const { host: _, connection: _connection, 'content-length': _length, expect: _expect, ...passed } = headers
  const answer = await fetch(endpoint + url, { method, headers: passed as Record<string, string>, ...(body.length === 0 ? {} : { body }) })
  const bytes = Buffer.from(await answer.arrayBuffer())
  note(callOf(method, url, headers, body, answer.status, bytes))
  const answerHeaders = [...answer.headers].filter(
    ([name]) => !['connection', 'transfer-encoding', 'content-encoding', 'content-length'].includes(name),
  )
  response.writeHead(
    answer.status,
    [...answerHeaders, ['content-length', method === 'HEAD' ? (answer.headers.get('content-length') ?? '0') : String(bytes.length)]].flat(),
  )
  response.end(bytes)
}

/** Executions are not started where they are recorded: their steps would run elsewhere. See workers.ts. */
function startHeaders(headers: Readonly<Record<string, string | undefined>>): Buffer | undefined {
  if (headers['x-amz-target'] !== 'AWSStepFunctions.StartExecution') return undefined
  return Buffer.from(JSON.stringify({ executionArn: 'arn:aws:states:us-east-1:000000000000:execution:none:none', startDate: 0 }))
}

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html#mpuAndPermissions */
function partsOperation(service: string, method: string, url: string): string | undefined {
  if (service !== 's3') return undefined
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1 || url.length))
  if (method === 'GET' && query.has('uploads')) return 'ListUploads'
  if (method === 'DELETE' && query.has('uploadId')) return 'AbortUpload'
  // Begun, written and completed by who may put the object.
  return (method === 'POST' || method === 'PUT') && (query.has('uploads') || query.has('uploadId')) ? 'PUT' : undefined
}

function callOf(
  method: string,
  url: string,
  headers: Readonly<Record<string, string | undefined>>,
  body: Buffer,
  status: number,
  answer: Buffer,
): RecordedCall {
  const [, caller = '', service = ''] = /Credential=([^/]+)\/\d+\/[^/]+\/([^/]+)\//.exec(headers.authorization ?? '') ?? []
  const operation = headers['x-amz-target']?.split('.').at(-1) ?? partsOperation(service, method, url) ?? method
  const source = headers['x-amz-copy-source']
  const isTree = headers['x-amz-target'] !== undefined
  return {
    caller,
    service: service as RecordedCall['service'],
    operation,
    path: url.split('?', 1)[0]!,
    ...(source === undefined ? {} : { source }),
    input: isTree ? JSON.parse(body.toString() || '{}') : undefined,
    output: isTree ? JSON.parse(answer.toString() || '{}') : undefined,
    status,
  }
}
