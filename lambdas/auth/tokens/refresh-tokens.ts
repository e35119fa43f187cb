/**
 * Refresh tokens of grants. Each grant has one entry, which knows the newest of its tokens: the two halves of a token are which grant it is of,
 * and which of its tokens. So that one used before is known as that as long as the newest counts, and nothing is kept of it.
 */
import { narrowScopes } from '../../access/scopes.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { Grant, GrantRow } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { REFRESH_LIFETIMES_MS } from './lifetimes.ts'

/**
 * `issuedAt`: of the newest, milliseconds since 1970. `newest`: SHA-256 of its second half; absent: of the time when tokens had one half, and an
 * entry each, which was `used` when it was exchanged for the next one.
 */
type Refreshing = { readonly grant: UserGrant; readonly issuedAt: number; readonly newest?: string; readonly used?: boolean }

export type RefreshKind = keyof typeof REFRESH_LIFETIMES_MS

/** One that was sent. */
export type FoundRefreshToken = {
  readonly known: GrantRow
  readonly half: string
  readonly grant: UserGrant
  readonly issuedAt: number
  readonly isNewest: boolean
}

/** One that is made. `life`: seconds. `entry`: what is to be kept under `key` before it is given to anybody. */
export type NewRefreshToken = { readonly token: string; readonly life: number; readonly key: string; readonly entry: Grant }

/** undefined: it is none, or no longer. */
export async function findRefreshToken({ grants }: Pick<AuthPorts, 'grants'>, token: string): Promise<FoundRefreshToken | undefined> {
  const [half = '', second] = token.split('.')
  const known = await grants.get('refresh', fingerprintOf(half))
  if (known === undefined) return undefined
  const { grant, issuedAt, newest, used = false } = known.value as Refreshing
  const isNewest = newest === undefined ? second === undefined && !used : second !== undefined && fingerprintOf(second) === newest
  return { known, half, grant, issuedAt, isNewest }
}

/** undefined: none was granted, or the client may have none by now. */
export function refreshKindOf({ scopes }: UserGrant, client: Client): RefreshKind | undefined {
  // guard: refresh-scopes-are-narrowed
  const may = narrowScopes(scopes, client.scopes)
  return (['offline_access', 'online_access'] as const).find((scope) => may.includes(scope))
}

/** `half`: of those before; absent: it is the first. `at`: milliseconds since 1970. */
export function createRefreshToken(grant: UserGrant, kind: RefreshKind, at: number, half: string = createRandomSecret()): NewRefreshToken {
  const second = createRandomSecret()
  const value: Refreshing = { grant, issuedAt: at, newest: fingerprintOf(second) }
  const life = REFRESH_LIFETIMES_MS[kind]
  const entry = { owner: ownerOf(grant), value, expires: at + life }
  return { token: `${half}.${second}`, life: life / 1000, key: fingerprintOf(half), entry }
}

/** Returns the key under which the refresh tokens of a client and a user are listed. */
export const ownerOf = ({ client, subject }: Pick<UserGrant, 'client' | 'subject'>): string => `${subject} ${client}`
