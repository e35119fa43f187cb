/** Consents: the scopes that each user allowed to each client. They are stored until the user withdraws them. */
import type { Client } from '../../ports/rows/clients.ts'
import type { GrantKind, GrantRow, Grants } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { ownerOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { categoryScopesOf } from './category-scopes.ts'
import { isClientOf, registrationOf, revokeGrant } from './user-grant.ts'

/**
 * Consent of a user to a client.
 * - `asked`: scopes that the user decided about.
 * - `granted`: scopes that the user allowed.
 * - `sids`: recent grants, so that a withdrawal can revoke them. `until`: milliseconds since 1970 after which the grant is no longer listed
 *   here.
 */
export type Consent = {
  readonly client: string
  /** Registration time of the client. A consent to an earlier client with the same id is not valid for this one. */
  readonly registeredAt?: number
  readonly asked: readonly string[]
  readonly granted: readonly string[]
  readonly sids: readonly { readonly sid: string; readonly until: number }[]
}

type Ports = Pick<AuthPorts, 'grants' | 'clock' | 'revocations'>
type Pair = { readonly client: string; readonly subject: string }

/**
 * How long a consent lists a grant, in milliseconds. By then its tokens have expired, unless a refresh token renewed them: rows of refresh
 * tokens list such a grant.
 */
const UNLISTED = 2 * 60 * 60 * 1000
/** Maximum grants listed in one consent, because its withdrawal writes one revocation for each. A further grant revokes the oldest. */
const MOST_SIDS = 200
/** Maximum attempts to change a consent while other changes interfere. Then the request is answered 503. */
const TURNS = 8
/** Maximum revocations that are written in parallel. */
const AT_ONCE = 20

/** Returns the user's consent, or undefined if there is none for this registration of the client. */
export async function consentOf({ grants }: Pick<Ports, 'grants'>, client: Client, subject: string): Promise<Consent | undefined> {
  const consent = (await grants.get('consent', ownerOf({ client: client.id, subject })))?.value as Consent | undefined
  return consent !== undefined && isClientOf(client, consent) ? consent : undefined
}

/**
 * Adds a decision to the user's consent. `asked`: scopes that the user just decided about. `grant`: has the allowed scopes. If it is more
 * than the 200th grant in two hours, the oldest is revoked, so that a withdrawal stays short. Throws OAuthError `temporarily_unavailable`
 * if other changes keep interfering.
 */
export async function storeConsent(ports: Ports, grant: UserGrant, asked: readonly string[]): Promise<void> {
  const { client, registeredAt, subject, sid, scopes } = grant
  const { grants, clock } = ports
  const key = ownerOf(grant)
  const now = clock.now()
  // A decision about a scope for a whole type replaces earlier decisions about its category scopes.
  const decided = new Set(asked.flatMap((whole) => [whole, ...categoryScopesOf(whole).map(({ scope }) => scope)]))
  for (let turn = 0; turn < TURNS; turn++) {
    const known = await grants.get('consent', key)
    const kept = known?.value as Consent | undefined
    const before = kept?.registeredAt === registeredAt ? kept : undefined
    const sids = [...(before?.sids ?? []).filter(({ until }) => until > now), { sid, until: now + UNLISTED }]
    for (const ended of sids.slice(0, -MOST_SIDS)) await revokeGrant(ports, ended)
    const value: Consent = {
      client,
      ...registrationOf(grant),
      asked: [...new Set([...(before?.asked ?? []), ...asked])],
      granted: [...new Set([...(before?.granted ?? []).filter((scope) => !decided.has(scope)), ...scopes])],
      sids: sids.slice(-MOST_SIDS),
    }
    const next = { owner: subject, value }
    if (known === undefined ? await grants.add('consent', key, next) : await grants.replace('consent', known, next)) return
  }
  throw tooMuch()
}

export type AllowedClient = { readonly client: Client; readonly scopes: readonly string[] }

/** Returns the clients with a consent of the user, and the allowed scopes. Omits clients that were removed or registered again. */
export async function consentsOf(
  { grants, clients }: Pick<AuthPorts, 'grants' | 'clients'>,
  subject: string,
): Promise<readonly AllowedClient[]> {
  const kept: Consent[] = []
  for await (const page of pagesOf(grants, 'consent', subject)) kept.push(...page.map(({ value }) => value as Consent))
  const allowed = kept.map(async (consent) => ({ client: await clients.get(consent.client), consent }))
  return (await Promise.all(allowed)).flatMap(({ client, consent }) =>
    client !== undefined && isClientOf(client, consent) ? [{ client, scopes: consent.granted }] : [],
  )
}

/**
 * Revokes every grant of the consent. Rows of refresh tokens stay until they expire. Removes the consent last, so that the user can repeat
 * a withdrawal that failed. Throws OAuthError `temporarily_unavailable` if other changes keep interfering.
 */
export async function withdrawConsent(ports: Ports, pair: Pair): Promise<void> {
  const { grants } = ports
  const owner = ownerOf(pair)
  const ended = new Set<string>()
  for (let turn = 0; turn < TURNS; turn++) {
    const known = await grants.get('consent', owner)
    const listed = (known?.value as Consent | undefined)?.sids.map(({ sid }) => sid) ?? []
    await endGrants(ports, listed, ended)
    for await (const page of pagesOf(grants, 'refresh', owner)) await endGrants(ports, page.map(sidOf), ended)
    // `remove` fails if the consent changed meanwhile. It may then list grants that are not revoked yet, so the loop repeats.
    if (known === undefined || (await grants.remove('consent', owner, known.number))) return
  }
  throw tooMuch()
}

const sidOf = ({ value }: GrantRow): string => (value as { readonly grant: UserGrant }).grant.sid

/** Revokes the grants with these `sids`, except those in `ended`. Adds the revoked ones to `ended`. */
async function endGrants(ports: Ports, sids: readonly string[], ended: Set<string>): Promise<void> {
  const left = [...new Set(sids)].filter((sid) => !ended.has(sid))
  for (let i = 0; i < left.length; i += AT_ONCE) await Promise.all(left.slice(i, i + AT_ONCE).map((sid) => revokeGrant(ports, { sid })))
  for (const sid of left) ended.add(sid)
}

async function* pagesOf(grants: Pick<Grants, 'listOf'>, kind: GrantKind, owner: string): AsyncGenerator<readonly GrantRow[]> {
  let page = await grants.listOf(kind, owner)
  for (; page.length > 0; page = await grants.listOf(kind, owner, page.at(-1)!.key)) yield page
}

const tooMuch = (): OAuthError =>
  new OAuthError('temporarily_unavailable', 'Too much is decided at once: try again', 503, { 'retry-after': '1' })
