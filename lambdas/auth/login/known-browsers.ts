/**
 * Browsers in which a user logged in before, recognized by a sealed cookie. Wrong passwords in other browsers do not delay logins in these.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
import type { AuthPorts, AuthRequest, Endpoint } from '../endpoint.ts'
import { cookieHeader, cookieOf } from './cookies.ts'
import { type SessionPorts, sessionOf } from './sessions.ts'

export type BrowserPorts = Pick<AuthPorts, 'clock' | 'seal'>

/** How long a browser is recognized after its cookie was set, in seconds. */
const LIFE = 180 * 24 * 60 * 60
const SECOND = 1_000

/**
 * Returns the id of a browser in which this user logged in before. Returns undefined if the cookie is missing, too old, or of another user
 * or server.
 */
export function recognizeBrowser({ clock, seal }: BrowserPorts, request: AuthRequest, user: string): string | undefined {
  const opened = seal.open(cookieOf(request, 'browser') ?? '')
  const [, id, name] = /^browser (\S+) (\S+)$/.exec(opened?.text ?? '') ?? []
  // guard: known-browser-of-one-user
  if (opened === undefined || name !== user) return undefined
  return clock.now() < opened.at + LIFE * SECOND ? id : undefined
}

/**
 * Wraps an endpoint: sets the browser cookie if a user is logged in and the browser has no valid cookie of this user. Keeps a response that
 * already sets a cookie, because it has one header for cookies.
 */
export const withBrowserCookie =
  (ports: BrowserPorts & SessionPorts, endpoint: Endpoint): Endpoint =>
  async (request) => {
    const response = await endpoint(request)
    if (response.headers['set-cookie'] !== undefined) return response
    const session = await sessionOf(ports, request)
    if (session === undefined || recognizeBrowser(ports, request, session.user.name) !== undefined) return response
    const { clock, seal } = ports
    const cookie = seal.seal(`browser ${clock.newId()} ${session.user.name}`, clock.now())
    return { ...response, headers: { ...response.headers, ...cookieHeader(request, 'browser', cookie, LIFE) } }
  }
