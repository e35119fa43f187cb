/** After an upgrade a new extractor rebuilds the index: the old index answers meanwhile, and a kill at any moment leaves an index that answers. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { type RunningServer, startOpenServer } from '../bin/process.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf } from '../fixtures/long-runs.ts'
import { createPrintedRandom } from '../fixtures/seeded-random.ts'

const KILLS = caseCountOf(4, 40)
const PATIENTS = 2_000
/** Milliseconds: each kill has a start, and the machine may be busy. */
const MOST = 120_000 + KILLS * 15_000
/** Fixed, so that the settings are the same after each start. */
const BASE = 'http://127.0.0.1:1/fhir'
const headers = { 'content-type': 'application/fhir+json' }

const start = (data: string): Promise<RunningServer> => startOpenServer('--data', data, '--base-url', BASE)
const get = async ({ base }: RunningServer, path: string): Promise<Tree> => (await fetch(`${base}/${path}`)).json()
const count = async (server: RunningServer, query: string): Promise<number> => (await get(server, `Patient?${query}&_summary=count`)).total
const put = async ({ base }: RunningServer, id: string, family: string): Promise<void> => {
  const body = JSON.stringify({ resourceType: 'Patient', id, name: [{ family }] })
  expect((await fetch(`${base}/Patient/${id}`, { method: 'PUT', headers, body })).status).toBeLessThan(300)
}

/** Returns the types that are rebuilt; Resource: all. */
async function rebuilding(server: RunningServer): Promise<readonly string[]> {
  const { parameter } = await get(server, '$reindex-status')
  return parameter.filter(({ name }: Tree) => name === 'rebuild').map(({ part }: Tree) => part[0].valueCode)
}

const rebuilt = (server: RunningServer): Promise<unknown> =>
  eventually(() => rebuilding(server), { until: ({ length }) => length === 0, every: 10 })

async function filled(data: string): Promise<void> {
  const server = await start(data)
  const entry = Array.from({ length: PATIENTS }, (_, i) => ({
    resource: { resourceType: 'Patient', id: `${i}`, name: [{ family: `F${i % 2}` }] },
    request: { method: 'PUT', url: `Patient/${i}` },
  }))
  const body = JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry })
  expect((await fetch(server.base, { method: 'POST', headers, body })).status).toBe(200)
  await put(server, 'parameter-holder', 'F2')
  const parameter = {
    resourceType: 'SearchParameter', id: 'nick', url: 'http://example.org/nick', name: 'nick', status: 'active', description: 'x',
    code: 'nick', base: ['Patient'], type: 'string', expression: 'Patient.name.family',
  } // biome-ignore format: one resource
  expect((await fetch(`${server.base}/SearchParameter/nick`, { method: 'PUT', headers, body: JSON.stringify(parameter) })).status).toBe(201)
  await rebuilt(server)
  await server.stop()
}

/** Changes the index as if another extractor, which reads F0 as F9, had made it. */
function madeByAnother(data: string): void {
  const db = new DatabaseSync(join(data, 'index.db'))
  db.exec("UPDATE about SET value = 'another' WHERE name = 'maker'; UPDATE posting SET value = 'f9' WHERE value = 'f0'")
  db.close()
}

describe('An upgraded extractor', () => {
  it(
    `rebuilds the index behind the old one, which answers meanwhile, through ${KILLS} kills`,
    async () => {
      const data = newFolder()
      await filled(data)
      madeByAnother(data)
      const random = createPrintedRandom('kills of a server that makes its index again')
      for (let kill = 0; kill < KILLS; kill++) {
        const server = await start(data)
        await put(server, `new${kill}`, 'F0')
        const [found, old, nick] = [await count(server, 'family=f0'), await count(server, 'family=f9'), await count(server, 'nick=f1')]
        expect([
          [kill + 1, 1_000],
          [1_001 + kill, 0],
        ]).toContainEqual([found, old])
        expect(nick).toBe(1_000)
        for (let left = random.below(100); left > 0; left--) await rebuilding(server)
        await server.stop('SIGKILL')
      }
      const server = await start(data)
      await rebuilt(server)
      expect(await count(server, 'family=f0')).toBe(1_000 + KILLS)
      expect(await count(server, 'family=f9')).toBe(0)
      expect(await count(server, 'nick=f0')).toBe(1_000 + KILLS)
      expect(readdirSync(data).filter((name) => name.includes('.next'))).toEqual([])
      await server.stop()
    },
    MOST,
  )
})
