/** The clients in Python as apps of a member. member.py sends their requests. */
import { join } from 'node:path'
import { logInCertified } from './certified-login.ts'
import type { MemberClient } from './member-claims.ts'
import { APP } from './member-server.ts'
import { startProgram } from './programs.ts'

/** `python`: the command of the environment where the clients are installed. */
export function pythonClientOfMember(python: string, name: 'fhirclient' | 'fhirpy', base: string): MemberClient {
  const { call, end } = startProgram({ command: python, arguments: [join(import.meta.dirname, 'member.py'), name, base] })
  return {
    async logIn(signIn) {
      if (name === 'fhirpy') return String(await call('use', ...(await logInCertified(base, signIn))))
      const url = await call('authorize', APP.id, APP.redirectUri, APP.scope)
      return String(await call('back', await signIn(String(url))))
    },
    read: async (query) => (await call('read', query)) as readonly string[],
    close: end,
  }
}
