/** Context of an authorization request for the logged-in user: granted scopes, tenants and patient. */
import { parseScope } from '../../access/scopes.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts, FoundPatient } from '../endpoint.ts'
import type { AuthorizationRequest } from '../grants/authorization-request.ts'
import { checkScopeConditions, findUngrantedScopes, grantUserScopes, noScopesGranted } from '../grants/granted-scopes.ts'
import { OAuthError } from '../oauth-error.ts'
import { filterServedTenants, intersectTenants, TENANCY_OFF_TEXT, tenantsOfUser } from '../tenant-intersection.ts'
import { findLaunchPatient } from './launch-patient.ts'
import { type Launch, launchOf } from './launches.ts'

/**
 * `mustChoose`: the request needs a patient, and the user must choose one first. `banner`: whether the app must display the patient's
 * identity.
 */
export type LaunchContext = {
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  readonly patient?: FoundPatient
  readonly encounter?: string
  readonly banner: boolean
  readonly mustChoose: boolean
}

export type ContextPorts = Pick<AuthPorts, 'grants' | 'revocations' | 'patients' | 'choices' | 'isDecidable'>

/** Returns the context of an authorization request. Throws OAuthError, which the endpoint sends to the client. */
export async function launchContextOf(ports: ContextPorts, asked: AuthorizationRequest, user: User): Promise<LaunchContext> {
  const launch = await launchedBy(ports, asked, user)
  const scopes = grantUserScopes(asked.client, user, asked.scopes).filter((scope) => makesSense(scope, launch))
  const lost = findUngrantedScopes(asked.scopes, scopes)
  if (lost.length > 0) throw noScopesGranted(lost)
  const possible = tenantsOf(ports, asked, user, launch)
  await checkScopeConditions(ports, scopes, possible)
  const patient = await patientOf(ports, { asked, user, tenants: possible, launch, scopes })
  const tenants = patient?.tenant === undefined ? possible : [patient.tenant]
  return {
    scopes,
    tenants,
    ...(patient === undefined ? {} : { patient }),
    ...(launch?.encounter === undefined ? {} : { encounter: launch.encounter }),
    banner: launch?.banner ?? true,
    mustChoose: patient === undefined && launch === undefined && scopes.some(isOfPatient),
  }
}

async function launchedBy(ports: ContextPorts, { launch, scopes, client }: AuthorizationRequest, user: User): Promise<Launch | undefined> {
  if (launch === undefined || !scopes.includes('launch') || !client.scopes.includes('launch')) return undefined
  const found = await launchOf(ports, launch, client)
  if (found === undefined) throw new OAuthError('invalid_request', 'launch is not known, or was used')
  // guard: launch-user-matches-login
  if ((found.user ?? user.name) !== user.name || (found.subject ?? user.subject) !== user.subject)
    throw new OAuthError('access_denied', 'Another user launched the app')
  return found
}

/** Whether the scope may be granted with this launch. `launch` needs a launch, and `launch/encounter` a launch with an encounter. */
const makesSense = (scope: string, launch: Launch | undefined): boolean =>
  !(scope === 'launch' && launch === undefined) && !(scope === 'launch/encounter' && launch?.encounter === undefined)

function isOfPatient(text: string): boolean {
  const scope = parseScope(text)
  return text === 'launch/patient' || (scope?.kind === 'resource' && scope.context === 'patient')
}

/** Returns the tenants that the client, the user and the launch have in common. Throws OAuthError `access_denied` if there are none. */
function tenantsOf({ choices }: ContextPorts, { client }: AuthorizationRequest, user: User, launch: Launch | undefined): readonly string[] {
  if (filterServedTenants(choices, user.tenants).length === 0)
    throw new OAuthError('access_denied', `The user is of other tenants: ${TENANCY_OFF_TEXT}`)
  const common = intersectTenants(
    intersectTenants(client.tenants, tenantsOfUser(choices, user)),
    launch?.tenant === undefined ? ['*'] : [launch.tenant],
  )
  if (common.length === 0) throw new OAuthError('access_denied', 'The user has no tenant that the client may ask for')
  return common
}

type Patients = {
  readonly asked: AuthorizationRequest
  readonly user: User
  readonly tenants: readonly string[]
  readonly launch: Launch | undefined
  readonly scopes: readonly string[]
}

/** Error message for an unknown patient and for one that the user may not see. An app must not learn which of the two it is. */
const UNSEEN = 'The user may not see the patient'

/**
 * Returns the patient in context: the patient of the launch, the user's choice, or the only patient of a user that is a patient or related
 * person. Returns undefined without a patient, also if the user may not see the chosen one. Throws OAuthError `access_denied` if the user
 * may not see the patient of the launch.
 */
async function patientOf(
  { patients }: ContextPorts,
  { asked, user, tenants, launch, scopes }: Patients,
): Promise<FoundPatient | undefined> {
  if (launch !== undefined) {
    const about = await findLaunchPatient(patients, tenants, launch)
    if ('fault' in about) throw new OAuthError('access_denied', UNSEEN)
    if (about.patient === undefined) return undefined
    const found = await patients.get(user, about.tenant === undefined ? tenants : [about.tenant], about.patient)
    if (found === undefined) throw new OAuthError('access_denied', UNSEEN)
    return found
  }
  if (!scopes.some(isOfPatient)) return undefined
  if (asked.patient !== undefined) return chosen(patients, user, tenants, asked.patient)
  if (!/^(?:Patient|RelatedPerson)\//.test(user.fhirUser ?? '')) return undefined
  const own = await patients.find(user, tenants, '')
  return own.length === 1 ? own[0] : undefined
}

function chosen(
  patients: AuthPorts['patients'],
  user: User,
  tenants: readonly string[],
  choice: string,
): Promise<FoundPatient | undefined> {
  const [id, tenant] = choice.split('/').reverse()
  return patients.get(user, tenant === undefined ? tenants : intersectTenants(tenants, [tenant]), id!)
}
