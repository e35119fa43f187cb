/** A server that is killed under load loses no acknowledged write and splits no transaction, and its index matches its store. */
import { describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { createPrintedRandom } from '../fixtures/seeded-random.ts'
import { fetchJson, startOpenServer } from './process.ts'

const ROUNDS = caseCountOf(3, 30)
const ENTRIES = 25

const headers = { 'content-type': 'application/fhir+json' }

describe('SIGKILL under load', () => {
  it(`loses no acknowledged write, splits no transaction, and leaves searches exact: ${ROUNDS} times`, async () => {
    const data = newFolder()
    /** Patient id → highest acknowledged multipleBirthInteger. */
    const updates = new Map<string, number>()
    /** Group of resources that one transaction writes → highest acknowledged round. */
    const groups = new Map<string, number>()
    let [round, acknowledged] = [0, 0]
    const random = createPrintedRandom('kills of a server under load')
    const update = async (base: string, id: string): Promise<void> => {
      const n = ++round
      const { status } = await fetch(`${base}/Patient/${id}`, {
        method: 'PUT',
        headers,
        body: JSON.stringify({ resourceType: 'Patient', id, multipleBirthInteger: n, name: [{ family: `n${n}` }] }),
      })
      if (status >= 300) return
      acknowledged++
      updates.set(id, n)
    }
    const transact = async (base: string, group: string): Promise<void> => {
      const n = ++round
      const entry = Array.from({ length: ENTRIES }, (_, i) => ({
        resource: {
          resourceType: 'Basic',
          id: `${group}-${i}`,
          code: { text: 'x' },
          identifier: [
            { system: 'urn:round', value: String(n) },
            { system: 'urn:group', value: group },
          ],
        },
        request: { method: 'PUT', url: `Basic/${group}-${i}` },
      }))
      const { status } = await fetch(base, {
        method: 'POST',
        headers,
        body: JSON.stringify({ resourceType: 'Bundle', type: 'transaction', entry }),
      })
      if (status !== 200) return
      acknowledged++
      groups.set(group, n)
    }
    for (let kill = 0; kill < ROUNDS; kill++) {
      const server = await startOpenServer('--data', data)
      let running = true
      const client = async (work: () => Promise<void>): Promise<void> => {
        while (running) await work().catch(() => undefined)
      }
      const clients = [0, 1, 2, 3].map((c) =>
        client(() => (c % 2 === 0 ? update(server.base, `p${c}-${round % 40}`) : transact(server.base, `g${c}`))),
      )
      const enough = acknowledged + 8 + random.below(60)
      await eventually(() => acknowledged >= enough)
      await server.stop('SIGKILL')
      running = false
      await Promise.all(clients)
      await check(data, updates, groups)
    }
    expect(updates.size).toBeGreaterThan(5)
    expect(groups.size).toBe(2)
  }, 300_000)
})

async function check(data: string, updates: ReadonlyMap<string, number>, groups: ReadonlyMap<string, number>): Promise<void> {
  const server = await startOpenServer('--data', data)
  const { base } = server
  for (const [id, n] of updates) {
    const patient = await fetchJson(`${base}/Patient/${id}`)
    expect([id, patient.multipleBirthInteger >= n]).toEqual([id, true])
    const found = await fetchJson(`${base}/Patient?family:exact=n${patient.multipleBirthInteger}`)
    expect(found.entry.map(({ resource }: Tree) => resource.id)).toEqual([id])
    const versions = (await fetchJson(`${base}/Patient/${id}/_history?_count=1000`)).entry.map(({ resource }: Tree) =>
      Number(resource.meta.versionId),
    )
    expect(versions).toEqual(versions.map((_: number, i: number) => versions.length - i))
  }
  for (const [group, n] of groups) {
    const there = (await fetchJson(`${base}/Basic?identifier=urn:group|${group}&_count=1000`)).entry.map(({ resource }: Tree) => resource)
    expect(there).toHaveLength(ENTRIES)
    const rounds = new Set<number>(there.map(({ identifier }: Tree) => Number(identifier[0].value)))
    expect(rounds.size).toBe(1)
    expect([...rounds][0]).toBeGreaterThanOrEqual(n)
    expect((await fetchJson(`${base}/Basic?identifier=urn:round|${[...rounds][0]}&_summary=count`)).total).toBe(ENTRIES)
    for (const { id, identifier } of there) expect((await fetchJson(`${base}/Basic/${id}`)).identifier).toEqual(identifier)
  }
  await server.stop()
}
