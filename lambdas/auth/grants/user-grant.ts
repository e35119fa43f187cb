/**
 * Issues tokens for grants of users to clients. Codes and refresh tokens refer to a grant. All its tokens carry its `sid`, so that one
 * revocation covers them.
 */
import type { ClientAuth } from '../../access/claims.ts'
import { isTenantBoundUser } from '../../access/user-patients.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { RevocationKey } from '../../ports/rows/revocations.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { filterServedTenants, intersectTenants, TENANCY_OFF_TEXT, tenantsOfUser } from '../tenant-intersection.ts'
import { createAccessToken, type TokenGrant, tokenResponse } from '../tokens/access-token.ts'
import { revokePermanently } from '../tokens/credential-generations.ts'
import { createIdToken } from '../tokens/id-token.ts'
import { MAX_ACCESS_TOKEN_SECONDS } from '../tokens/lifetimes.ts'
import { isRevoked } from '../tokens/revocation-check.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { grantUserScopes } from './granted-scopes.ts'

export type UserGrantPorts = Pick<
  AuthPorts,
  'clients' | 'users' | 'grants' | 'revocations' | 'keys' | 'clock' | 'choices' | 'keySource' | 'patientsOf'
>

/** Whether the grant belongs to this client, and not to an earlier client with the same id. */
// guard: grant-of-registered-client
export const isClientOf = ({ id, registeredAt }: Client, granted: Pick<UserGrant, 'client' | 'registeredAt'>): boolean =>
  granted.client === id && granted.registeredAt === registeredAt

/** Returns `registeredAt` as a property to store, or no property if the client has none. */
export const registrationOf = ({ registeredAt }: Pick<UserGrant, 'registeredAt'>): Pick<UserGrant, 'registeredAt'> =>
  registeredAt === undefined ? {} : { registeredAt }

/**
 * Returns the user of a grant. Throws OAuthError `invalid_grant` if the grant is revoked, the user was removed, or the credential
 * generation of client or user changed. `grantedAt`: issue time of the code or refresh token, in milliseconds since 1970.
 */
export async function userOf(
  ports: Pick<AuthPorts, 'users' | 'revocations'>,
  client: Client,
  grant: UserGrant,
  grantedAt: number,
): Promise<User> {
  const { subject, sid, generations } = grant
  const marks: readonly RevocationKey[] = [
    `sid:${sid}`,
    ...(generations?.client === undefined ? ([`client:${client.id}`] as const) : []),
    ...(generations?.user === undefined ? ([`user:${subject}`] as const) : []),
  ]
  const user = await ports.users.get(grant.user)
  // guard: grant-ends-with-new-secret
  // guard: grant-of-same-user
  if (user?.subject !== subject || generations?.user !== user.generation || generations?.client !== client.generation) throw invalidGrant()
  if (await isRevoked(ports.revocations, marks, grantedAt)) throw invalidGrant()
  return user
}

/** Returns the credential generations of client and user as properties to store in a grant. */
export const generationsOf = (client: Client, user: User): Pick<UserGrant, 'generations'> => ({
  generations: {
    ...(client.generation === undefined ? {} : { client: client.generation }),
    ...(user.generation === undefined ? {} : { user: user.generation }),
  },
})

export const invalidGrant = (): OAuthError =>
  new OAuthError('invalid_grant', 'The code or refresh token is unknown, expired, revoked or already used: authorize again')

/** Revokes all tokens of the grant, including tokens that a concurrent request issues. */
export const revokeGrant = (ports: Pick<AuthPorts, 'revocations' | 'clock'>, { sid }: Pick<UserGrant, 'sid'>): Promise<void> =>
  revokePermanently(ports, `sid:${sid}`)

/**
 * Request for the tokens of a grant. `scopes`: a part of those of the grant; absent: all. `nonce`: value that the ID token repeats.
 * `refresh`: refresh token for the response.
 */
export type TokenRequest = {
  readonly client: Client
  readonly by: ClientAuth
  readonly user: User
  readonly scopes?: readonly string[]
  readonly nonce?: string
  readonly refresh: Given | undefined
}

/** Refresh token, with its lifetime `life` in seconds. */
type Given = { readonly token: string; readonly life: number }

/**
 * Issues tokens for a grant and returns the response. Scopes and tenants are limited by the current registration of client and user. Throws
 * OAuthError `invalid_grant` if no tenant is left.
 */
export async function issueTokens(
  ports: UserGrantPorts,
  grant: UserGrant,
  { client, by, user, scopes = grant.scopes, nonce, refresh }: TokenRequest,
  { baseUrl }: AuthRequest,
): Promise<AuthResponse> {
  const now = ports.clock.now()
  const granted = grantUserScopes(client, user, scopes)
  const kept = (tenants: readonly string[]) => filterServedTenants(ports.choices, tenants)
  if (kept(client.tenants).length === 0) throw new OAuthError('unauthorized_client', `The client is of other tenants: ${TENANCY_OFF_TEXT}`)
  const tenants = intersectTenants(kept(grant.tenants), intersectTenants(client.tenants, tenantsOfUser(ports.choices, user)))
  if (tenants.length === 0) throw invalidGrant()
  const access: TokenGrant = {
    ...{ client, by, baseUrl, subject: grant.subject, sid: grant.sid, scopes: granted, tenants },
    acr: now / 1000 - grant.authTime < MAX_ACCESS_TOKEN_SECONDS ? '1' : '0',
    about: { preferred_username: user.name, ...(await personOf(ports, grant, user, tenants)), ...contextOf(grant) },
  }
  const made = await createAccessToken(ports, access)
  const id = granted.includes('openid')
    ? { id_token: await createIdToken(ports, { access, authTime: grant.authTime, user, made, nonce }) }
    : {}
  return tokenResponse({
    ...{ made, access },
    ...(refresh === undefined ? {} : { refresh }),
    more: { ...id, ...contextOf(grant), ...shownOf(grant, baseUrl) },
  })
}

/**
 * Returns the claims about the user. They name the patients that a related person acts for now, not those at login. Throws OAuthError
 * `invalid_grant` if a patient or related person no longer acts for the patient of the grant, or for any.
 */
async function personOf(ports: Pick<UserGrantPorts, 'patientsOf'>, grant: UserGrant, user: User, [tenant = '']: readonly string[]) {
  const { fhirUser, generation } = user
  const actsFor = isTenantBoundUser(fhirUser) ? await ports.patientsOf(fhirUser!, tenant) : undefined
  // guard: grant-person-still-acts
  if (actsFor !== undefined && !stillActs(actsFor, grant)) throw invalidGrant()
  return {
    ...(generation === undefined ? {} : { user_generation: generation }),
    ...(fhirUser === undefined ? {} : { fhirUser }),
    ...(actsFor === undefined || !/RelatedPerson\/[^/]*$/.test(fhirUser!) ? {} : { acts_for: actsFor }),
  }
}

const stillActs = (actsFor: readonly string[], { patient }: UserGrant): boolean =>
  actsFor.length > 0 && (patient === undefined || actsFor.includes(patient))

const contextOf = ({ patient, encounter }: UserGrant) => ({
  ...(patient === undefined ? {} : { patient }),
  ...(encounter === undefined ? {} : { encounter }),
})

/**
 * Returns the members of a token response that concern the display of the patient in the app.
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#launch-context-arrives-with-your-access_token
 */
const shownOf = ({ patient, banner }: UserGrant, baseUrl: string) =>
  patient === undefined ? {} : { need_patient_banner: banner, smart_style_url: `${baseUrl}/auth/style` }
