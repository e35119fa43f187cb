/** What users allowed which clients, remembered until it is withdrawn. */
import type { Client } from '../../ports/rows/clients.ts'
import type { GrantKind, GrantRow, Grants } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { ownerOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { categoryScopesOf } from './category-scopes.ts'
import { isClientOf, registrationOf, revokeGrant } from './user-grant.ts'

/** `asked`: what was decided about; `granted`: what of it was allowed. `sids`: of grants whose tokens may still count, and until when (ms since 1970). */
export type Consent = {
  readonly client: string
  /** Of the client: what an earlier one of its id was allowed is not its own. */
  readonly registeredAt?: number
  readonly asked: readonly string[]
  readonly granted: readonly string[]
  readonly sids: readonly { readonly sid: string; readonly until: number }[]
}

type Ports = Pick<AuthPorts, 'grants' | 'clock' | 'revocations'>
type Pair = { readonly client: string; readonly subject: string }

/** Milliseconds that tokens without a refresh token count at most, which are listed nowhere else. */
const UNLISTED = 2 * 60 * 60 * 1000
/** Of one client and user, each a revocation when the user withdraws. */
const MOST_SIDS = 200
const TURNS = 8
/** Revocations. */
const AT_ONCE = 20

/** undefined: there is none that was given to this very client. */
export async function consentOf({ grants }: Pick<Ports, 'grants'>, client: Client, subject: string): Promise<Consent | undefined> {
  const consent = (await grants.get('consent', ownerOf({ client: client.id, subject })))?.value as Consent | undefined
  return consent !== undefined && isClientOf(client, consent) ? consent : undefined
}

/**
 * `asked`: what was just decided about, and of which `scopes` was allowed. Of more grants than anybody makes in two hours the first ones end: an
 * app that asks again and again could not be withdrawn from.
 */
export async function storeConsent(ports: Ports, grant: UserGrant, asked: readonly string[]): Promise<void> {
  const { client, registeredAt, subject, sid, scopes } = grant
  const { grants, clock } = ports
  const key = ownerOf(grant)
  const now = clock.now()
  // Who decides about the whole decides about its parts.
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

/** Of all clients that are registered still. */
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
 * Nothing that it gave counts any more; what is kept of it expires. The consent goes last: where something fails, it is still there to be
 * withdrawn.
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
    // One that was given meanwhile is of grants that were not listed yet.
    if (known === undefined || (await grants.remove('consent', owner, known.number))) return
  }
  throw tooMuch()
}

const sidOf = ({ value }: GrantRow): string => (value as { readonly grant: UserGrant }).grant.sid

/** `ended`: those that have, and need not again. */
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
