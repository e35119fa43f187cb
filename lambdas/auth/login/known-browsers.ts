/**
 * Browsers in which a user logged in before. Wrong passwords that others type do not make them wait. A sealed cookie names the browser and the user.
 * https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies
 */
import type { AuthPorts, AuthRequest, Endpoint } from '../endpoint.ts'
import { cookieHeader, cookieOf } from './cookies.ts'
import { type SessionPorts, sessionOf } from './sessions.ts'

export type BrowserPorts = Pick<AuthPorts, 'clock' | 'seal'>

/** Seconds for which a browser is known. */
const LIFE = 180 * 24 * 60 * 60
const SECOND = 1_000

/** Returns the id of the browser, or undefined if its cookie is too old, or of another user or server. */
export function recognizeBrowser({ clock, seal }: BrowserPorts, request: AuthRequest, user: string): string | undefined {
  const opened = seal.open(cookieOf(request, 'browser') ?? '')
  const [, id, name] = /^browser (\S+) (\S+)$/.exec(opened?.text ?? '') ?? []
  // guard: known-browser-of-one-user
  if (opened === undefined || name !== user) return undefined
  return clock.now() < opened.at + LIFE * SECOND ? id : undefined
}

/** Adds the browser's cookie to responses to a logged-in user. A login itself sets the cookie of the session. */
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
