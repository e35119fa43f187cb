/** Launches from within a health record: who opened which app for which patient. https://hl7.org/fhir/smart-app-launch/app-launch.html#launch-app-ehr-launch */
import type { AuthPorts } from './endpoint.ts'
import { fingerprintOf, unguessable } from './unguessable.ts'

/** `user`: the name of who launched it, and nobody else may go on. `patient`, `encounter`: ids, without their types. */
export type Launch = {
  readonly client: string
  readonly user?: string
  readonly patient?: string
  readonly encounter?: string
  readonly tenant?: string
  /** Whether the app must show who the patient is; absent: yes. */
  readonly banner?: boolean
}

type Ports = Pick<AuthPorts, 'grants' | 'clock'>

/** Milliseconds: an app that is launched asks at once. */
const LIFE = 10 * 60 * 1000

/** What the app is given as `launch`: it counts once. */
export async function makeLaunch({ grants, clock }: Ports, launch: Launch): Promise<string> {
  const token = unguessable()
  await grants.add('launch', fingerprintOf(token), { owner: '', value: launch, expires: clock.now() + LIFE })
  return token
}

/** undefined: it is unknown, another client's, or was used. */
export async function launchOf({ grants }: Pick<Ports, 'grants'>, token: string, client: string): Promise<Launch | undefined> {
  const launch = (await grants.get('launch', fingerprintOf(token)))?.value as Launch | undefined
  return launch?.client === client ? launch : undefined
}

/** Whether it was still to be used. */
export const useLaunch = ({ grants }: Pick<Ports, 'grants'>, token: string): Promise<boolean> =>
  grants.remove('launch', fingerprintOf(token))
