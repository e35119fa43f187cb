/** Clients that are programs of their own, as apps of a member. */
import { logInCertified } from './certified-login.ts'
import type { MemberClient } from './member-claims.ts'
import { APP } from './member-server.ts'
import { type Program, startProgram } from './programs.ts'

/** Scopes of SMART 1.0, which clients still ask for. */
const SMART_1_SCOPE = 'launch/patient openid profile offline_access patient/*.read'

/** `hasLogin`: whether the client logs the member in itself. */
export function programOfMember(program: Program, base: string, hasLogin = false): MemberClient {
  const { call, end } = startProgram(program)
  return {
    async logIn(signIn) {
      if (!hasLogin) return String(await call('use', ...(await logInCertified(base, signIn))))
      const url = await call('authorize', APP.id, APP.redirectUri, SMART_1_SCOPE)
      return String(await call('back', await signIn(String(url))))
    },
    read: async (query) => (await call('read', query)) as readonly string[],
    close: end,
  }
}
