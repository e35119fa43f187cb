/**
 * Token exchange: turns the access token of a person into one that shows less, the view of a client or of some scopes. Only the explorer
 * may use it. The result never reads more than the person's token, and never writes. https://www.rfc-editor.org/rfc/rfc8693
 */
import { type AccessClaims, SEEN_AS_SCOPES } from '../../access/claims.ts'
import { ADMIN_SCOPE, splitScopes } from '../../access/scopes.ts'
import { ActingPersons } from '../../access/verification/acting-persons.ts'
import { isTenant } from '../../access/verification/tenant-claim.ts'
import { parseOwnToken } from '../../access/verification/token-claims.ts'
import { FhirError } from '../../fhir/outcome.ts'
import type { Client, Partner } from '../../ports/rows/clients.ts'
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import { EXPLORER_ID } from '../clients/explorer-client.ts'
import type { AuthPorts, AuthRequest, AuthResponse } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { type RequestParameters, requireParameter, toDescriptionText } from '../request-parameters.ts'
import { filterServedTenants, intersectTenants, isSingleTenant, tenantsOfUser } from '../tenant-intersection.ts'
import { createAccessToken, memberClaimsOf, partnerClaimsOf, type TokenGrant, tokenResponse } from '../tokens/access-token.ts'
import { isTokenRevoked, readCanonicalToken, tenantsOfToken } from '../tokens/received-token.ts'
import { checkScopeConditions, contextOf, grantUserScopes, grantViewScopes, parseRequestedScopes } from './granted-scopes.ts'
import type { UserGrantPorts } from './user-grant.ts'

export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'

export type TokenExchangePorts = UserGrantPorts & Pick<AuthPorts, 'isDecidable' | 'mayReadPatient' | 'partnerMembers'>

/** Maximum lifetime of an exchanged token, in seconds. It never outlives the token of the person. */
const LIFE = 300

/** Person of a subject token. `scopes` and `tenants`: those of the token that client and user still have. */
type Person = { readonly claims: AccessClaims; readonly scopes: readonly string[]; readonly tenants: readonly string[] }

/** View that is requested. `seenAs`: id of the client, or `SEEN_AS_SCOPES`. `patient`: the only patient that the client may see. */
type View = {
  readonly seenAs: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  readonly patient?: string
  /** Organization for which the client is a partner. The token then has the access of a partner, with `patient` as the member. */
  readonly partner?: Partner
}

/**
 * Returns a token for a view of the person's data. Throws OAuthError `unauthorized_client` for another client than the explorer. Throws
 * `invalid_request` if the subject token is not a valid token of a person from this client, or if the person may not read `patient`.
 * Throws `invalid_scope` if the person and the view have no scope or no tenant in common, or if a person without `system/admin` sends
 * `as_client`.
 */
export async function exchangeToken(
  ports: TokenExchangePorts,
  { client, parameters }: AuthenticatedClient,
  request: AuthRequest,
): Promise<AuthResponse> {
  // guard: exchange-by-explorer-only
  if (client.id !== EXPLORER_ID) throw new OAuthError('unauthorized_client', 'Only the explorer may exchange tokens')
  checkTypes(parameters)
  const person = await personOf(ports, client, requireParameter(parameters, 'subject_token'), request)
  const { claims } = person
  const view = await viewOf(ports, person, parameters)
  request.note({ seenAs: view.seenAs })
  const tenants = tenantsOfView(person, view, parameters.get('tenant'))
  const patient = patientOfView(claims, view, parameters.get('patient'))
  const scopes = grantViewScopes(view.scopes, boundsOf(person, patient), claims.fhirUser !== undefined)
  await checkScopeConditions(ports, scopes, tenants)
  if (patient !== undefined) await checkPatient(ports, person, tenants, patient)
  const access: TokenGrant = {
    ...{ client, by: 'none', baseUrl: request.baseUrl, subject: claims.sub, sid: claims.sid, scopes, tenants, acr: claims.acr },
    about: {
      ...aboutPerson(claims),
      ...(patient === undefined ? {} : await contextClaimsOf(ports, view, patient)),
      ...partnerClaimsOf(view),
      ...{ seen_as: view.seenAs, subject_jti: claims.jti },
    },
    // guard: exchange-ends-with-the-token-of-the-person
    life: Math.min(LIFE, claims.exp - Math.floor(ports.clock.now() / 1000)),
  }
  const made = await createAccessToken(ports, access)
  const more = { issued_token_type: ACCESS_TOKEN_TYPE, seen_as: view.seenAs, ...(patient === undefined ? {} : { patient }) }
  return tokenResponse({ made, access, more })
}

const contextClaimsOf = async ({ partnerMembers }: TokenExchangePorts, { partner }: View, patient: string) =>
  partner === undefined ? { patient } : memberClaimsOf({ patient, limits: await partnerMembers.limitsOf(partner.kind) })

function checkTypes(parameters: RequestParameters): void {
  if (requireParameter(parameters, 'subject_token_type') !== ACCESS_TOKEN_TYPE)
    throw new OAuthError('invalid_request', `subject_token_type must be ${ACCESS_TOKEN_TYPE}`)
  if ((parameters.get('requested_token_type') ?? ACCESS_TOKEN_TYPE) !== ACCESS_TOKEN_TYPE)
    throw new OAuthError('invalid_request', `requested_token_type must be ${ACCESS_TOKEN_TYPE}`)
  if (parameters.has('actor_token')) throw new OAuthError('invalid_request', 'actor_token is not supported')
}

const invalidSubject = (): OAuthError =>
  new OAuthError('invalid_request', 'subject_token is not a valid access token of a person who is logged in to the explorer')

/** Returns the person of a valid subject token. Its rights are limited by the current registration of client and user. */
async function personOf(ports: TokenExchangePorts, client: Client, token: string, request: AuthRequest): Promise<Person> {
  const claims = await readCanonicalToken(ports, token, request.baseUrl)
  // guard: exchange-of-own-tokens
  if (claims?.client_id !== client.id) throw invalidSubject()
  // guard: exchanged-token-is-not-exchanged
  if (claims.seen_as !== undefined) throw new OAuthError('invalid_request', 'subject_token is itself an exchanged token')
  // guard: exchange-needs-unrevoked-token
  if (await isTokenRevoked(ports, claims)) throw invalidSubject()
  const user = claims.preferred_username === undefined ? undefined : await ports.users.get(claims.preferred_username)
  // guard: exchange-needs-current-user
  if (user?.subject !== claims.sub || user.generation !== claims.user_generation || user.fhirUser !== claims.fhirUser)
    throw invalidSubject()
  // guard: exchange-needs-current-client
  if (client.generation !== claims.client_generation) throw invalidSubject()
  request.note({ user: user.name })
  const scopes = grantUserScopes(client, user, splitScopes(claims.scope))
  const registered = intersectTenants(filterServedTenants(ports.choices, client.tenants), tenantsOfUser(ports.choices, user))
  const tenants = intersectTenants(tenantsOfToken(claims, ports.choices), registered)
  if (tenants.length === 0) throw invalidSubject()
  await checkPerson(ports, claims, tenants)
  return { claims, scopes, tenants }
}

/** Throws OAuthError if a Patient or RelatedPerson no longer acts for the patients of its token. FHIR requests check the same. */
async function checkPerson(ports: TokenExchangePorts, { fhirUser, acts_for: actsFor }: AccessClaims, [tenant = '']: readonly string[]) {
  const person = { tenant, ...(fhirUser === undefined ? {} : { fhirUser }), ...(actsFor === undefined ? {} : { actsFor }) }
  try {
    await new ActingPersons(ports.patientsOf).check(person, ports.clock.now())
  } catch (error) {
    throw error instanceof FhirError ? invalidSubject() : error
  }
}

/** Returns the requested view: that of a registered client, for administrators, or that of some scopes. */
async function viewOf(ports: TokenExchangePorts, person: Person, parameters: RequestParameters): Promise<View> {
  const [scope, id] = [parameters.get('scope'), parameters.get('as_client')]
  if ((scope === undefined) === (id === undefined)) throw new OAuthError('invalid_request', 'Send either scope or as_client')
  if (id === undefined) return { seenAs: SEEN_AS_SCOPES, scopes: parseRequestedScopes(scope!), tenants: ['*'] }
  // guard: client-view-needs-administrator
  if (!person.scopes.includes(ADMIN_SCOPE)) throw new OAuthError('invalid_scope', `as_client requires the scope ${ADMIN_SCOPE}`)
  const client = await ports.clients.get(id)
  if (client === undefined) throw new OAuthError('invalid_request', `There is no client ${toDescriptionText(id)}`)
  const { scopes, tenants, patient } = client
  return {
    ...{ seenAs: client.id, scopes, tenants },
    ...(patient === undefined ? {} : { patient: patient.replace(/^Patient\//, '') }),
    ...(client.partner === undefined ? {} : { partner: client.partner }),
  }
}

/** Returns the tenants that both may open. `wanted`: the only one that the request needs. */
function tenantsOfView(person: Person, view: View, wanted: string | undefined): readonly string[] {
  if (wanted !== undefined && !isTenant(wanted)) throw new OAuthError('invalid_request', 'tenant is the name of one tenant')
  const common = intersectTenants(person.tenants, view.tenants)
  const tenants = wanted === undefined ? common : intersectTenants(common, [wanted])
  if (tenants.length === 0) throw new OAuthError('invalid_scope', 'The person and the view have no tenant in common')
  return tenants
}

/** Returns the patient in context: the requested one, that of the client, or that of the person's token. */
function patientOfView(claims: AccessClaims, view: View, asked: string | undefined): string | undefined {
  // guard: view-of-the-patient-of-the-client
  if (asked !== undefined && view.patient !== undefined && asked !== view.patient)
    throw new OAuthError('invalid_request', 'The client is registered for another patient')
  return asked ?? view.patient ?? claims.patient
}

/**
 * Returns the scopes of the person that bound a view with this patient in context. `patient/` scopes reach only the patient of the person's
 * own token.
 */
const boundsOf = ({ claims, scopes }: Person, patient: string | undefined): readonly string[] =>
  // guard: patient-scopes-keep-their-patient
  patient !== undefined && patient === claims.patient ? scopes : scopes.filter((scope) => contextOf(scope) !== 'patient')

/** Throws OAuthError `invalid_request` unless the person may read the patient, which must belong to a single tenant. */
async function checkPatient(ports: TokenExchangePorts, person: Person, tenants: readonly string[], patient: string): Promise<void> {
  if (!isSingleTenant(tenants)) throw new OAuthError('invalid_request', 'With several tenants a patient needs the parameter tenant')
  const { claims, scopes } = person
  if (patient === claims.patient) return
  const { facts } = parseOwnToken(claims, ports.choices.tenantClaim, ports.clock.now())
  // guard: patient-of-view-is-readable
  if (!(await ports.mayReadPatient({ ...facts, scopes, tenant: tenants[0]! }, patient)))
    throw new OAuthError('invalid_request', 'There is no such patient, or the person may not read it')
}

/** Claims about the person that the exchanged token keeps. They limit `user/` scopes, and make it end with the person's tokens. */
const aboutPerson = ({ preferred_username, user_generation, fhirUser, acts_for }: AccessClaims) =>
  Object.fromEntries(Object.entries({ preferred_username, user_generation, fhirUser, acts_for }).filter(([, value]) => value !== undefined))
