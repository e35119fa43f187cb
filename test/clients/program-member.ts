/** Clients in separate programs, as apps of a member. */
import { logInCertified } from './certified-login.ts'
import type { MemberClient } from './member-claims.ts'
import { APP } from './member-server.ts'
import { type Program, startProgram } from './programs.ts'

/** Scopes of SMART 1.0, which some clients still request. */
const SMART_1_SCOPE = 'launch/patient openid profile offline_access patient/*.read'

/** `hasLogin`: whether the client has its own login. */
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
