/** Page that lists the apps with access to the user's data and lets the user withdraw it. Also the page that ends the session. */
import type { AuthPorts, AuthRequest, Endpoint } from '../endpoint.ts'
import { consentsOf, withdrawConsent } from '../grants/consents.ts'
import { endSession, formBindingOf, hasValidCsrf, sessionOf } from '../login/sessions.ts'
import { OAuthError } from '../oauth-error.ts'
import { frameOf, organizationOf } from './organization.ts'
import { seeOther } from './page-frame.ts'
import { accountPage, loggedOutPage, loginPage, logoutPage, type PageForm } from './page-templates.ts'

export type AccountPorts = Pick<AuthPorts, 'clients' | 'users' | 'grants' | 'revocations' | 'clock' | 'choices'>

export const account =
  (ports: AccountPorts): Endpoint =>
  async (request) => {
    const session = await sessionOf(ports, request)
    if (request.method === 'POST') {
      checkBound(request)
      const client = request.form.find(([name]) => name === 'withdraw')?.[1]
      if (session !== undefined && client !== undefined) {
        await withdrawConsent(ports, { client, subject: session.user.subject })
        request.note({ ...((await ports.clients.get(client)) === undefined ? {} : { client }), outcome: 'withdrawn' })
      }
      return seeOther(urlOf(request, 'account'))
    }
    if (session === undefined) return loginPage({ form: formOf(ports, request, 'login') })
    const apps = (await consentsOf(ports, session.user.subject)).map(({ client: { id, name }, scopes }) => ({ id, name, scopes }))
    const form = formOf(ports, request, 'account')
    return accountPage({ form, user: session.user, apps, logout: urlOf(request, 'logout') })
  }

export const logout =
  (ports: AccountPorts): Endpoint =>
  async (request) => {
    if (request.method === 'POST') {
      checkBound(request)
      await sessionOf(ports, request)
      await endSession(ports, request)
      request.note({ outcome: 'logged out' })
      return seeOther(urlOf(request, 'logout'))
    }
    const session = await sessionOf(ports, request)
    return session === undefined
      ? loggedOutPage(urlOf(request, 'account'), organizationOf(ports, request))
      : logoutPage(formOf(ports, request, 'logout'))
  }

function checkBound(request: AuthRequest): void {
  if (!hasValidCsrf(request)) throw new OAuthError('invalid_request', 'This page was open for too long: load it again.', 403)
}

const urlOf = ({ baseUrl }: AuthRequest, path: string): string => `${baseUrl}/auth/${path}`

const formOf = (ports: AccountPorts, request: AuthRequest, path: string): PageForm => ({
  ...formBindingOf(request),
  ...frameOf(ports, request),
  action: urlOf(request, path),
})
