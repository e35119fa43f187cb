/** Login endpoint: checks name and password, starts a session and continues the request. */
import { isUserName, type User } from '../../ports/rows/users.ts'
import type { AuthPorts, AuthRequest, AuthResponse, Endpoint } from '../endpoint.ts'
import { findRequestingClient, queryOf } from '../grants/authorization-request.ts'
import { networkOf } from '../login/client-network.ts'
import { type Guesser, throttleAttempt } from '../login/guess-throttle.ts'
import { recognizeBrowser } from '../login/known-browsers.ts'
import { beginSession, formBindingOf, hasValidCsrf } from '../login/sessions.ts'
import { OAuthError } from '../oauth-error.ts'
import { denialUrlOf, queryAfterLogin } from './authorize-page.ts'
import { frameOf } from './organization.ts'
import { seeOther } from './page-frame.ts'
import { loginPage } from './page-templates.ts'

export type LoginPorts = Pick<AuthPorts, 'clients' | 'users' | 'grants' | 'revocations' | 'clock' | 'choices' | 'checkPassword' | 'seal'>

/**
 * Receives the login form, whose URL contains the query of the authorization request. Without a query the login leads to the account page.
 * A GET redirects to the page that shows the form.
 */
export const login =
  (ports: LoginPorts): Endpoint =>
  async (request) => {
    const asker = request.query.length === 0 ? undefined : await findRequestingClient(ports, request.query, request)
    const onward = (query: string) => (asker === undefined ? urlOf(request, 'account', '') : urlOf(request, 'authorize', query))
    if (request.method === 'GET') return seeOther(onward(queryOf(request.query, [])))
    const name = fieldOf(request, 'username').trim().toLowerCase().slice(0, 200)
    const again = (fault: string, status: number, more: Readonly<Record<string, string>> = {}): AuthResponse => {
      const { csrf, headers } = formBindingOf(request)
      const form = {
        csrf,
        ...frameOf(ports, request),
        headers: { ...headers, ...more },
        action: urlOf(request, 'login', queryOf(request.query, [])),
      }
      const app = asker === undefined ? {} : { app: asker.client.name }
      const back = asker === undefined ? {} : { leadsTo: asker.redirectUri, denial: denialUrlOf(request) }
      return loginPage({ form: { ...form, ...back }, ...app, name, fault, status })
    }
    // guard: login-form-is-bound
    if (!hasValidCsrf(request)) return again('Please try again: this page was open for too long, or your browser keeps no cookies.', 403)
    try {
      const user = await userWhoTyped(ports, name, request)
      if (user === undefined) return again('The user name or the password is wrong.', 403)
      const headers = await beginSession(ports, request, user)
      request.note({ outcome: 'logged in' })
      return seeOther(onward(queryAfterLogin(request.query)), headers)
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      request.note({ outcome: 'login refused' })
      await userNamed(ports, name, request)
      return again(`Too many attempts: try again in ${error.headers['retry-after']} seconds.`, error.status, error.headers)
    }
  }

const urlOf = ({ baseUrl }: AuthRequest, path: string, query: string): string => `${baseUrl}/auth/${path}${query === '' ? '' : `?${query}`}`

const fieldOf = ({ form }: AuthRequest, name: string): string => form.find(([each]) => each === name)?.[1] ?? ''

/**
 * Returns the user with the typed name, or undefined. The audit record contains the name only if the user exists: a password may be typed
 * there.
 */
async function userNamed({ users }: LoginPorts, name: string, request: AuthRequest): Promise<User | undefined> {
  const user = isUserName(name) ? await users.get(name) : undefined
  if (user !== undefined) request.note({ user: user.name })
  return user
}

/**
 * Returns the user if name and password are right, or undefined. Throws OAuthError 429, without a check of the password, after too many
 * failed attempts.
 */
function userWhoTyped(ports: LoginPorts, name: string, request: AuthRequest): Promise<User | undefined> {
  const network = networkOf(request.address)
  const browser = recognizeBrowser(ports, request, name)
  const others: readonly Guesser[] = [
    { of: 'address', name: network },
    { of: 'place', name: `${name} ${network}` },
    { of: 'account', name, spare: { of: 'spare', name } },
  ]
  return throttleAttempt(ports, browser === undefined ? others : [{ of: 'browser', name: browser }], async () => {
    const user = await userNamed(ports, name, request)
    if (await ports.checkPassword(fieldOf(request, 'password'), user, network)) return user
    request.note({ outcome: 'login failed' })
    return undefined
  })
}
