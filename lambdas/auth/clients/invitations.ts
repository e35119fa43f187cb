/**
 * Invitations of apps of members. An invitation is a client without credentials and redirect URIs, so no request can use it. A
 * registration completes this client by one conditional write. So a token registers one app only, also in a race or after a crash.
 */
import { narrowScopes } from '../../access/scopes.ts'
import { missingTokenError } from '../../access/verification/token-errors.ts'
import type { Client } from '../../ports/rows/clients.ts'
import { createRandomSecret, fingerprintOf, isFingerprintOf } from '../random-secret.ts'
import { toClient } from './registration.ts'

/** Default scopes of an invitation. They also limit its scopes: an invitation with a wider scope is rejected. */
export const INVITED_SCOPES: readonly string[] = ['patient/*.rs', 'launch/patient', 'openid', 'fhirUser', 'offline_access']

const DAY_MS = 24 * 60 * 60 * 1000
/** Maximum days for which an invitation is valid. */
const MAX_DAYS = 90

/** Invitation to create. `name`: name of the app that users see; absent: the app chooses it. `days`: until it expires. */
export type NewInvitation = {
  readonly name?: string
  readonly scopes?: readonly string[]
  readonly tenants: readonly string[]
  readonly days: number
}

/** `token`: the initial access token. The stored client has only its fingerprint. */
export type MadeInvitation = { readonly client: Client; readonly token: string }

/** Creates an invitation with this client id. `now`: milliseconds since 1970. Throws RangeError if a property is invalid. */
export function makeInvitation(
  id: string,
  { name = id, scopes = INVITED_SCOPES, tenants, days }: NewInvitation,
  now: number,
): MadeInvitation {
  const registration = { id, name, scopes, tenants, redirectUris: [], mayIntrospect: false }
  const client = toClient({ ...registration, authentication: { kind: 'secret', hashes: [] } }, now)
  const covered = narrowScopes(client.scopes, INVITED_SCOPES)
  const other = client.scopes.find((scope) => !covered.includes(scope))
  if (other !== undefined) throw new RangeError(`The scopes of an invitation must be within ${INVITED_SCOPES.join(' ')}: ${other} is not`)
  if (!Number.isInteger(days) || days < 1 || days > MAX_DAYS) throw new RangeError(`An invitation must be valid for 1 to ${MAX_DAYS} days`)
  const { token, hash } = createClientToken(id)
  return { client: { ...client, invited: { hash, expires: now + days * DAY_MS } }, token }
}

/** Whether the client is an invitation that no app has used. */
export const isInvitation = ({ invited }: Client): boolean => invited?.expires !== undefined

/** Whether the client is an expired invitation. `now`: milliseconds since 1970. */
export const isExpired = ({ invited }: Client, now: number): boolean => invited?.expires !== undefined && invited.expires <= now

/** Creates the token of an invitation, or of a registered app. The token contains the client id. `hash`: fingerprint of its secret. */
export function createClientToken(id: string): { readonly token: string; readonly hash: string } {
  const secret = createRandomSecret()
  return { token: `${id}.${secret}`, hash: fingerprintOf(secret) }
}

/** Bearer token of a request, not verified. */
export type ClientToken = { readonly id: string; readonly secret: string }

/** Returns the parts of the token. Throws FhirError 401 without a Bearer token. Parts of a malformed token are empty. */
export function clientTokenOf({ authorization }: Readonly<Record<string, string>>): ClientToken {
  if (authorization === undefined) throw missingTokenError()
  const [, id = '', secret = ''] = /^Bearer +([\w.-]{1,64})[.]([\w-]{43}) *$/i.exec(authorization) ?? []
  return { id, secret }
}

/** Whether the token belongs to this invited client. */
export const isTokenOf = ({ secret }: ClientToken, client: Client): boolean =>
  client.invited !== undefined && isFingerprintOf(secret, client.invited.hash)
