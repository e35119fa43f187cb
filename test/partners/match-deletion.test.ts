/** Deletion of the Groups and Consents of matches, 30 days after the period of the Group ended. */
import { describe, expect, it } from '@jest/globals'
import { deleteEndedMatches } from '../../lambdas/interactions/operations/match-deletion.ts'
import { MATCH_ROWS } from '../../lambdas/interactions/operations/match-rows.ts'
import { type MatchStorePorts, matchStore } from '../../lambdas/interactions/operations/match-store.ts'
import type { ResourceWriter } from '../../lambdas/ports/store/resource-store.ts'
import { type SettingsServer, withSettings } from '../api/settings-tried/setting-server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { ExportWorld, TEST_SEARCH_CONTEXT } from '../fixtures/exporting.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import type { Tree } from '../fixtures/resources.ts'
import { instantAt } from '../fixtures/versions.ts'
import { ANN, match, membersBundle, PAYER_SETTINGS, partnerOf } from './payer-exchange.ts'

const DAY = 24 * 60 * 60 * 1_000
/** A time before all others. */
const START = instantAt(0)

const groupOf = (id: string, days: number): Tree => ({
  ...{ resourceType: 'Group', id, type: 'person', actual: true },
  characteristic: [
    {
      ...{ code: { text: 'match' }, exclude: false, valueReference: { identifier: { value: 'partner' } } },
      period: { start: new Date(START).toISOString(), end: new Date(START + days * DAY).toISOString() },
    },
  ],
})

const consentOf = (id: string): Tree => ({ resourceType: 'Consent', id, status: 'active', patient: { reference: 'Patient/ann' } })

const unexpected = () => Promise.reject(new Error('not asked'))

/** Returns a server that stores matches, with a clock that the test sets. `failing`: ids of resources that no commit stores. */
async function openServer(failing: ReadonlySet<string> = new Set()) {
  const { store, save } = await ExportWorld.open().then((world) => ({ store: world.store, save: world.save.bind(world) }))
  const rows = new MemoryRows()
  let now = START
  const commit = async (writes: Parameters<ResourceWriter['commit']>[0]) => {
    if (writes.some(({ id }) => failing.has(id))) throw new Error('the machine failed')
    return store.commit(writes, [])
  }
  const ports: MatchStorePorts = {
    ...{ rows, expressions: EXPRESSIONS, profiled: () => [], clock: { now: () => now, newId: () => 'new' }, writer: { commit } },
    ...{ progress: { status: unexpected, parameters: unexpected }, heads: (keys) => store.heads(keys) },
  }
  const readingOf = async () => TEST_SEARCH_CONTEXT
  const match = (group: Tree, ...consents: readonly string[]) =>
    matchStore(ports, readingOf)(
      { id: group.id, tenant: 't', client: 'payer', baseUrl: 'https://payer.example/fhir' },
      { group: group as never, consents: consents.map(consentOf) as never },
    )
  /** Deletes the matches that are due this number of days after the start. */
  const deleteAfter = async (days: number, budget = DAY) => {
    now = START + days * DAY
    await deleteEndedMatches(ports, readingOf, budget)
  }
  /** Returns which of the resources are current, as `Group/a`. */
  const currentOf = async (...names: readonly string[]) => {
    const heads = await store.current(names.map((name) => ({ tenant: 't', type: name.split('/')[0]!, id: name.split('/')[1]! })))
    return names.filter((_, i) => heads[i]?.deleted === false)
  }
  const rowCount = async () => {
    let count = 0
    for await (const _ of rows.list(MATCH_ROWS)) count++
    return count
  }
  return { match, save, deleteAfter, currentOf, rowCount }
}

describe('a match', () => {
  it('is deleted 30 days after the period of its Group, with its Consents and rows', async () => {
    const { match, deleteAfter, currentOf, rowCount } = await openServer()
    await match(groupOf('a', 10), 'x', 'y')
    await deleteAfter(39)
    expect(await currentOf('Group/a', 'Consent/x', 'Consent/y')).toHaveLength(3)
    await deleteAfter(41)
    expect([await currentOf('Group/a', 'Consent/x', 'Consent/y'), await rowCount()]).toEqual([[], 0])
  })

  it('leaves a Consent that a later match stored too, until that match is deleted', async () => {
    const { match, deleteAfter, currentOf, rowCount } = await openServer()
    await match(groupOf('a', 10), 'x', 'y')
    await match(groupOf('b', 20), 'x')
    await deleteAfter(45)
    expect(await currentOf('Group/a', 'Group/b', 'Consent/x', 'Consent/y')).toEqual(['Group/b', 'Consent/x'])
    await deleteAfter(51)
    expect([await currentOf('Group/b', 'Consent/x'), await rowCount()]).toEqual([[], 0])
  })

  it('stays while the payer prolongs the period of its Group', async () => {
    const { match, save, deleteAfter, currentOf, rowCount } = await openServer()
    await match(groupOf('a', 10), 'x')
    await save(1, groupOf('a', 100))
    await deleteAfter(41)
    expect(await currentOf('Group/a', 'Consent/x')).toHaveLength(2)
    await deleteAfter(131)
    expect([await currentOf('Group/a', 'Consent/x'), await rowCount()]).toEqual([[], 0])
  })

  it('leaves no Consent if it failed before its Group was stored', async () => {
    const { match, deleteAfter, currentOf, rowCount } = await openServer(new Set(['a']))
    await expect(match(groupOf('a', 10), 'x')).rejects.toThrow('the machine failed')
    expect(await currentOf('Consent/x')).toHaveLength(1)
    await deleteAfter(41)
    expect([await currentOf('Consent/x'), await rowCount()]).toEqual([[], 0])
  })

  it('stores its Group after all of its Consents, which several commits store', async () => {
    const consents = Array.from({ length: 150 }, (_, i) => `c${i}`)
    const names = ['Group/a', ...consents.map((id) => `Consent/${id}`)]
    const whole = await openServer()
    await whole.match(groupOf('a', 10), ...consents)
    expect(await whole.currentOf(...names)).toEqual(names)
    const { match, deleteAfter, currentOf, rowCount } = await openServer(new Set(['c30']))
    await expect(match(groupOf('a', 10), ...consents)).rejects.toThrow('the machine failed')
    expect(await currentOf('Consent/c0', 'Consent/c30', 'Group/a')).toEqual(['Consent/c0'])
    await deleteAfter(41)
    expect([await currentOf(...names), await rowCount()]).toEqual([[], 0])
  })

  it('is deleted even if the deletion of another one fails, which stays due', async () => {
    const failing = new Set<string>()
    const { match, deleteAfter, currentOf } = await openServer(failing)
    await match(groupOf('a', 10))
    await match(groupOf('b', 10))
    failing.add('a')
    await expect(deleteAfter(41)).rejects.toThrow('the machine failed')
    expect(await currentOf('Group/a', 'Group/b')).toEqual(['Group/a'])
    failing.clear()
    await deleteAfter(41)
    expect(await currentOf('Group/a')).toEqual([])
  })

  it('is deleted with more Consents than one row names', async () => {
    const { match, deleteAfter, currentOf, rowCount } = await openServer()
    const consents = Array.from({ length: 1_001 }, (_, i) => `x${i}`)
    await match(groupOf('a', 10), ...consents)
    expect(await rowCount()).toBe(2)
    await deleteAfter(41)
    expect([await currentOf('Group/a', ...consents.map((id) => `Consent/${id}`)), await rowCount()]).toEqual([[], 0])
  })
})

describe('a match at the embedded server', () => {
  it('is deleted as a new version when the server sweeps', async () => {
    const folder = newFolder()
    const at = (days: number, proof: (server: SettingsServer) => Promise<void>) =>
      withSettings({ ...PAYER_SETTINGS, FHIR_PAYER_GROUP_DAYS: '1' }, proof, { folder, ahead: days * DAY })
    const paths: string[] = []
    await at(0, async (server) => {
      expect((await server.post('/', membersBundle())).status).toBe(200)
      expect((await match(await partnerOf(server), ANN)).status).toBe(200)
      for (const type of ['Group', 'Consent']) {
        const { body } = await server.get(`/${type}`)
        paths.push(...body.entry.map(({ resource }: Tree) => `/${type}/${resource.id}`))
      }
    })
    expect(paths).toHaveLength(2)
    const statusesOf = (server: SettingsServer) => Promise.all(paths.map(async (path) => (await server.get(path)).status))
    await at(20, async (server) => {
      expect(await statusesOf(server)).toEqual([200, 200])
      // Without it the clock would be too far from the newest version to sweep.
      expect((await server.put('/Patient/new', { resourceType: 'Patient', id: 'new' })).status).toBe(201)
    })
    await at(40, async (server) => {
      await eventually(() => statusesOf(server), { until: (statuses) => statuses.every((status) => status === 404), every: 20 })
      const { entry } = (await server.get(`${paths[0]}/_history`)).body
      expect(entry.map(({ request }: Tree) => request.method)).toEqual(['DELETE', 'POST'])
    })
  })
})
