/** Finds out who asks, and lets in who has proved it: before anything of what was sent is read. */
import { accessOfToken } from '../../access/access-of-token.ts'
import { tokenMissing } from '../../access/verification/refusals.ts'
import { ANYBODY, type VerifiedToken } from '../../access/verification/verified-token.ts'
import type { Awaitable, Caller } from '../../interactions/interaction.ts'
import { isAuthCode } from '../../interactions/routes.ts'
import type { Code, HttpRequest, Step } from '../exchange.ts'
import { ADMISSION } from '../order.ts'
import { matchRoute } from '../route-table.ts'
import { LONGEST_FORM } from './limit-body.ts'

/** undefined: nobody has said who asks. FhirError 400, 401 or 403 where what was said does not prove it. */
export type Authenticator = (http: HttpRequest) => Awaitable<VerifiedToken | undefined>

export const authenticate = (authenticator: Authenticator): Step => ({
  async before({ event: exchange }) {
    if (exchange.http.unread !== undefined) throw exchange.http.unread
    const token = await admitted(authenticator, exchange.http, exchange.interaction)
    exchange.token = token
    exchange.caller = callerOf(token ?? ANYBODY, exchange.site.baseUrl)
  },
})

async function admitted(authenticator: Authenticator, http: HttpRequest, code: Code): Promise<VerifiedToken | undefined> {
  const token = await authenticator(http)
  if (token === undefined && ADMISSION[code] !== 'anybody') throw tokenMissing()
  return token
}

/** `unread`: why a request is refused whatever its body is. `limit`: bytes of a body here, where there may be fewer than elsewhere. */
export type Admitted = { readonly unread?: Error; readonly limit?: number }

export type Admit = (http: HttpRequest) => Promise<Admitted>

/** Asked before a body is read, so that who is not let in takes no memory with it. The step asks again, of what is remembered by then. */
export const admission =
  (authenticator: Authenticator): Admit =>
  async (http) => {
    try {
      const { interaction } = matchRoute(http.method, http.path)
      if (isAuthCode(interaction)) return { limit: LONGEST_FORM }
      if (ADMISSION[interaction] !== 'anybody') await admitted(authenticator, http, interaction)
      return {}
    } catch (error) {
      return { unread: error as Error }
    }
  }

const callerOf = (token: VerifiedToken, baseUrl: string): Caller => ({
  tenant: token.tenant,
  client: token.client,
  access: accessOfToken(token, baseUrl),
})
