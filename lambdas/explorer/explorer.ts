/**
 * Answers requests for the explorer: one HTML document for every address, and the files that the document loads. They hold no data of the
 * server. The pages request data over HTTP, with the access token of their user.
 */
import type { Assets } from './bundle.ts'
import { type ShellParts, shellOf } from './shell.ts'

/** `assets`: returns the files. It is called for each request; the first call may bundle them. */
export type ExplorerParts = ShellParts & { readonly assets: () => Promise<Assets> }

/** Response to a request for the explorer. `body`: UTF-8 text. */
export type ExplorerResponse = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string }

/** Request for the explorer. `path`: below the base, decoded, such as `/explorer/Patient/1`. */
export type ExplorerRequest = { readonly method: string; readonly path: string; readonly requestId: string }

const ASSETS = '/explorer/assets/'

/**
 * Policy of every page: it loads files and requests data from its own origin only. https://www.w3.org/TR/CSP3/
 * `frame-src blob:` is for narratives, which are shown in a frame without scripts.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  'frame-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  // guard: explorer-is-not-framed
  "frame-ancestors 'none'",
].join('; ')

const SAFE = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

const FOREVER = 'public, max-age=31536000, immutable'

/** Returns a function that answers a request for the explorer. The answer does not depend on the caller. */
export const explorer =
  (parts: ExplorerParts) =>
  async (request: ExplorerRequest): Promise<ExplorerResponse> => {
    const { headers, ...response } = await responseTo(request, parts)
    return { ...response, headers: { ...headers, 'x-request-id': request.requestId } }
  }

async function responseTo({ method, path }: ExplorerRequest, { assets, ...parts }: ExplorerParts): Promise<ExplorerResponse> {
  if (method !== 'GET') return textResponse(405, 'The explorer accepts GET only', { allow: 'GET' })
  const bundled = await assets()
  if (!path.startsWith(ASSETS)) {
    const headers = { ...SAFE, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' }
    return { status: 200, headers, body: shellOf({ ...parts, ...bundled }) }
  }
  const name = path.slice(ASSETS.length)
  if (!Object.hasOwn(bundled.files, name)) return textResponse(404, 'The explorer has no such file: reload the page')
  const type = name.endsWith('.css') ? 'text/css' : 'text/javascript'
  return {
    status: 200,
    headers: { ...SAFE, 'content-type': `${type}; charset=utf-8`, 'cache-control': FOREVER },
    body: bundled.files[name]!,
  }
}

const textResponse = (status: number, body: string, headers: ExplorerResponse['headers'] = {}): ExplorerResponse => ({
  status,
  headers: { ...SAFE, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers },
  body,
})
