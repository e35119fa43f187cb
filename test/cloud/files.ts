/** CloudFront before the bucket of export files: signed links only, then its function, then the object, without what the client sent for itself. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { checkSignedUrl } from '../fixtures/cloudfront.ts'
import { viewerOf } from './viewer.ts'

/** `keys`: by the ids links name. `bucket`: where it is, without a slash at the end. */
export type FileBehaviour = {
  readonly pattern: RegExp
  readonly viewerFunction: string
  readonly keys: Readonly<Record<string, string>>
  readonly bucket: string
}

/** What clients may ask of an object. */
const PASSED = ['range', 'if-range', 'if-none-match', 'if-match']
const ANSWERED = ['content-type', 'content-length', 'content-range', 'etag', 'accept-ranges', 'last-modified']

export const isFile = ({ pattern }: FileBehaviour, url: string): boolean => pattern.test(url.split('?', 1)[0]!)

export async function handOut(
  { viewerFunction, keys, bucket }: FileBehaviour,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url = '', headers } = request
  const refuse = (status: number, reason: string) =>
    void response.writeHead(status, { 'content-type': 'text/xml' }).end(`<Error><Code>${reason}</Code></Error>`)
  if (method !== 'GET' && method !== 'HEAD') return refuse(403, 'MethodNotAllowed')
  const judgement = checkSignedUrl(`http://${headers.host}${url}`, { keys, now: Date.now })
  if (judgement.kind === 'refused') return refuse(403, judgement.why)
  const seen = viewerOf(viewerFunction)(url, headers)
  if ('status' in seen) return void response.writeHead(seen.status, seen.headers).end(seen.body)
  const headerEntries = PASSED.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]] as const] : []))
  const object = await fetch(bucket + url.split('?', 1)[0]!, {
    method,
    headers: { ...Object.fromEntries(headerEntries), 'accept-encoding': 'identity' },
  })
  // Who may read objects but not list them is not told which are there.
  if (object.status === 404) return refuse(403, 'AccessDenied')
  response.writeHead(object.status, Object.fromEntries([...object.headers].filter(([name]) => ANSWERED.includes(name))))
  if (object.body === null) return void response.end()
  await pipeline(Readable.fromWeb(object.body as never), response)
}
