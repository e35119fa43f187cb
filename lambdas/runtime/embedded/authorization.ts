/** Authorization of the embedded home: what it keeps, who is let in, and the endpoints of the authorization server. */
import { ADMIN } from '../../access/scopes.ts'
import { fetchedKeys } from '../../access/verification/jwks-cache.ts'
import { FilesystemSigningKeys } from '../../adapters/filesystem/signing-keys.ts'
import { NotOurFile } from '../../adapters/sqlite-file/open-file.ts'
import { type OpenedGrants, openGrants } from '../../adapters/sqlite-grants/open-grants.ts'
import { launchFrom } from '../../auth/administration/administration.ts'
import { tendDemo } from '../../auth/clients/demo-client.ts'
import type { AuthPorts } from '../../auth/endpoint.ts'
import { endpoints } from '../../auth/endpoints/endpoints.ts'
import { type SweptParts, sweep } from '../../auth/grants/grant-sweep.ts'
import { completing } from '../../auth/launch/launches.ts'
import { passwordCheck } from '../../auth/login/password-check.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import { keptTenants, NO_TENANTS } from '../../auth/tenant-intersection.ts'
import { accessToken } from '../../auth/tokens/access-token.ts'
import { tendKeys } from '../../auth/tokens/key-rotation.ts'
import { LONGEST_ACCESS } from '../../auth/tokens/lifetimes.ts'
import { byToken, openToAll } from '../../http/authenticators.ts'
import type { Authenticator } from '../../http/steps/authenticate.ts'
import { LOOPBACK } from '../../http/steps/check-host.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { AuditLog } from '../../ports/security/audit-log.ts'
import type { FetchDocument } from '../../ports/security/fetch-document.ts'
import type { SigningKeys } from '../../ports/security/signing-keys.ts'
import { verifierOf } from '../authorization/token-verifier.ts'
import type { Config } from '../config.ts'
import { GRANTS, SIGNING_KEYS } from '../control/administration.ts'
import type { Asked, Launched } from '../control/authorization-types.ts'
import { isEmpty } from '../control/lost-files.ts'

export type AuthorizationParts = {
  readonly config: Config
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** Of a file of the data folder. */
  readonly path: (name: string) => string
  readonly clock: Clock & SweptParts['clock']
  readonly fetchDocument: FetchDocument
  readonly audit: AuditLog
  readonly seal: AuthPorts['seal']
  readonly patients: AuthPorts['patients']
  readonly patientsOf: AuthPorts['patientsOf']
  readonly isDecidable: AuthPorts['isDecidable']
  readonly report: (error: unknown) => void
  /** Told what the person who starts the server should know, in one line. */
  readonly warn: (line: string) => void
}

export type Authorization = {
  readonly authenticator: Authenticator
  /** Registered clients. None if clients do not authenticate. */
  readonly clients: AuthPorts['clients']
  /** None where nobody is asked who they are. */
  readonly endpoints: Partial<ReturnType<typeof endpoints>>
  /** An access token for who may read the data folder anyway, good for an hour. Error where nobody is asked for one. */
  readonly issue: (asked: Asked) => Promise<string>
  /** What an app is given as `launch`. RangeError where it cannot be made; Error where nobody is asked who they are. */
  readonly launch: (launched: Launched) => Promise<string>
  readonly close: () => Promise<void>
}

const HOUR = 60 * 60 * 1000

/** Where it fails, nothing stays open. */
export async function openAuthorization(parts: AuthorizationParts): Promise<Authorization> {
  if (parts.config.access === 'open') return OPEN
  await using opened = new AsyncDisposableStack()
  const { clock, path, report } = parts
  const keys = new FilesystemSigningKeys(path(SIGNING_KEYS))
  // Before there is a file again: a start that is killed leaves it to the next.
  if (isEmpty(path(GRANTS))) await keeping(path, forgetTokens(parts, keys))
  const stores = opening(path(GRANTS), (file) => openGrants(file, () => clock.now()))
  opened.defer(() => stores.close())
  // The clock was compared with nothing yet.
  await keeping(path, tendKeys(keys, clock.now(), false))
  await tendDemo(stores, LOOPBACK.test(new URL(parts.baseUrl).hostname))
  const sweeping = setInterval(() => void sweep({ ...stores, keys, clock }).catch(report), HOUR).unref()
  opened.defer(() => clearInterval(sweeping))
  const ports = portsOf(parts, stores, keys)
  const { verify } = verifierOf(parts.config, parts.baseUrl, { ...parts, keys, revocations: stores.revocations, revocationLag: 0 })
  const all = opened.move()
  return {
    authenticator: byToken(verify),
    clients: stores.clients,
    endpoints: endpoints(ports),
    issue: (asked) => issue(ports, parts, asked),
    launch: ({ launch, operator }) => launchFrom({ ...stores, clock, audit: parts.audit, operator }, launch, completing(ports)),
    close: () => all.disposeAsync(),
  }
}

/** What was revoked stands in the file that was lost: only new keys tell what was issued since. */
async function forgetTokens({ path, warn }: AuthorizationParts, keys: SigningKeys): Promise<void> {
  const known = await keys.list()
  for (const { key } of known) await keys.remove(key.kid)
  if (known.length > 0)
    warn(`${path(GRANTS)} was lost: no token counts that was issued before, and clients and users are to be added again`)
}

const keeping = <T>(path: AuthorizationParts['path'], work: Promise<T>): Promise<T> =>
  work.catch((error: Error) => {
    throw new Error(`${path(SIGNING_KEYS)} cannot be read or written (${error.message})`, { cause: error })
  })

function opening<Opened>(file: string, open: (file: string) => Opened): Opened {
  try {
    return open(file)
  } catch (error) {
    if (error instanceof NotOurFile) throw error
    throw new Error(`${file} cannot be opened (${(error as Error).message})`, { cause: error })
  }
}

const refuseOpen = () => Promise.reject(new Error('The server asks nobody for a token: it was started with --open'))

const OPEN: Authorization = {
  authenticator: openToAll,
  clients: { get: async () => undefined },
  endpoints: {},
  issue: () => refuseOpen(),
  launch: () => refuseOpen(),
  close: async () => undefined,
}

function portsOf(
  { clock, config, fetchDocument, patients, patientsOf, isDecidable, report, seal }: AuthorizationParts,
  stores: OpenedGrants,
  keys: SigningKeys,
): AuthPorts {
  return {
    ...stores,
    keys,
    clock,
    seal,
    choices: config,
    keySource: fetchedKeys({ fetchDocument, clock, report }),
    checkPassword: passwordCheck({ users: stores.users, passwords: new Passwords() }),
    patients,
    patientsOf,
    isDecidable,
  }
}

/** Who asks by the socket. Nobody can register it: no client has a colon in its id. */
const OPERATOR: Client = {
  id: 'fhir:token',
  name: 'fhir token',
  authentication: { kind: 'public' },
  scopes: [],
  redirectUris: [],
  tenants: [],
  mayIntrospect: false,
  changedAt: 0,
}

async function issue(ports: AuthPorts, { audit, baseUrl }: AuthorizationParts, asked: Asked): Promise<string> {
  const { isAdministrator, tenant = '*', operator } = asked
  if (keptTenants(ports.choices, [tenant]).length === 0) throw new Error(`There is no tenant ${tenant}: ${NO_TENANTS}`)
  const scopes = ['system/*.cruds', ...(isAdministrator ? [ADMIN] : [])]
  const at = ports.clock.now()
  await audit.prepare(at, 'token')
  const { token } = await accessToken(ports, {
    client: OPERATOR,
    by: 'assertion',
    baseUrl,
    subject: OPERATOR.id,
    sid: ports.clock.newId(),
    scopes,
    tenants: [tenant],
    acr: '1',
    about: { clientId: OPERATOR.id },
    life: LONGEST_ACCESS,
  })
  const by = operator === undefined ? {} : { operator }
  const who = { tenant: tenant === '*' ? '' : tenant, client: OPERATOR.id, scopes: scopes.join(' '), ...by }
  await audit.record({ at, requestId: ports.clock.newId(), ...who, interaction: 'token', status: 200, duration: ports.clock.now() - at })
  return token
}
