/** Whether what was typed is a user's password. One that was kept at a lower cost than is asked for now is kept anew: only now it is known. */
import type { User, Users } from '../../ports/rows/users.ts'
import type { Passwords } from './passwords.ts'

type Parts = { readonly users: Pick<Users, 'change'>; readonly passwords: Passwords }

/** Where it cannot be kept anew, the next login does it. */
export const passwordCheck =
  (parts: Parts) =>
  async (typed: string, user: User | undefined, network?: string): Promise<boolean> => {
    const { passwords } = parts
    const isIt = await passwords.check(typed, user?.password, network)
    if (isIt && user !== undefined && passwords.isOutdated(user.password)) await keepAnew(parts, typed, user).catch(() => undefined)
    return isIt
  }

/** Another may have changed it meanwhile. To who has tokens nothing changes. */
async function keepAnew({ users, passwords }: Parts, typed: string, { name, password }: User): Promise<void> {
  const next = await passwords.hash(typed)
  await users.change(name, (known) => (known?.password === password ? { ...known, password: next } : known))
}
