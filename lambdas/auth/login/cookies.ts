/** Cookies of the login pages. All ports of one host share their cookies, so each server uses names of its own. */
import type { AuthRequest } from '../endpoint.ts'
import { fingerprintOf } from '../random-secret.ts'

/**
 * `session`: binds a form to a browser, and after a login names the login session. `browser`: marks a browser in which a user logged in
 * before.
 */
export type CookieKind = 'session' | 'browser'

export function cookieOf(request: AuthRequest, kind: CookieKind): string | undefined {
  const start = `${nameOf(request, kind)}=`
  return (request.headers.cookie ?? '')
    .split(/[;,] */)
    .find((each) => each.startsWith(start))
    ?.slice(start.length)
}

/** Returns the header that sets a cookie. `life`: lifetime in seconds; absent: until the browser closes. */
export function cookieHeader(request: AuthRequest, kind: CookieKind, value: string, life?: number): Readonly<Record<string, string>> {
  const { pathname } = new URL(`${request.baseUrl}/auth`)
  const secure = isSecure(request.baseUrl) ? '; Secure' : ''
  const age = life === undefined ? '' : `; Max-Age=${life}`
  return { 'set-cookie': `${nameOf(request, kind)}=${value}; Path=${pathname}; HttpOnly; SameSite=Lax${secure}${age}` }
}

function nameOf({ baseUrl }: AuthRequest, kind: CookieKind): string {
  const name = `fhir-${fingerprintOf(baseUrl).slice(0, 8)}${kind === 'session' ? '' : `-${kind}`}`
  return isSecure(baseUrl) ? `__Secure-${name}` : name
}

/** Whether the base URL uses https. Only then the cookie is `Secure`: browsers send such a cookie over TLS alone. */
const isSecure = (baseUrl: string): boolean => baseUrl.startsWith('https:')
