/**
 * Login sessions, identified by a cookie. A browser gets such a cookie before the login too, to bind forms to it; the login replaces it.
 * https://cheatsheetseries.owasp.org/cheatsheets/Session_Management_Cheat_Sheet.html
 */
import { timingSafeEqual } from 'node:crypto'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts, AuthRequest } from '../endpoint.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import { isRevoked } from '../tokens/revocation-check.ts'
import { cookieHeader, cookieOf } from './cookies.ts'

/** Login session. `key`: key of its row among the grants. `authTime`: login time, in seconds since 1970. */
export type Session = { readonly user: User; readonly key: string; readonly authTime: number }

/** Stored session. `generation`: credential generation of the user at the login. `at`: login time, in milliseconds since 1970. */
type Kept = { readonly user: string; readonly subject: string; readonly generation?: string; readonly at: number }
export type SessionPorts = Pick<AuthPorts, 'users' | 'grants' | 'revocations' | 'clock'>

/** Lifetime of a session in milliseconds. Use does not extend it. */
export const SESSION_LIFETIME_MS = 12 * 60 * 60 * 1000

/** Returns the session of the request, or undefined if it has none, or if it is expired or revoked. A new password of the user ends it. */
export async function sessionOf({ users, grants, revocations }: SessionPorts, request: AuthRequest): Promise<Session | undefined> {
  const cookie = sessionCookie(request)
  const key = fingerprintOf(cookie ?? '')
  const kept = cookie === undefined ? undefined : ((await grants.get('session', key))?.value as Kept | undefined)
  if (kept === undefined) return undefined
  const user = await users.get(kept.user)
  // guard: session-ends-with-new-password
  if (user?.subject !== kept.subject || user.generation !== kept.generation) return undefined
  if (await isRevoked(revocations, kept.generation === undefined ? [`user:${kept.subject}`] : [], kept.at)) return undefined
  request.note({ user: user.name })
  return { user, key, authTime: Math.floor(kept.at / 1000) }
}

/**
 * Starts a session, ends that of the request, and returns the header with the new cookie. The user must be as read for the password check:
 * then a password change since that read ends the session.
 */
export async function beginSession({ grants, clock }: SessionPorts, request: AuthRequest, { name, subject, generation }: User) {
  await endSession({ grants }, request)
  const cookie = createRandomSecret()
  const value: Kept = { user: name, subject, ...(generation === undefined ? {} : { generation }), at: clock.now() }
  await grants.add('session', fingerprintOf(cookie), { owner: subject, value, expires: clock.now() + SESSION_LIFETIME_MS })
  return handedOut(request, cookie)
}

export async function endSession({ grants }: Pick<AuthPorts, 'grants'>, request: AuthRequest): Promise<void> {
  const cookie = sessionCookie(request)
  if (cookie !== undefined) await grants.remove('session', fingerprintOf(cookie))
}

/**
 * Returns the CSRF token for the forms of a page, derived from the session cookie. If the browser has none, also returns the header that
 * sets one.
 */
export function formBindingOf(request: AuthRequest): { readonly csrf: string; readonly headers: Readonly<Record<string, string>> } {
  const known = sessionCookie(request)
  const cookie = known ?? createRandomSecret()
  return { csrf: csrfOf(cookie), headers: known === undefined ? handedOut(request, cookie) : {} }
}

/** Whether the form has the CSRF token of the browser's session cookie. False for a form that another site or browser sent. */
export function hasValidCsrf(request: AuthRequest): boolean {
  const cookie = sessionCookie(request)
  const given = request.form.find(([name]) => name === 'csrf')?.[1]
  if (cookie === undefined || given === undefined) return false
  // guard: form-token-is-compared
  return timingSafeEqual(Buffer.from(fingerprintOf(given)), Buffer.from(fingerprintOf(csrfOf(cookie))))
}

const csrfOf = (cookie: string): string => fingerprintOf(`form ${cookie}`)

const handedOut = (request: AuthRequest, cookie: string): Readonly<Record<string, string>> => cookieHeader(request, 'session', cookie)

function sessionCookie(request: AuthRequest): string | undefined {
  const value = cookieOf(request, 'session') ?? ''
  return /^[\w-]{43}$/.test(value) ? value : undefined
}
