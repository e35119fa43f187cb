/** A data folder whose server gets another base URL keeps its index, and every earlier base URL stays the server's own. */

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readConfig } from '../../lambdas/runtime/config.ts'
import { openEmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { observation, patient, type Tree } from '../fixtures/resources.ts'

const [FIRST, SECOND] = ['http://127.0.0.1:1111/fhir', 'http://127.0.0.1:2222/fhir']

/** A server on the folder under the base URL; `lines`: for its operator. */
async function served(dataFolder: string, baseUrl: string, settings: Record<string, string> = {}) {
  const lines: string[] = []
  const embedded = await openEmbeddedServer({
    ...{ config: readConfig({ FHIR_ACCESS: 'open', ...settings }), baseUrl, dataFolder },
    report: (error) => void lines.push(String(error)),
    warn: (line) => void lines.push(line),
  })
  runAtEnd(() => embedded.close())
  await new Promise<void>((resolve) => embedded.server.listen(0, '127.0.0.1', resolve))
  const base = `http://127.0.0.1:${(embedded.server.address() as AddressInfo).port}/fhir`
  const get = async (path: string): Promise<Tree> => (await fetch(`${base}${path}`)).json()
  const put = async (resource: Tree): Promise<void> => {
    const { resourceType, id } = resource
    const headers = { 'content-type': 'application/fhir+json' }
    const { status } = await fetch(`${base}/${resourceType}/${id}`, { method: 'PUT', headers, body: JSON.stringify(resource) })
    expect([200, 201]).toContain(status)
  }
  const ids = async (query: string): Promise<readonly string[]> =>
    ((await get(query)).entry ?? []).map(({ resource }: Tree) => resource.id).sort()
  const rebuilds = async (): Promise<readonly Tree[]> =>
    (await get('/$reindex-status')).parameter.filter(({ name }: Tree) => name === 'rebuild')
  const settled = () => eventually(rebuilds, { until: ({ length }) => length === 0, every: 10 })
  return { lines, put, ids, settled, close: () => embedded.close() }
}

const OBSERVATIONS = [
  observation('relative', { subject: 'Patient/p' }),
  observation('first', { subject: `${FIRST}/Patient/p` }),
  observation('second', { subject: `${SECOND}/Patient/p` }),
  observation('other', { subject: 'http://elsewhere.example/fhir/Patient/p' }),
]

async function filled(): Promise<string> {
  const folder = newFolder()
  const server = await served(folder, FIRST)
  for (const each of [patient('p'), ...OBSERVATIONS]) await server.put(each)
  expect(await server.ids('/Observation?subject=Patient/p')).toEqual(['first', 'relative'])
  await server.close()
  return folder
}

describe('A server with a changed base URL', () => {
  it('keeps its index, and finds references below the new base URL', async () => {
    const folder = await filled()
    const server = await served(folder, SECOND)
    await server.settled()
    const found = [await server.ids('/Observation?subject=Patient/p'), await server.ids(`/Observation?subject=${FIRST}/Patient/p`)]
    expect(found).toEqual([
      ['first', 'relative', 'second'],
      ['first', 'relative', 'second'],
    ])
    expect(await server.ids('/Observation?subject=http://elsewhere.example/fhir/Patient/p')).toEqual(['other'])
    expect(await server.ids('/Patient?_has:Observation:subject:_id=second')).toEqual(['p'])
    expect(server.lines).toEqual([])
    await server.close()
  })

  it('finds references below every base URL that it had', async () => {
    const folder = await filled()
    for (const base of [SECOND, FIRST]) {
      const server = await served(folder, base)
      await server.settled()
      expect(await server.ids('/Observation?subject=Patient/p')).toEqual(['first', 'relative', 'second'])
      await server.close()
    }
    expect(readFileSync(join(folder, 'base-urls'), 'utf8')).toBe(`${FIRST}\n${SECOND}\n`)
  })

  it('rebuilds its index if referential integrity is on, and reports it', async () => {
    const folder = newFolder()
    const settings = { FHIR_REFERENTIAL_INTEGRITY: 'on' }
    const first = await served(folder, FIRST, settings)
    await first.put(patient('p'))
    await first.put(OBSERVATIONS[0])
    expect(await first.ids('/Observation')).toEqual(['relative'])
    await first.close()
    const second = await served(folder, SECOND, settings)
    expect(await second.ids('/Observation?subject=Patient/p')).toEqual(['relative'])
    await eventually(async () => second.lines.at(-1), { until: (line) => line === 'The search index is complete' })
    expect(second.lines[0]).toBe(
      'The search index of 2 versions is rebuilt: a base URL is new. The previous index answers searches meanwhile',
    )
    await second.close()
  })

  it('rejects a file of base URLs with other content', async () => {
    const folder = await filled()
    writeFileSync(join(folder, 'base-urls'), 'no url\n')
    await expect(served(folder, FIRST)).rejects.toThrow('holds something other than base URLs')
  })
})

describe('A server without a usable index', () => {
  it('reports why it rebuilds the index, and when it is complete', async () => {
    const folder = await filled()
    rmSync(join(folder, 'index.db'))
    const server = await served(folder, FIRST)
    expect(await server.ids('/Observation?subject=Patient/p')).toEqual(['first', 'relative'])
    expect([server.lines[0], server.lines.at(-1)]).toEqual([
      'The search index of 5 versions is rebuilt: there is no index. Searches wait until it is complete',
      'The search index is complete',
    ])
    await server.close()
  })

  it('reports nothing if its store is empty, even after the first writes', async () => {
    const server = await served(newFolder(), FIRST)
    await server.put(patient('p'))
    expect(await server.ids('/Patient')).toEqual(['p'])
    expect(server.lines).toEqual([])
    await server.close()
  })
})
