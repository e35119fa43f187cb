/**
 * Launches from a health record: a user opens an app for a patient.
 * https://hl7.org/fhir/smart-app-launch/app-launch.html#launch-app-ehr-launch
 */
import { isId } from '../../fhir/resource.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthPorts } from '../endpoint.ts'
import { isClientOf, registrationOf } from '../grants/user-grant.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import { filterServedTenants, intersectTenants, isSingleTenant, TENANCY_OFF_TEXT, tenantsOfUser } from '../tenant-intersection.ts'
import { isRevoked } from '../tokens/revocation-check.ts'
import { findLaunchPatient } from './launch-patient.ts'

/**
 * Launch of an app. `user`: name of the only user that may continue it; absent: any user. `patient`, `encounter`: ids without resource
 * types.
 */
export type Launch = {
  readonly client: string
  /** Registration time of the client. A launch is not valid for a later client with the same id. */
  readonly registeredAt?: number
  readonly user?: string
  /** Subject of `user`. A later user of the same name has a different one and may not continue the launch. */
  readonly subject?: string
  readonly patient?: string
  readonly encounter?: string
  readonly tenant?: string
  /** Whether the app must display the patient's identity. Absent: true. */
  readonly banner?: boolean
}

type Ports = Pick<AuthPorts, 'grants' | 'clock'>

/** Lifetime of a launch in milliseconds. Login and consent must be completed within it. */
const LIFE = 10 * 60 * 1000

/** Stores a launch and returns the value of its parameter `launch`, which is valid for one use. */
export async function makeLaunch({ grants, clock }: Ports, launch: Launch): Promise<string> {
  const token = createRandomSecret()
  await grants.add('launch', fingerprintOf(token), { owner: '', value: launch, expires: clock.now() + LIFE })
  return token
}

/** Returns a launch without using it up. Returns undefined if it is unknown, expired, used or revoked, or is for another client. */
export async function launchOf(
  { grants, revocations }: Pick<AuthPorts, 'grants' | 'revocations'>,
  token: string,
  client: Client,
): Promise<Launch | undefined> {
  const known = await grants.get('launch', fingerprintOf(token))
  const launch = known?.value as Launch | undefined
  if (launch === undefined || !isClientOf(client, launch)) return undefined
  return (await isRevoked(revocations, [], known!.expires! - LIFE)) ? undefined : launch
}

/** Uses up a launch. Returns false if it was used before or has expired. */
export const useLaunch = ({ grants }: Pick<Ports, 'grants'>, token: string): Promise<boolean> =>
  grants.remove('launch', fingerprintOf(token))

type Registered = { readonly client: Client; readonly user: User | undefined }

/** Adds patient and tenant to a launch from stored data. Throws RangeError if the data contradict the launch. */
export type LaunchCompletion = (launch: Launch, registered: Registered) => Promise<Launch>

/**
 * Checks an operator's launch and returns it as it is to be stored. Throws RangeError for an unknown client or user, for an invalid id, and
 * for a client that is not registered for the scope `launch`. `complete` may throw it too.
 */
export async function checkLaunch(
  ports: Pick<AuthPorts, 'clients' | 'users'>,
  launch: Launch,
  complete: LaunchCompletion,
): Promise<Launch> {
  const { patient, encounter } = launch
  const client = await ports.clients.get(launch.client)
  if (client === undefined) throw new RangeError(`There is no client ${launch.client}`)
  if (!client.scopes.includes('launch')) throw new RangeError(`The client ${client.id} is not registered for the scope launch`)
  const user = launch.user === undefined ? undefined : await ports.users.get(launch.user)
  if (launch.user !== undefined && user === undefined) throw new RangeError(`There is no user ${launch.user}`)
  for (const id of [patient, encounter]) if (id !== undefined && !isId(id)) throw new RangeError(`${id} is no id: without its type`)
  const completed = await complete(launch, { client, user })
  return { ...completed, ...registrationOf(client), ...(user === undefined ? {} : { subject: user.subject }) }
}

/** Returns a completion that looks up tenants, patient and encounter in the store of this server. */
export const launchCompletion =
  ({ patients, choices }: Pick<AuthPorts, 'patients' | 'choices'>): LaunchCompletion =>
  async (launch, { client, user }) => {
    const own = user === undefined ? ['*'] : tenantsOfUser(choices, user)
    const common = filterServedTenants(choices, intersectTenants(intersectTenants(client.tenants, own), [launch.tenant ?? '*']))
    if (common.length === 0)
      throw new RangeError(`The client, the user and the launch have no tenant in common${choices.tenancy ? '' : `: ${TENANCY_OFF_TEXT}`}`)
    if (launch.tenant !== undefined && !(await patients.isTenant(launch.tenant)))
      throw new RangeError(`There is no tenant ${launch.tenant}`)
    const found = await findLaunchPatient(patients, common, launch)
    if ('fault' in found) throw new RangeError(found.fault)
    const { tenant, patient } = found
    if (tenant === undefined && user !== undefined && !isSingleTenant(common))
      throw new RangeError(`The user ${user.name} has several tenants: say for which it is`)
    if (tenant === undefined || patient === undefined) return launch
    // guard: launch-patient-is-visible
    if (user !== undefined && (await patients.get(user, [tenant], patient)) === undefined)
      throw new RangeError(`The user ${user.name} may not see Patient/${patient}`)
    return { ...launch, patient, ...(choices.tenancy ? { tenant } : {}) }
  }
