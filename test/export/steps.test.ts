/** Exports of a store into files, step by step. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import type { ExportParts } from '../../lambdas/export/steps.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryKeptRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient } from '../fixtures/resources.ts'
import { at } from '../fixtures/versions.ts'
import { jobNow, kickOff, linesOfFiles, partsOf, run } from './exported.ts'

const world = await ExportWorld.open()
const parts = partsOf({
  rows: new MemoryKeptRows(),
  blobs: new FilesystemBlobStore(join(newFolder(), 'blobs')),
  resources: world.store,
  index: world.index,
})

const idsOf = (lines: readonly string[] = []): readonly string[] => lines.map((line) => JSON.parse(line).id).toSorted()

describe('An export of everything', () => {
  it('has each resource as of its time, one to a line, by type', async () => {
    await world.save(1, patient('a', { family: 'Abt' }), patient('b'), observation('o', { subject: 'Patient/a' }))
    await world.save(2, patient('a', { family: 'Bonn' }))
    await world.save(9, patient('late'))
    await world.save(9, patient('a', { family: 'Celan' }))
    await kickOff(parts, jobOf(5, { id: 'all', level: 'system' }))
    await run(parts, { id: 'all', attempt: 1 })
    const job = await jobNow(parts, 'all')
    expect(job).toMatchObject({
      state: 'complete',
      files: [
        { name: 'Observation', count: 1 },
        { name: 'Patient', count: 2 },
      ],
    })
    const lines = await linesOfFiles(parts.blobs, job)
    expect(idsOf(lines.Patient)).toEqual(['a', 'b'])
    expect(lines.Patient!.find((line) => line.includes('Bonn'))).toBeDefined()
    expect(at(5)).toBe(job.transactionTime)
  })

  it('ends where the store has no page of a type that nobody ever wrote', async () => {
    const { store } = world
    const resources: ExportParts['resources'] = {
      current: (...asked) => store.current(...asked),
      versions: (...asked) => store.versions(...asked),
      history: (...asked) => store.history(...asked),
      extent: (...asked) => store.extent(...asked),
      settled: (...asked) => store.settled(...asked),
      async *scan(request) {
        if (['Observation', 'Patient'].includes(request.type)) yield* store.scan(request)
      },
    }
    await kickOff(parts, jobOf(5, { id: 'pageless', level: 'system' }))
    await run({ ...parts, resources }, { id: 'pageless', attempt: 1 })
    expect((await jobNow(parts, 'pageless')).files?.map(({ name, count }) => [name, count])).toEqual([
      ['Observation', 1],
      ['Patient', 2],
    ])
  })
})
