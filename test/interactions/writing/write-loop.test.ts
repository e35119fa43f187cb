/** A write that finds its resource by search, when that resource changes before it is read. */
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import type { EntryRequest } from '../../../lambdas/interactions/bundle/entry.ts'
import { EntryResponses } from '../../../lambdas/interactions/bundle/entry-responses.ts'
import { transaction } from '../../../lambdas/interactions/bundle/transaction.ts'
import type { FhirRequest, Interaction } from '../../../lambdas/interactions/interaction.ts'
import { create } from '../../../lambdas/interactions/rest/create.ts'
import { deleteResource } from '../../../lambdas/interactions/rest/delete.ts'
import { patch } from '../../../lambdas/interactions/rest/patch.ts'
import { update } from '../../../lambdas/interactions/rest/update.ts'
import type { WritePorts } from '../../../lambdas/interactions/writing/write-loop.ts'
import type { ResourceKey, ResourceVersion, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { patient } from '../../fixtures/resources.ts'

/** Patient/p is at version 2; the first search still finds version 1, or another one, and every later one nothing. */
function movedOnWorld({ id, version } = { id: 'p', version: 1 }) {
  const committed: string[] = []
  let searches = 0
  const head: ResourceVersion = {
    ...{
      tenant: 'default',
      type: 'Patient',
      id: 'p',
      versionId: 2,
      lastUpdated: 1,
      deleted: false,
      compartments: [],
    },
    body: Buffer.from(JSON.stringify(patient('p', { identifier: [{ value: 'another' }] }))),
  }
  let attempts = 0
  const index = {
    find: async () => ({ hits: searches++ === 0 ? [{ type: 'Patient', id, version, position: [] }] : [], more: false }),
  }
  const ports = {
    latest: () => {
      attempts++
      return index
    },
    resources: () => ({ versions: async (keys: readonly ResourceKey[]) => keys.map(() => undefined) }),
    heads: async (keys: readonly ResourceKey[]) => keys.map(({ id }) => (id === 'p' ? head : undefined)),
    writer: {
      async commit(writes: readonly Write[]) {
        committed.push(...writes.map(({ type, id }) => `${type}/${id}`))
        return { kind: 'committed' }
      },
    },
    clock: { now: () => 5, newId: () => 'new' },
    profiled: () => [],
    choices: { clientIds: 'required', conditionalUpdateIdMismatch: 'accept', noOpUpdates: 'version' },
  } as unknown as WritePorts
  return { ports, committed, searches: () => searches, attempts: () => attempts }
}

const requestOf = (interaction: FhirRequest['interaction'], more: object): FhirRequest =>
  ({
    ...{ interaction, tenant: 'default', access: WHOLE_ACCESS, type: 'Patient', parameters: [['identifier', 'x']], posted: false },
    ...{ preconditions: {}, preferences: {}, baseUrl: 'http://a.example', reading: { baseUrl: 'http://a.example' } },
    ...more,
  }) as unknown as FhirRequest

const REQUESTS: readonly (readonly [(ports: WritePorts) => Interaction, FhirRequest])[] = [
  [update, requestOf('update', { resource: { resourceType: 'Patient' } })],
  [patch, requestOf('patch', { patch: [{ op: 'add', path: '/active', value: true }] })],
  [deleteResource, requestOf('delete', {})],
]
/** What is done when nothing matches. */
const INSTEAD = { update: ['Patient/new'], patch: [], delete: [] } as Readonly<Record<string, readonly string[]>>
const entry: EntryRequest = { index: 0, method: 'PUT', url: 'Patient?identifier=x', headers: {} }

describe('a conditional write', () => {
  it.each(REQUESTS.map(([interaction, request]) => [request.interaction, interaction, request] as const))(
    'does not change a resource that no longer matches (%s)',
    async (code, interaction, request) => {
      const { ports, committed, searches, attempts } = movedOnWorld()
      await interaction(ports)(request).catch((error) => expect(error.status).toBe(404))
      expect([searches(), attempts(), committed]).toEqual([2, 2, INSTEAD[code]])
    },
  )
  it.each(REQUESTS.map(([, request]) => [request.interaction, request] as const))(
    'does not change a resource that no longer matches (%s in a transaction)',
    async (code, request) => {
      const { ports, committed, searches, attempts } = movedOnWorld()
      const run = transaction(ports, { prepare: async () => request, run: async () => ({ status: 200 }) })
      await run([entry], request, new EntryResponses(request, ports.clock)).catch((error) => expect(error.status).toBe(404))
      expect([searches(), attempts(), committed]).toEqual([2, 2, INSTEAD[code]])
    },
  )
})

describe('a conditional write with a match that the restored store lacks', () => {
  const creating = requestOf('create', {
    parameters: [],
    preconditions: { ifNoneExist: 'identifier=x' },
    resource: { resourceType: 'Patient', id: 'new' },
  })
  const all = [...REQUESTS, [create, creating] as const]
  const found = [
    { id: 'p', version: 5 },
    { id: 'gone', version: 1 },
  ]
  it.each(all.flatMap(([interaction, request]) => found.map((hit) => [request.interaction, hit, interaction, request] as const)))(
    'writes nothing, and does not search again (%s, %j)',
    async (_, hit, interaction, request) => {
      const { ports, committed, searches } = movedOnWorld(hit)
      await expect(interaction(ports)(request)).rejects.toMatchObject({ fault: 'index-ahead' })
      expect([searches(), committed]).toEqual([1, []])
    },
  )
})

describe('a write with a late timestamp', () => {
  const world = (late: number) => {
    const stamps: number[] = []
    let now = 0
    const commit = async (writes: readonly Write[]) => {
      stamps.push(...writes.map(({ lastUpdated }) => lastUpdated))
      return { kind: stamps.length <= late ? 'late' : 'committed' }
    }
    const { ports } = movedOnWorld()
    return { ports: { ...ports, clock: { now: () => ++now, newId: () => 'new' }, writer: { commit } } as unknown as WritePorts, stamps }
  }
  const request = requestOf('update', { parameters: [], id: 'new', resource: { resourceType: 'Patient', id: 'new' } })

  it('gets a new timestamp, alone', async () => {
    const { ports, stamps } = world(2)
    expect(await update(ports)(request)).toMatchObject({ status: 201 })
    expect(stamps).toEqual([1, 2, 3])
  })

  it('gets a new timestamp, in a transaction', async () => {
    const { ports, stamps } = world(1)
    const run = transaction(ports, { prepare: async () => request, run: async () => ({ status: 200 }) })
    await run([{ ...entry, url: 'Patient/new' }], request, new EntryResponses(request, ports.clock))
    expect(stamps).toHaveLength(2)
    expect(stamps[1]).toBeGreaterThan(stamps[0]!)
  })
})
