/** Finds out who asks, and lets in who has proved it: before anything of what was sent is read. */
import { accessOfToken } from '../../access/access-of-token.ts'
import { tokenMissing } from '../../access/verification/refusals.ts'
import { ANYBODY, type VerifiedToken } from '../../access/verification/verified-token.ts'
import type { Awaitable, Caller } from '../../interactions/interaction.ts'
import type { HttpRequest, Step } from '../exchange.ts'
import { ADMISSION } from '../order.ts'

/** undefined: nobody has said who asks. FhirError 400, 401 or 403 where what was said does not prove it. */
export type Authenticator = (http: HttpRequest) => Awaitable<VerifiedToken | undefined>

export const authenticate = (authenticator: Authenticator): Step => ({
  async before({ event: exchange }) {
    const token = await authenticator(exchange.http)
    if (token === undefined && ADMISSION[exchange.interaction] !== 'anybody') throw tokenMissing()
    exchange.token = token
    exchange.caller = callerOf(token ?? ANYBODY)
  },
})

const callerOf = (token: VerifiedToken): Caller => ({ tenant: token.tenant, client: token.client, access: accessOfToken(token) })
