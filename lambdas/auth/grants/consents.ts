/** Consents: which scopes each user allowed to each client. They are stored until the user withdraws them. */
import type { Client } from '../../ports/rows/clients.ts'
import type { GrantKind, GrantRow, Grants } from '../../ports/rows/grants.ts'
import type { AuthPorts } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { ownerOf } from '../tokens/refresh-tokens.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { categoryScopesOf } from './category-scopes.ts'
import { isClientOf, registrationOf, revokeGrant } from './user-grant.ts'

/**
 * Consent of a user to a client. `asked`: scopes that the user decided about. `granted`: scopes that the user allowed. `sids`: grants with
 * tokens that may still be valid, each with its last instant (ms since 1970).
 */
export type Consent = {
  readonly client: string
  /** Registration time of the client. A consent to a previous client of the same id is not valid for the current one. */
  readonly registeredAt?: number
  readonly asked: readonly string[]
  readonly granted: readonly string[]
  readonly sids: readonly { readonly sid: string; readonly until: number }[]
}

type Ports = Pick<AuthPorts, 'grants' | 'clock' | 'revocations'>
type Pair = { readonly client: string; readonly subject: string }

/** Maximum validity of tokens without a refresh token, in milliseconds. No other row lists their grants. */
const UNLISTED = 2 * 60 * 60 * 1000
/** Maximum grants in one consent. Withdrawing it writes one revocation for each. Further grants revoke the oldest. */
const MOST_SIDS = 200
const TURNS = 8
/** Maximum revocations that are written at once. */
const AT_ONCE = 20

/** Returns the user's consent, or undefined if there is none for this registration of the client. */
export async function consentOf({ grants }: Pick<Ports, 'grants'>, client: Client, subject: string): Promise<Consent | undefined> {
  const consent = (await grants.get('consent', ownerOf({ client: client.id, subject })))?.value as Consent | undefined
  return consent !== undefined && isClientOf(client, consent) ? consent : undefined
}

/**
 * Adds a decision to the user's consent. `asked`: scopes that the user just decided about; the grant has the allowed ones. Beyond
 * `MOST_SIDS` grants in two hours the oldest are revoked, so that the consent stays small enough to be withdrawn. Throws OAuthError
 * `temporarily_unavailable` if other changes keep interfering.
 */
export async function storeConsent(ports: Ports, grant: UserGrant, asked: readonly string[]): Promise<void> {
  const { client, registeredAt, subject, sid, scopes } = grant
  const { grants, clock } = ports
  const key = ownerOf(grant)
  const now = clock.now()
  // A decision about a whole type is also one about its categories.
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

/** Returns the consents of the user to all clients that are still registered. */
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
 * Revokes everything that the consent granted; stored rows expire later. Removes the consent last, so that the user can repeat a withdrawal
 * that failed. Throws OAuthError `temporarily_unavailable` if other changes keep interfering.
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
    // If the consent changed meanwhile, it names grants that are not revoked yet: try again.
    if (known === undefined || (await grants.remove('consent', owner, known.number))) return
  }
  throw tooMuch()
}

const sidOf = ({ value }: GrantRow): string => (value as { readonly grant: UserGrant }).grant.sid

/** Revokes grants. `ended`: grants that are already revoked, which are skipped; adds these. */
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
