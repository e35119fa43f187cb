/** Authorization of the embedded deployment: its stored state, the authenticator, and the endpoints of the authorization server. */
import { ADMIN_SCOPE } from '../../access/scopes.ts'
import { jwksCache } from '../../access/verification/jwks-cache.ts'
import { FilesystemSigningKeys } from '../../adapters/filesystem/signing-keys.ts'
import { mayFetch } from '../../adapters/https/private-hosts.ts'
import { UnusableFileError } from '../../adapters/sqlite-file/open-file.ts'
import { type OpenedGrants, openGrants } from '../../adapters/sqlite-grants/open-grants.ts'
import { addLaunch } from '../../auth/administration/administration.ts'
import { maintainDemoClient } from '../../auth/clients/demo-client.ts'
import { withExplorerClient } from '../../auth/clients/explorer-client.ts'
import type { AuthPorts, Endpoint } from '../../auth/endpoint.ts'
import { endpoints } from '../../auth/endpoints/endpoints.ts'
import { type SweepParts, sweepAuthorizationState } from '../../auth/grants/grant-sweep.ts'
import { launchCompletion } from '../../auth/launch/launches.ts'
import { passwordCheck } from '../../auth/login/password-check.ts'
import { Passwords } from '../../auth/login/passwords.ts'
import { filterServedTenants, TENANCY_OFF_TEXT } from '../../auth/tenant-intersection.ts'
import { createAccessToken } from '../../auth/tokens/access-token.ts'
import { maintainKeys } from '../../auth/tokens/key-rotation.ts'
import { MAX_ACCESS_TOKEN_SECONDS } from '../../auth/tokens/lifetimes.ts'
import type { AuthEndpointCode } from '../../catalogue/catalogue.ts'
import { openAuthenticator, tokenAuthenticator } from '../../http/authenticators.ts'
import type { Authenticator } from '../../http/steps/authenticate.ts'
import { LOOPBACK_HOST } from '../../http/steps/check-host.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { AuditLog } from '../../ports/security/audit-log.ts'
import type { FetchDocument } from '../../ports/security/fetch-document.ts'
import type { SigningKeys } from '../../ports/security/signing-keys.ts'
import { verifierOf } from '../authorization/token-verifier.ts'
import type { Config } from '../config.ts'
import { GRANTS_FILE, SIGNING_KEYS_FOLDER } from '../control/administration.ts'
import type { AccessTokenRequest, LaunchRequest } from '../control/authorization-types.ts'
import { isEmpty } from '../control/lost-files.ts'

export type AuthorizationParts = {
  readonly config: Config
  /** Base URL of the server, without a trailing slash. */
  readonly baseUrl: string
  /** Returns the path of a file in the data folder. */
  readonly path: (name: string) => string
  readonly clock: Clock & SweepParts['clock']
  readonly fetchDocument: FetchDocument
  readonly audit: AuditLog
  readonly seal: AuthPorts['seal']
  readonly patients: AuthPorts['patients']
  readonly patientsOf: AuthPorts['patientsOf']
  readonly isDecidable: AuthPorts['isDecidable']
  readonly mayReadPatient: AuthPorts['mayReadPatient']
  readonly partnerMembers: AuthPorts['partnerMembers']
  readonly report: (error: unknown) => void
  /** Receives one-line warnings for the operator. */
  readonly warn: (line: string) => void
}

export type Authorization = {
  readonly authenticator: Authenticator
  /** Registered clients. With open access it finds none. */
  readonly clients: AuthPorts['clients']
  /** Rows of the authorization server. With open access the server has no such rows, and their methods throw. */
  readonly grants: Pick<Grants, 'get' | 'add' | 'replace' | 'remove'>
  /** All endpoints of the authorization server. With open access there are none. */
  readonly endpoints: Readonly<Record<AuthEndpointCode, Endpoint>> | Readonly<Record<string, never>>
  /**
   * Issues an access token for an hour to an operator, who can read the data folder anyway. Throws an Error with open access, or if the
   * server does not serve the tenant.
   */
  readonly issue: (asked: AccessTokenRequest) => Promise<string>
  /**
   * Creates a launch and returns the value of the app's `launch` parameter. Throws a RangeError if the launch is invalid, and an Error with
   * open access.
   */
  readonly launch: (launched: LaunchRequest) => Promise<string>
  /** Whether a user is registered who can log in. With open access it is false. */
  readonly hasUsers: () => Promise<boolean>
  readonly close: () => Promise<void>
}

const HOUR = 60 * 60 * 1000

/** Opens the authorization of a data folder. If that fails, closes everything that it opened. */
export async function openAuthorization(parts: AuthorizationParts): Promise<Authorization> {
  if (parts.config.access === 'open') return OPEN
  await using opened = new AsyncDisposableStack()
  const { clock, path, report } = parts
  const keys = new FilesystemSigningKeys(path(SIGNING_KEYS_FOLDER))
  // Remove the keys before the grants file exists again. If the process ends in between, the next start removes them.
  if (isEmpty(path(GRANTS_FILE))) await keeping(path, forgetTokens(parts, keys))
  const stores = opening(path(GRANTS_FILE), (file) => openGrants(file, () => clock.now()))
  opened.defer(() => stores.close())
  // The clock has not been compared with the store yet, so remove no expired key.
  await keeping(path, maintainKeys(keys, clock.now(), false))
  await maintainDemoClient(stores, LOOPBACK_HOST.test(new URL(parts.baseUrl).hostname))
  const sweeping = setInterval(() => void sweepAuthorizationState({ ...stores, keys, clock }).catch(report), HOUR).unref()
  opened.defer(() => clearInterval(sweeping))
  const ports = portsOf(parts, stores, keys)
  const { verify } = verifierOf(parts.config, parts.baseUrl, { ...parts, keys, revocations: stores.revocations, revocationLag: 0 })
  const all = opened.move()
  return {
    authenticator: tokenAuthenticator(verify),
    ...{ clients: stores.clients, grants: stores.grants },
    endpoints: endpoints(ports),
    issue: (asked) => issue(ports, parts, asked),
    launch: ({ launch, operator }) => addLaunch({ ...stores, clock, audit: parts.audit, operator }, launch, launchCompletion(ports)),
    hasUsers: async () => (await stores.users.list()).length > 0,
    close: () => all.disposeAsync(),
  }
}

/** Removes all signing keys after the loss of the grants file. The revocations were lost with it, so no issued token may stay valid. */
async function forgetTokens({ path, warn }: AuthorizationParts, keys: SigningKeys): Promise<void> {
  const known = await keys.list()
  for (const { key } of known) await keys.remove(key.kid)
  if (known.length > 0)
    warn(`${path(GRANTS_FILE)} was lost: no token counts that was issued before, and clients and users are to be added again`)
}

const keeping = <T>(path: AuthorizationParts['path'], work: Promise<T>): Promise<T> =>
  work.catch((error: Error) => {
    throw new Error(`${path(SIGNING_KEYS_FOLDER)} cannot be read or written (${error.message})`, { cause: error })
  })

function opening<Opened>(file: string, open: (file: string) => Opened): Opened {
  try {
    return open(file)
  } catch (error) {
    if (error instanceof UnusableFileError) throw error
    throw new Error(`${file} cannot be opened (${(error as Error).message})`, { cause: error })
  }
}

const refuseOpen = () => Promise.reject(new Error('The server needs no tokens: it was started with --open'))

const OPEN: Authorization = {
  authenticator: openAuthenticator,
  clients: { get: async () => undefined },
  grants: { get: refuseOpen, add: refuseOpen, replace: refuseOpen, remove: refuseOpen },
  endpoints: {},
  issue: () => refuseOpen(),
  launch: () => refuseOpen(),
  hasUsers: async () => false,
  close: async () => undefined,
}

function portsOf(
  {
    clock,
    config,
    baseUrl,
    fetchDocument,
    patients,
    patientsOf,
    isDecidable,
    mayReadPatient,
    partnerMembers,
    report,
    seal,
  }: AuthorizationParts,
  stores: OpenedGrants,
  keys: SigningKeys,
): AuthPorts {
  return {
    ...stores,
    clients: withExplorerClient(stores.clients, stores.revocations, baseUrl),
    registrations: stores.clients,
    keys,
    clock,
    seal,
    choices: config,
    keySource: jwksCache({ fetchDocument, clock, report }),
    mayFetchKeys: (uri) => mayFetch(uri, config.privateHosts),
    checkPassword: passwordCheck({ users: stores.users, passwords: new Passwords() }),
    patients,
    patientsOf,
    isDecidable,
    mayReadPatient,
    partnerMembers,
  }
}

/** Client of the tokens that an operator requests by command. No other client can have this id, because registered ids contain no colon. */
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

async function issue(ports: AuthPorts, { audit, baseUrl }: AuthorizationParts, asked: AccessTokenRequest): Promise<string> {
  const { isAdministrator, tenant = '*', operator } = asked
  if (filterServedTenants(ports.choices, [tenant]).length === 0) throw new Error(`There is no tenant ${tenant}: ${TENANCY_OFF_TEXT}`)
  const scopes = ['system/*.cruds', ...(isAdministrator ? [ADMIN_SCOPE] : [])]
  const at = ports.clock.now()
  await audit.prepare(at, 'token')
  const { token } = await createAccessToken(ports, {
    client: OPERATOR,
    by: 'assertion',
    baseUrl,
    subject: OPERATOR.id,
    sid: ports.clock.newId(),
    scopes,
    tenants: [tenant],
    acr: '1',
    about: { clientId: OPERATOR.id },
    life: MAX_ACCESS_TOKEN_SECONDS,
  })
  const by = operator === undefined ? {} : { operator }
  const who = { tenant: tenant === '*' ? '' : tenant, client: OPERATOR.id, scopes: scopes.join(' '), ...by }
  await audit.record({ at, requestId: ports.clock.newId(), ...who, interaction: 'token', status: 200, duration: ports.clock.now() - at })
  return token
}
