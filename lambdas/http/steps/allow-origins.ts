/**
 * CORS: pages of the allowed origins may call the server and read its responses, with the headers in EXPOSED.
 * https://fetch.spec.whatwg.org/#http-cors-protocol
 */
import type { HttpRequest, HttpResponse, Step } from '../exchange.ts'
import { isAuthPath, normalizePath } from '../route-table.ts'

const EXPOSED =
  'ETag, Location, Content-Location, Content-Range, Accept-Ranges, Last-Modified, X-Progress, X-Index-Token, X-Index-Lag, X-Index-Outdated, X-History-Until, X-Ignored-Parameters, X-Request-Id, Retry-After, WWW-Authenticate'
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'

/** Origins that CORS allows: `*` for every origin, or a list. */
export type AllowedOrigins = '*' | readonly string[]

export const allowOrigins = (origins: AllowedOrigins): Step => {
  const decorate: NonNullable<Step['after']> = (request) => {
    const response = request.response as HttpResponse
    // guard: login-pages-without-cors
    if (isOwnPagesOnly(request.event.http.path)) return
    request.response = {
      ...response,
      headers: varied({ ...response.headers, ...corsHeaders(request.event.http, origins) }, response.headers.vary),
    }
  }
  return { after: decorate, onError: decorate }
}

/**
 * Returns the headers of the response to a preflight request. It allows every header of the API, which is safe because the API uses no
 * cookies. `allow`: methods of the path, for the header Allow.
 */
export const preflightHeadersOf = (allow: string): Readonly<Record<string, string>> => ({
  'access-control-allow-methods': METHODS,
  'access-control-allow-headers':
    'accept, authorization, content-type, if-match, if-modified-since, if-none-exist, if-none-match, if-range, prefer, range, x-consistency, x-index-token, x-request-id, x-security-context, x-tenant-id',
  'access-control-max-age': '600',
  allow,
})

/** Whether other sites must not read the response: login pages, and endpoints for servers. Apps in browsers call the other endpoints. */
const isOwnPagesOnly = (path: string): boolean =>
  isAuthPath(path) && !/^\/(?:\.well-known|auth\/(?:token|revoke|register|jwks|style)$)/.test(normalizePath(path))

/** Returns the headers with the values of `vary` that the response already has, in addition to the new ones. */
const varied = (headers: Record<string, string>, vary: string | undefined): Record<string, string> =>
  vary === undefined || headers.vary === vary ? headers : { ...headers, vary: `${headers.vary}, ${vary}` }

function corsHeaders({ headers: { origin } }: HttpRequest, origins: AllowedOrigins): Record<string, string> {
  if (origin === undefined) return {}
  if (origins !== '*' && !origins.includes(origin)) return { vary: 'Origin' }
  return { 'access-control-allow-origin': origins === '*' ? '*' : origin, 'access-control-expose-headers': EXPOSED, vary: 'Origin' }
}
