/**
 * Refresh tokens of grants. A token has two halves: the first identifies its grant, the second the token. Each grant has one row, with the
 * hash of the newest second half. A token with another second half was used before, or is forged; the server detects it without storing
 * earlier tokens.
 */
import { narrowScopes } from '../../access/scopes.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { Grant, GrantRow } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { REFRESH_LIFETIMES_MS } from './lifetimes.ts'

/**
 * Stored row of a grant. `issuedAt`: issue time of the newest token, in milliseconds since 1970. `newest`: SHA-256 of the second half of
 * the newest token. It is absent in rows from before tokens had two halves. Such a row is `used` after its token was exchanged.
 */
type Refreshing = { readonly grant: UserGrant; readonly issuedAt: number; readonly newest?: string; readonly used?: boolean }

export type RefreshKind = keyof typeof REFRESH_LIFETIMES_MS

/**
 * Grant that a received refresh token identifies. `half`: first half of the token. `isNewest`: false if the token was used before, or its
 * second half is wrong.
 */
export type FoundRefreshToken = {
  readonly known: GrantRow
  readonly half: string
  readonly grant: UserGrant
  readonly issuedAt: number
  readonly isNewest: boolean
}

/** New refresh token. `life`: lifetime in seconds. `entry`: row that must be stored under `key` before the client receives the token. */
export type NewRefreshToken = { readonly token: string; readonly life: number; readonly key: string; readonly entry: Grant }

/** Finds the grant of a received refresh token. Returns undefined if the token is unknown or expired. */
export async function findRefreshToken({ grants }: Pick<AuthPorts, 'grants'>, token: string): Promise<FoundRefreshToken | undefined> {
  const [half = '', second] = token.split('.')
  const known = await grants.get('refresh', fingerprintOf(half))
  if (known === undefined) return undefined
  const { grant, issuedAt, newest, used = false } = known.value as Refreshing
  const isNewest = newest === undefined ? second === undefined && !used : second !== undefined && fingerprintOf(second) === newest
  return { known, half, grant, issuedAt, isNewest }
}

/**
 * Returns the granted scope that permits refresh tokens. Returns undefined if none was granted, or the client is no longer registered for
 * it.
 */
export function refreshKindOf({ scopes }: UserGrant, client: Client): RefreshKind | undefined {
  // guard: refresh-scopes-are-narrowed
  const may = narrowScopes(scopes, client.scopes)
  return (['offline_access', 'online_access'] as const).find((scope) => may.includes(scope))
}

/**
 * Creates a refresh token without storing it. `half`: first half of the grant's previous tokens; absent for its first token. `at`: issue
 * time in milliseconds since 1970.
 */
export function createRefreshToken(grant: UserGrant, kind: RefreshKind, at: number, half: string = createRandomSecret()): NewRefreshToken {
  const second = createRandomSecret()
  const value: Refreshing = { grant, issuedAt: at, newest: fingerprintOf(second) }
  const life = REFRESH_LIFETIMES_MS[kind]
  const entry = { owner: ownerOf(grant), value, expires: at + life }
  return { token: `${half}.${second}`, life: life / 1000, key: fingerprintOf(half), entry }
}

/** Returns the owner by which the refresh tokens of a client and a user are listed. It is also the key of their consent. */
export const ownerOf = ({ client, subject }: Pick<UserGrant, 'client' | 'subject'>): string => `${subject} ${client}`
