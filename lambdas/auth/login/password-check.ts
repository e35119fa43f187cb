/** Checks the password of a user. Stores a new hash if the stored one has a lower cost, because only a login provides the password. */
import type { User, Users } from '../../ports/rows/users.ts'
import type { Passwords } from './passwords.ts'

type Parts = { readonly users: Pick<Users, 'change'>; readonly passwords: Passwords }

/**
 * Returns a function that returns whether `typed` is the user's password. If a new hash cannot be stored, the login succeeds all the same,
 * and the next one tries again.
 */
export const passwordCheck =
  (parts: Parts) =>
  async (typed: string, user: User | undefined, network?: string): Promise<boolean> => {
    const { passwords } = parts
    const isIt = await passwords.check(typed, user?.password, network)
    if (isIt && user !== undefined && passwords.isOutdated(user.password)) await keepAnew(parts, typed, user).catch(() => undefined)
    return isIt
  }

/** Stores a new hash of the same password, unless the password changed meanwhile. Sessions and tokens stay valid. */
async function keepAnew({ users, passwords }: Parts, typed: string, { name, password }: User): Promise<void> {
  const next = await passwords.hash(typed)
  await users.change(name, (known) => (known?.password === password ? { ...known, password: next } : known))
}
