/** What an operator does with clients and users, and what then no longer counts. */
import { describe, expect, it } from '@jest/globals'
import {
  type AdministrationPorts,
  addClient,
  addUser,
  changePassword,
  type NewClient,
  removeClient,
  removeUser,
  rotateClientCredentials,
  rotateKeys,
  updateClient,
} from '../../../lambdas/auth/administration/administration.ts'
import { DEMO_CLIENT, maintainDemoClient } from '../../../lambdas/auth/clients/demo-client.ts'
import { Passwords } from '../../../lambdas/auth/login/passwords.ts'
import { fingerprintOf } from '../../../lambdas/auth/random-secret.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import type { RevocationKey } from '../../../lambdas/ports/rows/revocations.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { MemoryClients, MemoryUsers } from '../../fixtures/memory/registered.ts'
import { MemoryRevocations } from '../../fixtures/memory/revocations.ts'
import { MemorySigningKeys } from '../../fixtures/memory/signing-keys.ts'

const T = Date.UTC(2026, 0, 1, 0, 0, 0, 400)
const DAY = 24 * 60 * 60 * 1000
const passwords = new Passwords({ N: 16, r: 8, p: 1 })
const app: NewClient = {
  ...{ id: 'app', name: 'App', scopes: ['system/*.rs'], redirectUris: [], tenants: ['*'], mayIntrospect: false, authentication: 'secret' },
}

function opened() {
  const time = { now: T }
  const records: AuditRecord[] = []
  const ports: AdministrationPorts & { readonly revocations: MemoryRevocations } = {
    ...{ clients: new MemoryClients(), users: new MemoryUsers(), revocations: new MemoryRevocations(() => time.now), passwords },
    keys: new MemorySigningKeys(),
    audit: { prepare: async () => undefined, record: async (entry) => void records.push(entry), close: async () => undefined },
    operator: 'carol',
    clock: { now: () => time.now, newId: () => crypto.randomUUID() },
    async wait(ms) {
      time.now += ms
    },
  }
  const hashes = async (): Promise<readonly string[]> => {
    const authentication = (await ports.clients.get('app'))?.authentication
    return authentication?.kind === 'secret' ? authentication.hashes : []
  }
  return { ports, time, hashes, records }
}

/** What was issued up to `T` is refused, what is issued once the change is done is not: tokens say seconds. */
async function expectRefused({ ports, time }: ReturnType<typeof opened>, mark: RevocationKey): Promise<void> {
  const before = (await ports.revocations.revoked([mark])).get(mark) ?? 0
  expect([before >= T, Math.floor(time.now / 1000) * 1000 > before]).toEqual([true, true])
  time.now += 92 * DAY
  expect((await ports.revocations.revoked([mark])).size).toBe(1)
}

describe('A client', () => {
  it('gets a random secret that is stored as a digest, and needs an unused id', async () => {
    const { ports, hashes } = opened()
    const { client, secret } = await addClient(ports, app)
    expect(Buffer.from(secret!, 'base64url')).toHaveLength(32)
    expect(await hashes()).toEqual([fingerprintOf(secret!)])
    expect([await ports.clients.get('app'), JSON.stringify(client).includes(secret!)]).toEqual([client, false])
    await expect(addClient(ports, app)).rejects.toThrow('There is a client app already')
    expect([await ports.clients.get('app'), ports.revocations.size]).toEqual([client, 0])
  })

  it('has no secret if it authenticates with keys or not at all', async () => {
    const { ports } = opened()
    const added = await addClient(ports, { ...app, authentication: { kind: 'public' } })
    expect(added.secret).toBeUndefined()
    await expect(rotateClientCredentials(ports, 'app', 'next')).rejects.toThrow('has no secret')
    await expect(rotateClientCredentials(ports, 'app', { kind: 'keys', keys: [] })).rejects.toThrow('has no keys')
  })

  it('has at most two secrets during a rotation, and always at least one', async () => {
    const { ports, hashes } = opened()
    const first = (await addClient(ports, app)).secret!
    const second = (await rotateClientCredentials(ports, 'app', 'next')).secret!
    expect([await hashes(), ports.revocations.size]).toEqual([[second, first].map(fingerprintOf), 0])
    await expect(rotateClientCredentials(ports, 'app', 'next')).rejects.toThrow('has two secrets, and both are left as they are')
    expect([await hashes(), ports.revocations.size]).toEqual([[second, first].map(fingerprintOf), 0])
    expect((await rotateClientCredentials(ports, 'app', 'end')).secret).toBeUndefined()
    expect(await hashes()).toEqual([fingerprintOf(second)])
    const ended = [ports.revocations.size, (await ports.clients.get('app'))?.generation]
    await expect(rotateClientCredentials(ports, 'app', 'end')).rejects.toThrow('has one secret, and it is left as it is')
    expect([ports.revocations.size, (await ports.clients.get('app'))?.generation]).toEqual(ended)
    expect(await hashes()).toEqual([fingerprintOf(second)])
  })

  it.each(['now', 'end'] as const)('loses its issued tokens when its secret is rotated with %s', async (rotation) => {
    const under = opened()
    await addClient(under.ports, app)
    await rotateClientCredentials(under.ports, 'app', 'next')
    const { secret } = await rotateClientCredentials(under.ports, 'app', rotation)
    expect(await under.hashes()).toHaveLength(1)
    if (rotation === 'now') expect(await under.hashes()).toEqual([fingerprintOf(secret!)])
    await expectRefused(under, 'client:app')
  })

  it('loses its issued tokens when its keys change', async () => {
    const under = opened()
    await addClient(under.ports, { ...app, authentication: { kind: 'uri', uri: 'https://app.example/jwks' } })
    await rotateClientCredentials(under.ports, 'app', { kind: 'keys', keys: [{ kid: 'a' }] })
    expect((await under.ports.clients.get('app'))?.authentication).toEqual({ kind: 'keys', keys: [{ kid: 'a' }] })
    await expectRefused(under, 'client:app')
  })

  it('loses its issued tokens when it is removed, even if it was removed before', async () => {
    const under = opened()
    await addClient(under.ports, app)
    await removeClient(under.ports, 'app')
    expect(await under.ports.clients.get('app')).toBeUndefined()
    await expectRefused(under, 'client:app')
    await expect(removeClient(under.ports, 'gone')).rejects.toThrow('There is no client gone')
    expect((await under.ports.revocations.revoked(['client:gone'])).size).toBe(1)
    await expect(rotateClientCredentials(under.ports, 'gone', 'next')).rejects.toThrow('There is no client gone')
  })
})

describe('A client that is updated', () => {
  const added = async (fields: Partial<NewClient> = {}) => {
    const under = opened()
    const registration = { scopes: ['system/*.rs'], redirectUris: ['https://a.example/'], tenants: ['a', 'b'] }
    const { client } = await addClient(under.ports, { ...app, ...registration, ...fields })
    under.time.now += 5_000
    return { ...under, client }
  }

  it('keeps its tokens and whatever is not given if nothing is taken from it', async () => {
    const { ports, time, client, records } = await added()
    const change = { name: 'Renamed', scopes: ['launch', 'system/*.rs'], tenants: ['b', 'a', 'c'], mayIntrospect: true }
    const updated = await updateClient(ports, 'app', change)
    expect(updated).toEqual({ client: { ...client, ...change, changedAt: time.now }, isRevoked: false })
    expect([await ports.clients.get('app'), ports.revocations.size]).toEqual([updated.client, 0])
    expect(records.at(-1)).toMatchObject({ interaction: 'client update', client: 'app', operator: 'carol', status: 200 })
  })

  it.each([{ scopes: ['system/Patient.rs'] }, { tenants: ['a'] }, { redirectUris: ['https://b.example/'] }])(
    'loses its issued tokens if something is taken from it: %j',
    async (change) => {
      const under = await added()
      const { client, isRevoked } = await updateClient(under.ports, 'app', change)
      expect([isRevoked, client.registeredAt, client.generation === under.client.generation]).toEqual([
        true,
        under.client.registeredAt,
        false,
      ])
      await expectRefused(under, 'client:app')
    },
  )

  it('loses its issued tokens if it gets a patient, another one, or none', async () => {
    const under = await added({ tenants: ['a'] })
    for (const [patient, after] of [
      ['p', 'Patient/p'],
      ['Patient/q', 'Patient/q'],
      [null, undefined],
    ] as const) {
      const { client, isRevoked } = await updateClient(under.ports, 'app', { patient })
      expect([client.patient, isRevoked, 'patient' in client]).toEqual([after, true, after !== undefined])
    }
    expect((await updateClient(under.ports, 'app', { patient: null })).isRevoked).toBe(false)
  })

  it('stays as it is if the change is refused', async () => {
    const { ports, client, records } = await added()
    const before = records.length
    await expect(updateClient(ports, 'app', { scopes: ['nonsense'] })).rejects.toThrow('is no scope of this server')
    await expect(updateClient(ports, 'app', { patient: 'p' })).rejects.toThrow('names another person in each tenant')
    await expect(updateClient(ports, 'gone', { name: 'Gone' })).rejects.toThrow('There is no client gone')
    expect([await ports.clients.get('app'), ports.revocations.size, records.length]).toEqual([client, 0, before])
  })
})

describe('The demo app', () => {
  it('exists on a server for this machine only, until the operator removes it for good', async () => {
    const { ports, time } = opened()
    const started = async (isOnThisMachine: boolean) => (await maintainDemoClient(ports, isOnThisMachine))?.name
    expect([await started(true), await started(false), await started(true)]).toEqual([DEMO_CLIENT.name, undefined, DEMO_CLIENT.name])
    await removeClient(ports, 'demo')
    expect([await started(true), await ports.clients.get('demo')]).toEqual([undefined, undefined])
    time.now += 10_000 * DAY
    await ports.revocations.sweep()
    expect(await started(true)).toBeUndefined()
    const { client } = await addClient(ports, { ...app, id: 'demo', name: 'Own' })
    expect([await started(true), await started(false), await ports.clients.get('demo')]).toEqual(['Own', 'Own', client])
  })
})

describe('A user', () => {
  const alice = { name: 'Alice', scopes: ['user/*.rs'], tenants: ['*'] }

  it('is added once, and its password is stored as a hash', async () => {
    const { ports } = opened()
    const user = await addUser(ports, alice, 'correct horse')
    expect([user.name, await ports.users.get('alice')]).toEqual(['alice', user])
    expect(await passwords.check('correct horse', user.password)).toBe(true)
    await expect(addUser(ports, alice, 'another horse')).rejects.toThrow('There is a user alice already')
    await expect(addUser(ports, { ...alice, name: 'bob' }, 'short')).rejects.toThrow('A password has 8')
    expect((await ports.users.list()).map(({ name }) => name)).toEqual(['alice'])
  })

  it('keeps its subject and loses its issued tokens when its password changes', async () => {
    const under = opened()
    const { subject } = await addUser(under.ports, alice, 'correct horse')
    await changePassword(under.ports, 'ALICE', 'another horse')
    const user = await under.ports.users.get('alice')
    expect([user?.subject, await passwords.check('another horse', user?.password)]).toEqual([subject, true])
    await expectRefused(under, `user:${subject}`)
    await expect(changePassword(under.ports, 'bob', 'another horse')).rejects.toThrow('There is no user bob')
  })

  it('loses its issued tokens when it is removed, and gets a new subject if added again', async () => {
    const under = opened()
    const { subject } = await addUser(under.ports, alice, 'correct horse')
    await removeUser(under.ports, 'Alice')
    expect(await under.ports.users.list()).toEqual([])
    expect((await under.ports.revocations.revoked([`user:${subject}`])).get(`user:${subject}`)).toBeGreaterThan(T + 91 * DAY)
    await expect(removeUser(under.ports, 'alice')).rejects.toThrow('There is no user alice')
    expect((await addUser(under.ports, alice, 'correct horse')).subject).not.toBe(subject)
  })
})

describe('Keys', () => {
  it('are removed by a rotation once no valid token needs them', async () => {
    const { ports, time } = opened()
    const first = await rotateKeys(ports, 0)
    const second = await rotateKeys(ports, 0)
    expect((await ports.keys.list()).map(({ key }) => key.kid).toSorted()).toEqual([first.key.kid, second.key.kid].toSorted())
    time.now += 3_660_000
    const third = await rotateKeys(ports, 0)
    expect((await ports.keys.list()).map(({ key }) => key.kid)).toEqual([second.key.kid, third.key.kid])
  })
})

describe('Each change', () => {
  const alice = { name: 'alice', scopes: ['user/*.rs'], tenants: ['*'] }

  it('is audited with its operator and without secrets; a rejected change is not', async () => {
    const { ports, records } = opened()
    const { secret } = await addClient(ports, app)
    await rotateClientCredentials(ports, 'app', 'next')
    await removeClient(ports, 'app')
    const { subject } = await addUser(ports, alice, 'correct horse')
    await changePassword(ports, 'alice', 'another horse')
    await removeUser(ports, 'alice')
    await rotateKeys(ports, 0)
    for (const failing of [() => addClient(ports, { ...app, id: '' }), () => removeClient(ports, 'a/b'), () => removeUser(ports, 'bob')])
      await expect(failing()).rejects.toThrow(RangeError)
    expect(records.map(({ interaction, client, user, subject }) => [interaction, client ?? user, subject])).toEqual([
      ['client add', 'app', undefined],
      ['client rotate', 'app', undefined],
      ['client remove', 'app', undefined],
      ['user add', 'alice', subject],
      ['user password', 'alice', subject],
      ['user remove', 'alice', subject],
      ['keys rotate', undefined, undefined],
    ])
    expect(new Set(records.map(({ operator, status, outcome }) => `${operator} ${status} ${outcome}`))).toEqual(new Set(['carol 200 done']))
    for (const hidden of [secret!, 'horse']) expect(JSON.stringify(records)).not.toContain(hidden)
  })

  it('is audited if it removes an unknown client, because it revokes tokens', async () => {
    const { ports, records } = opened()
    await expect(removeClient(ports, 'gone')).rejects.toThrow('There is no client gone')
    expect(records).toMatchObject([{ interaction: 'client remove', client: 'gone', status: 200, outcome: 'done' }])
  })

  it('is audited as failed if it breaks half-way', async () => {
    const { ports, records } = opened()
    await addClient(ports, app)
    const revocations = { ...ports.revocations, revoke: () => Promise.reject(new Error('down')) } as unknown as MemoryRevocations
    await expect(removeClient({ ...ports, revocations }, 'app')).rejects.toThrow('down')
    expect(records.at(-1)).toMatchObject({ interaction: 'client remove', client: 'app', status: 500, outcome: 'failed' })
  })

  it('is not made if it cannot be audited', async () => {
    const { ports } = opened()
    const full = { ...ports, audit: { ...ports.audit, prepare: () => Promise.reject(new MachineFault('not-recorded', 'full')) } }
    for (const change of [() => addClient(full, app), () => addUser(full, alice, 'correct horse'), () => rotateKeys(full, 0)])
      await expect(change()).rejects.toThrow(fault('not-recorded'))
    expect([await ports.clients.list(), await ports.users.list(), await ports.keys.list()]).toEqual([[], [], []])
  })
})
