/** What a user granted to a client in one go. Codes and refresh tokens stand for it; all tokens made of it have its `sid`, and are revoked by it. */
import type { ClientAuth } from '../../access/claims.ts'
import { isOfOneTenant } from '../../access/user-patients.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { Mark } from '../../ports/rows/revocations.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { commonTenants, keptTenants, NO_TENANTS, tenantsOfUser } from '../tenant-intersection.ts'
import { type Access, accessToken, tokenAnswer } from '../tokens/access-token.ts'
import { endForGood } from '../tokens/credential-generations.ts'
import { idToken } from '../tokens/id-token.ts'
import { LONGEST_ACCESS } from '../tokens/lifetimes.ts'
import { isRevoked } from '../tokens/revocation-check.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { scopesOfUser } from './granted-scopes.ts'

export type UserGrantPorts = Pick<
  AuthPorts,
  'clients' | 'users' | 'grants' | 'revocations' | 'keys' | 'clock' | 'choices' | 'keySource' | 'patientsOf'
>

/** Whether it is this client's, and not that of an earlier one of its id. */
// guard: grant-of-registered-client
export const isOf = ({ id, registeredAt }: Client, granted: Pick<UserGrant, 'client' | 'registeredAt'>): boolean =>
  granted.client === id && granted.registeredAt === registeredAt

/** What a grant keeps of it. */
export const registrationOf = ({ registeredAt }: Pick<UserGrant, 'registeredAt'>): Pick<UserGrant, 'registeredAt'> =>
  registeredAt === undefined ? {} : { registeredAt }

/** OAuthError `invalid_grant` where what was granted at this instant (ms since 1970) no longer counts. */
export async function userOf(
  ports: Pick<AuthPorts, 'users' | 'revocations'>,
  client: Client,
  grant: UserGrant,
  grantedAt: number,
): Promise<User> {
  const { subject, sid, generations } = grant
  const marks: readonly Mark[] = [
    `sid:${sid}`,
    ...(generations?.client === undefined ? ([`client:${client.id}`] as const) : []),
    ...(generations?.user === undefined ? ([`user:${subject}`] as const) : []),
  ]
  const user = await ports.users.get(grant.user)
  // guard: grant-ends-with-new-secret
  // guard: grant-of-same-user
  if (user?.subject !== subject || generations?.user !== user.generation || generations?.client !== client.generation) throw noLonger()
  if (await isRevoked(ports.revocations, marks, grantedAt)) throw noLonger()
  return user
}

/** What a grant keeps of them. */
export const generationsOf = (client: Client, user: User): Pick<UserGrant, 'generations'> => ({
  generations: {
    ...(client.generation === undefined ? {} : { client: client.generation }),
    ...(user.generation === undefined ? {} : { user: user.generation }),
  },
})

export const noLonger = (): OAuthError =>
  new OAuthError('invalid_grant', 'The code or refresh token is unknown, expired, revoked or already used: authorize again')

/** No token of this grant counts any more, those too that are being made. */
export const revokeGrant = (ports: Pick<AuthPorts, 'revocations' | 'clock'>, { sid }: Pick<UserGrant, 'sid'>): Promise<void> =>
  endForGood(ports, `sid:${sid}`)

/** How a token is asked for. `scopes`: fewer than were granted. `nonce`: of the request the code is from. `refresh`: what is given along. */
export type Asking = {
  readonly client: Client
  readonly by: ClientAuth
  readonly user: User
  readonly scopes?: readonly string[]
  readonly nonce?: string
  readonly refresh: Given | undefined
}

/** `life`: seconds. */
type Given = { readonly token: string; readonly life: number }

/** Tokens for a grant, and the answer with them. What is registered, and what the user may, count as of now. */
export async function tokensFor(
  ports: UserGrantPorts,
  grant: UserGrant,
  { client, by, user, scopes = grant.scopes, nonce, refresh }: Asking,
  { baseUrl }: AuthRequest,
): Promise<AuthResponse> {
  const now = ports.clock.now()
  const granted = scopesOfUser(client, user, scopes)
  const kept = (tenants: readonly string[]) => keptTenants(ports.choices, tenants)
  if (kept(client.tenants).length === 0) throw new OAuthError('unauthorized_client', `The client is of other tenants: ${NO_TENANTS}`)
  const tenants = commonTenants(kept(grant.tenants), commonTenants(client.tenants, tenantsOfUser(ports.choices, user)))
  if (tenants.length === 0) throw noLonger()
  const access: Access = {
    ...{ client, by, baseUrl, subject: grant.subject, sid: grant.sid, scopes: granted, tenants },
    acr: now / 1000 - grant.authTime < LONGEST_ACCESS ? '1' : '0',
    about: { preferred_username: user.name, ...(await personOf(ports, grant, user, tenants)), ...contextOf(grant) },
  }
  const made = await accessToken(ports, access)
  const id = granted.includes('openid') ? { id_token: await idToken(ports, { access, authTime: grant.authTime, user, made, nonce }) } : {}
  return tokenAnswer({
    ...{ made, access },
    ...(refresh === undefined ? {} : { refresh }),
    more: { ...id, ...contextOf(grant), ...shownOf(grant, baseUrl) },
  })
}

/** Returns the claims about the user. They decide what the token shows. Each token gets the patients of its own time, not those of the login. */
async function personOf(ports: Pick<UserGrantPorts, 'patientsOf'>, grant: UserGrant, user: User, [tenant = '']: readonly string[]) {
  const { fhirUser, generation } = user
  const actsFor = isOfOneTenant(fhirUser) ? await ports.patientsOf(fhirUser!, tenant) : undefined
  // guard: grant-person-still-acts
  if (actsFor !== undefined && !stillActs(actsFor, grant)) throw noLonger()
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

/** https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#launch-context-arrives-with-your-access_token */
const shownOf = ({ patient, banner }: UserGrant, baseUrl: string) =>
  patient === undefined ? {} : { need_patient_banner: banner, smart_style_url: `${baseUrl}/auth/style` }
