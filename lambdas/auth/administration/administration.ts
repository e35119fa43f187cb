/**
 * Operator commands for clients, users and keys. A change that reduces the rights of a client or user, or replaces its credentials, revokes
 * everything issued to it before. Requests with revoked tokens are rejected within seconds, because verifiers cache revocations for a short
 * time.
 */
import { type Client, type ClientAuthentication, type Clients, isClientId } from '../../ports/rows/clients.ts'
import type { Grants } from '../../ports/rows/grants.ts'
import type { RevocationKey, Revocations } from '../../ports/rows/revocations.ts'
import type { User, Users } from '../../ports/rows/users.ts'
import type { SigningKey, SigningKeys } from '../../ports/security/signing-keys.ts'
import { DEMO_CLIENT } from '../clients/demo-client.ts'
import { EXPLORER_ID } from '../clients/explorer-client.ts'
import { type ClientRegistration, toClient, toUser, type UserRegistration } from '../clients/registration.ts'
import { checkLaunch, type Launch, type LaunchCompletion, makeLaunch } from '../launch/launches.ts'
import type { Passwords } from '../login/passwords.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import { changeGeneration, revokePermanently } from '../tokens/credential-generations.ts'
import { maintainKeys, rotateSigningKeys } from '../tokens/key-rotation.ts'
import { MAX_TOKEN_LIFETIME_MS } from '../tokens/lifetimes.ts'
import { type AuditedChange, type AuditPorts, auditChange } from './audited-change.ts'

export type AdministrationPorts = AuditPorts & {
  readonly clients: Clients
  readonly users: Users
  readonly revocations: Revocations
  readonly passwords: Pick<Passwords, 'hash'>
  readonly keys: SigningKeys
  /** Waits `time` milliseconds. */
  readonly wait: (time: number) => Promise<unknown>
}

const SECOND = 1_000
/** Clients that the server provides until an operator removes them. */
const BUILT_IN: ReadonlySet<string> = new Set([DEMO_CLIENT.id, EXPLORER_ID])
/** How long the removal of a built-in client is retained, in milliseconds. Until then the server does not provide it again. */
const FOREVER = 1_000 * 365 * 24 * 60 * 60 * SECOND

/**
 * Result of a registration or rotation. `secret`: the new secret in plain text, which cannot be returned again: the store holds its
 * SHA-256.
 */
export type RegisteredClient = { readonly client: Client; readonly secret?: string }

/** Client to register. `authentication`: with `secret`, the registration creates a random secret. */
export type NewClient = Omit<ClientRegistration, 'authentication'> & { readonly authentication: ClientAuthentication | 'secret' }

/** Throws RangeError if the registration is invalid. Does not check whether the id is already registered. */
export function checkClient({ authentication, ...rest }: NewClient): void {
  toClient({ ...rest, authentication: authentication === 'secret' ? { kind: 'secret', hashes: [] } : authentication }, 0)
}

/** Registers a client. Throws RangeError if its id is already registered, or the registration is invalid. */
export async function addClient(ports: AdministrationPorts, request: NewClient): Promise<RegisteredClient> {
  const { clients, clock } = ports
  const { authentication, ...rest } = request
  const secret = authentication === 'secret' ? createRandomSecret() : undefined
  const kept = authentication === 'secret' ? { kind: 'secret' as const, hashes: [fingerprintOf(secret!)] } : authentication
  const client = { ...toClient({ ...rest, authentication: kept }, clock.now()), generation: clock.newId() }
  await auditChange(ports, { interaction: 'client add', client: client.id }, () =>
    clients.change(client.id, (known) => {
      if (known !== undefined) throw new RangeError(`There is a client ${client.id} already`)
      return client
    }),
  )
  return { client, ...(secret === undefined ? {} : { secret }) }
}

/**
 * Rotation of a client's credentials.
 * - `next`: adds a second secret. Both are valid until `end`.
 * - `now`: replaces all secrets by a new one.
 * - `end`: keeps only the newer of two secrets.
 * - An object replaces the keys of the client, or the URI of its keys.
 *
 * Every rotation except `next` revokes everything issued to the client. It cannot spare what was issued with the remaining secret, because
 * tokens do not record their secret.
 */
export type CredentialRotation = 'next' | 'now' | 'end' | Extract<ClientAuthentication, { readonly kind: 'keys' | 'uri' }>

/**
 * Rotates the credentials of a client. Throws RangeError if the client does not exist, or if the rotation is for another kind of
 * credentials. Throws RangeError too if `end` finds one secret, or `next` finds two: adding a third would end one that may be in use.
 */
export async function rotateClientCredentials(
  ports: AdministrationPorts,
  id: string,
  rotation: CredentialRotation,
): Promise<RegisteredClient> {
  const secret = rotation === 'next' || rotation === 'now' ? createRandomSecret() : undefined
  const changedAt = ports.clock.now()
  const next = (known: Client | undefined): Client => {
    if (known === undefined) throw noClient(id)
    return { ...known, authentication: rotated(known, rotation, secret), changedAt }
  }
  const client = await auditChange(ports, { interaction: 'client rotate', client: id }, async () => {
    if (rotation === 'next') return ports.clients.change(id, next)
    const changed = await changeGeneration(ports, ports.clients, id, next)
    if (changed === undefined) throw noClient(id)
    await refuseOlder(ports, `client:${id}`)
    return changed
  })
  return { client: client!, ...(secret === undefined ? {} : { secret }) }
}

function rotated({ id, authentication }: Client, rotation: CredentialRotation, secret: string | undefined): ClientAuthentication {
  if (typeof rotation === 'object') {
    if (authentication.kind === 'keys' || authentication.kind === 'uri') return rotation
    throw new RangeError(`The client ${id} has no keys: remove it and add it again`)
  }
  if (authentication.kind !== 'secret') throw new RangeError(`The client ${id} has no secret`)
  const { hashes } = authentication
  const hasTwo = hashes.length > 1
  if (rotation === 'end' && !hasTwo)
    throw new RangeError(`The client ${id} has one secret, and it is left as it is: rotate gives it a second one first`)
  if (rotation === 'next' && hasTwo)
    throw new RangeError(`The client ${id} has two secrets, and both are left as they are: end the first with --end, or both with --now`)
  if (rotation === 'end') return { kind: 'secret', hashes: hashes.slice(0, 1) }
  return { kind: 'secret', hashes: [fingerprintOf(secret!), ...(rotation === 'next' ? hashes : [])] }
}

/** Change of a registration. Absent fields stay as they are. `patient`: null removes the patient. */
export type ClientChange = Partial<Omit<ClientRegistration, 'id' | 'authentication' | 'patient'>> & { readonly patient?: string | null }

/** Result of a change. `isRevoked`: whether the change revoked everything issued to the client before. */
export type UpdatedClient = { readonly client: Client; readonly isRevoked: boolean }

/**
 * Changes the registration of a client. Revokes issued tokens only if they may exceed the new registration. Throws RangeError if the client
 * does not exist, or the new registration is invalid.
 */
export async function updateClient(ports: AdministrationPorts, id: string, change: ClientChange): Promise<UpdatedClient> {
  const changedAt = ports.clock.now()
  return auditChange(ports, { interaction: 'client update', client: id }, async () => {
    let isRevoked = false
    const widened = await ports.clients.change(id, (known) => {
      if (known === undefined) throw noClient(id)
      const next = updated(known, change, changedAt)
      // guard: narrowed-client-loses-tokens
      isRevoked = takesFrom(known, next)
      return isRevoked ? known : next
    })
    if (!isRevoked) return { client: widened!, isRevoked }
    const client = await changeGeneration(ports, ports.clients, id, (known) => updated(known, change, changedAt))
    if (client === undefined) throw noClient(id)
    await refuseOlder(ports, `client:${id}`)
    return { client, isRevoked }
  })
}

function updated({ patient: before, ...known }: Client, { patient = before, ...change }: ClientChange, changedAt: number): Client {
  const request = { ...known, ...change, ...(patient === undefined || patient === null ? {} : { patient }) }
  const { registeredAt: _, ...client } = toClient(request, changedAt)
  return { ...known, ...client }
}

/**
 * Whether issued tokens may exceed the new registration: a scope, tenant or redirect URI is removed, or the patient changes in any way. A
 * token without a patient may cover all patients.
 */
const takesFrom = (before: Client, after: Client): boolean =>
  before.patient !== after.patient ||
  (['scopes', 'tenants', 'redirectUris'] as const).some((field) => before[field].some((each) => !after[field].includes(each)))

/**
 * Removes a client, revokes everything issued to it and audits the removal. Throws RangeError if it does not exist, but revokes and audits in this
 * case too, so that a repeated call completes an interrupted removal. The explorer exists without a registration, so its removal always succeeds.
 */
export async function removeClient(ports: AdministrationPorts, id: string): Promise<void> {
  if (!isClientId(id)) throw noClient(id)
  let isThere = id === EXPLORER_ID
  await auditChange(ports, { interaction: 'client remove', client: id }, async () => {
    await changeGeneration(ports, ports.clients, id, () => {
      isThere = true
      return undefined
    })
    await refuseOlder(ports, `client:${id}`, BUILT_IN.has(id) ? FOREVER : MAX_TOKEN_LIFETIME_MS)
  })
  if (!isThere) throw noClient(id)
}

/** Registers a user with a password. Throws RangeError if the name is already registered, or the registration or password is invalid. */
export async function addUser(ports: AdministrationPorts, request: UserRegistration, password: string): Promise<User> {
  const { users, clock, passwords } = ports
  const kept = { subject: clock.newId(), generation: clock.newId(), password: '', changedAt: clock.now() }
  const { name } = toUser(request, kept)
  const user = toUser(request, { ...kept, password: await passwords.hash(password) })
  await auditChange(ports, { interaction: 'user add', user: name, subject: user.subject }, () =>
    users.change(name, (known) => {
      if (known !== undefined) throw new RangeError(`There is a user ${name} already`)
      return user
    }),
  )
  return user
}

/**
 * Changes the password of a user and revokes everything issued to the user. `typed`: name in any case. Throws RangeError for an unknown
 * user or an invalid password.
 */
export async function changePassword(ports: AdministrationPorts, typed: string, password: string): Promise<void> {
  const name = typed.toLowerCase()
  const before = await ports.users.get(name)
  if (before === undefined) throw noUser(name)
  const hash = await ports.passwords.hash(password)
  await auditChange(ports, { interaction: 'user password', user: name, subject: before.subject }, async () => {
    const changed = (known: User): User => ({ ...known, password: hash, changedAt: ports.clock.now() })
    const user = await changeGeneration(ports, ports.users, name, changed)
    if (user === undefined) throw noUser(name)
    await refuseOlder(ports, `user:${user.subject}`)
  })
}

/** Removes a user and revokes everything issued to it. `typed`: name in any case. Throws RangeError if the user does not exist. */
export async function removeUser(ports: AdministrationPorts, typed: string): Promise<void> {
  const name = typed.toLowerCase()
  const user = await ports.users.get(name)
  if (user === undefined) throw noUser(name)
  await auditChange(ports, { interaction: 'user remove', user: name, subject: user.subject }, async () => {
    // Revoke before the removal: a command that is interrupted in between can be repeated. The subject is never assigned again.
    await revokePermanently(ports, `user:${user.subject}`)
    await changeGeneration(ports, ports.users, name, () => undefined)
  })
}

type LaunchingPorts = AuditPorts & Pick<AdministrationPorts, 'clients' | 'users'> & { readonly grants: Grants }

/**
 * Stores a launch and returns the value that an app receives as `launch`. `complete`: checks the launch against stored data; by default
 * nothing is checked, and the login rejects an invalid launch. Throws RangeError as checkLaunch does.
 */
export async function addLaunch(
  ports: LaunchingPorts,
  said: Launch,
  complete: LaunchCompletion = async (launch) => launch,
): Promise<string> {
  const launch = await checkLaunch(ports, said, complete)
  return auditChange(ports, recordedOf(launch), () => makeLaunch(ports, launch))
}

const recordedOf = ({ registeredAt: _, banner: __, encounter, ...launch }: Launch): AuditedChange => ({
  ...{ interaction: 'launch', ...launch },
  ...(encounter === undefined ? {} : { key: `Encounter/${encounter}` }),
})

/**
 * Creates a signing key. `patience`: milliseconds until it replaces the others, see rotateSigningKeys. Also removes keys that no token
 * needs, because perhaps no server is running to do so.
 */
export const rotateKeys = (ports: AdministrationPorts, patience: number): Promise<SigningKey> =>
  auditChange(ports, { interaction: 'keys rotate' }, async () => {
    const made = await rotateSigningKeys(ports.keys, ports.clock.now(), patience)
    await maintainKeys(ports.keys, ports.clock.now())
    return made
  })

/**
 * Revokes what was issued until now without a credential generation, for example before generations existed. Resolves in the next second at
 * the earliest: tokens carry only the second of their issue, and those issued afterwards must stay valid.
 */
async function refuseOlder(
  { revocations, clock, wait }: AdministrationPorts,
  mark: RevocationKey,
  life = MAX_TOKEN_LIFETIME_MS,
): Promise<void> {
  const before = clock.now()
  await revocations.revoke({ mark, before, until: before + life })
  while (clock.now() < Math.floor(before / SECOND) * SECOND + SECOND) await wait(SECOND - (before % SECOND))
}

const noClient = (id: string): RangeError => new RangeError(`There is no client ${id}`)
const noUser = (name: string): RangeError => new RangeError(`There is no user ${name}`)
