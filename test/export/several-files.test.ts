/** Types whose lines do not fit into one file. Three writers leave parts of 6 MB and tails of the rest, and a file may have 12.5 MB. */
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { FilesystemBlobStore } from '../../lambdas/adapters/filesystem/blob-store.ts'
import { S3BlobStore } from '../../lambdas/adapters/s3/blob-store.ts'
import { removeJobData } from '../../lambdas/export/job/file-removal.ts'
import { fileKeyOf, fileRowsOf, type Job, segmentRowsOf } from '../../lambdas/export/job/job.ts'
import { resumeJobs } from '../../lambdas/export/job/job-sweep.ts'
import { manifestOf } from '../../lambdas/export/job/manifest.ts'
import { storeJobScope } from '../../lambdas/export/plan/job-scope.ts'
import { NO_WRITTEN_FILES, type Segment, type WrittenFiles } from '../../lambdas/export/plan/segment.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { FileWriter } from '../../lambdas/export/write/file-writer.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { type ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { caseStepOf, firstSeed } from '../fixtures/long-runs.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { createBucketOn } from '../fixtures/s3-engine.ts'
import { exportPartsOf, kickOff, readFileLines, readJob } from './export-run.ts'
import { Machine, type StepFault } from './machine.ts'

const MB = 1_000_000
const MAX = 12.5 * MB
const WRITERS = 3
/** Distance between two calls at which a finish step breaks. */
const STEP = caseStepOf(4, 1)
const LINES = 9
/** With so many lines of each writer, the last file takes the tails, and would take them twice. */
const FEW_LINES = 7
const lineOf = (writer: number, i: number): string => `${writer}-${i}-`.padEnd(MB - 1, 'x')
const linesOf = (lines: number): readonly string[] =>
  Array.from({ length: WRITERS * lines }, (_, n) => lineOf(Math.floor(n / lines), n % lines))

/** Rows of an earlier version of the server: their parts have neither counts nor sizes. */
const withoutCounts = ({ files, tails }: WrittenFiles): WrittenFiles => ({
  tails,
  files: Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, { ...file, parts: file.parts.map(({ n, tag }) => ({ n, tag })) as never }]),
  ),
})

type Options = { readonly lines?: number; readonly maxFileBytes?: number; readonly isOld?: (writer: number) => boolean }

/** Returns a job whose writers are done. */
async function writeLines(types: readonly string[], options: Options = {}) {
  const blobs = new MemoryBlobs()
  return { ...(await writeLinesTo(blobs, types, options)), blobs }
}

async function writeLinesTo(
  blobs: BlobStore,
  types: readonly string[],
  { lines = LINES, maxFileBytes = MAX, isOld = () => false }: Options = {},
) {
  const stores = { rows: new MemoryRows(), blobs, index: {} as ExportWorld['index'], resources: {} as ExportWorld['store'] }
  const parts = exportPartsOf(stores, { maxFileBytes })
  const job: Job = { ...jobOf(5, { level: 'system', asked: { since: 1 } }), plan: 'p' }
  await kickOff(parts, job)
  await storeJobScope(parts, job, 'p', { added: [], filters: {}, told: [] })
  for (let each = 0; each < WRITERS; each++) {
    const writer = new FileWriter(parts, job, NO_WRITTEN_FILES)
    const keep = async (written: WrittenFiles): Promise<boolean> => {
      const segment = { isDone: true, written: isOld(each) ? withoutCounts(written) : written } as Segment
      await parts.rows.change<Segment>(segmentRowsOf(job.id), `p-${each}`, () => segment)
      return true
    }
    for (let i = 0; i < lines; i++) {
      for (const type of types) writer.add(type, Buffer.from(lineOf(each, i)))
      if (i === 5 || i === lines - 1) await writer.checkpoint(keep)
    }
  }
  return { parts, job }
}

const finish = (parts: ExportParts, { attempt }: Pick<Job, 'attempt'>) => exportStep(parts)({ action: 'finish', job: 'j', attempt })

type Site = { readonly parts: ExportParts; readonly blobs: MemoryBlobs }

/** `counts`: lines of each file. The finish step may use other numbers for the tails than an earlier one that broke. */
async function expectWhole({ parts, blobs }: Site, counts: readonly number[], lines = LINES): Promise<void> {
  const job = await readJob(parts, 'j')
  expect(job.state).toBe('complete')
  const name = expect.stringMatching(/^Observation(?:-\d)?$/)
  expect(job.files).toEqual(counts.map((count) => ({ name, kind: 'output', type: 'Observation', count, size: count * MB })))
  const { Observation = [] } = await readFileLines(blobs, job)
  expect(Observation.toSorted().join() === linesOf(lines).join()).toBe(true)
  const uploads = [...blobs.uploads.values()]
  expect([uploads.filter(({ isOpen }) => isOpen), uploads.flatMap(({ again }) => again)]).toEqual([[], []])
}

describe('A type that does not fit into one file', () => {
  it('has several, each with its own count and an entry of the manifest', async () => {
    const site = await writeLines(['Observation'])
    await finish(site.parts, site.job)
    await expectWhole(site, [12, 6, 9])
    const job = await readJob(site.parts, 'j')
    const urls = new Map(job.files!.map(({ name }) => [name, fileKeyOf('j', name)]))
    expect(manifestOf(job, urls).output).toEqual([
      { type: 'Observation', url: 'exports/j/files/Observation.ndjson', count: 12 },
      { type: 'Observation', url: 'exports/j/files/Observation-2.ndjson', count: 6 },
      { type: 'Observation', url: 'exports/j/files/Observation-3.ndjson', count: 9 },
    ])
  })

  it('has one file up to the maximum size', async () => {
    const { parts, job } = await writeLines(['Observation'], { maxFileBytes: WRITERS * LINES * MB })
    await finish(parts, job)
    expect((await readJob(parts, 'j')).files).toMatchObject([{ name: 'Observation', count: 27, size: 27 * MB }])
  })

  it('has the same counts if an earlier version of the server wrote the parts of its first file', async () => {
    const site = await writeLines(['Observation'], { isOld: (writer) => writer < 2 })
    await finish(site.parts, site.job)
    await expectWhole(site, [12, 6, 9])
  })

  it('has several files of deletions', async () => {
    const { parts, job } = await writeLines(['deleted'])
    await finish(parts, job)
    const { files } = await readJob(parts, 'j')
    expect(files!.map(({ name, kind, type }) => [name, kind, type])).toEqual([
      ['deleted', 'deleted', 'Bundle'],
      ['deleted-2', 'deleted', 'Bundle'],
      ['deleted-3', 'deleted', 'Bundle'],
    ])
  })

  it('leaves no part and no upload if its job is removed', async () => {
    const { parts, blobs } = await writeLines(['Observation'])
    expect([...blobs.uploads.values()].filter(({ isOpen }) => isOpen).map(({ key }) => key)).toEqual([
      fileKeyOf('j', 'Observation'),
      fileKeyOf('j', 'Observation-2'),
    ])
    await removeJobData(parts, 'j')
    expect([...blobs.uploads.values()].filter(({ isOpen }) => isOpen)).toEqual([])
    expect(await keysOf(blobs.list('exports/'))).toEqual([])
    expect(await keysOf(parts.rows.list(fileRowsOf('j')))).toEqual([])
  })

  it.each<StepFault>(['dies before', 'dies after'])('is complete if its finish %s at any call', async (fault) => {
    for (let call = 1 + (firstSeed() % STEP); ; call += STEP) {
      const site = await writeLines(['Observation'], { lines: FEW_LINES })
      const machine = new Machine(fault, call, async () => {})
      const isBroken = await finish(machine.parts(site.parts), site.job).then(
        () => false,
        () => true,
      )
      if (!isBroken && machine.calls < call) return
      for (let tries = 0; (await readJob(site.parts, 'j')).state === 'in-progress'; tries++) {
        expect(tries).toBeLessThan(2)
        await resumeJobs(site.parts, { start: async () => {}, stop: async () => {}, isRunning: async () => false })
        await finish(site.parts, await readJob(site.parts, 'j'))
      }
      await finish(site.parts, await readJob(site.parts, 'j'))
      await expectWhole(site, [12, 9], FEW_LINES)
    }
  })

  it('is complete if an overtaken finish continues at any call', async () => {
    for (let call = 1 + (firstSeed() % STEP); ; call += STEP) {
      const site = await writeLines(['Observation'], { lines: FEW_LINES })
      const machine = new Machine('hangs', call, async () => {})
      const late = finish(machine.parts(site.parts), site.job).catch(() => undefined)
      await Promise.race([machine.reached, late])
      if (machine.calls < call) return
      await resumeJobs(site.parts, { start: async () => {}, stop: async () => {}, isRunning: async () => false })
      await finish(site.parts, await readJob(site.parts, 'j'))
      machine.goOn()
      await late
      await finish(site.parts, await readJob(site.parts, 'j'))
      await expectWhole(site, [12, 9], FEW_LINES)
    }
  })
})

const endpoint = process.env.S3_ENDPOINT
if (endpoint === undefined) process.stderr.write('Files of an export are not written to S3: S3_ENDPOINT is not set, see test/README.md\n')

describe('Several files of a type', () => {
  async function expectOn(blobs: BlobStore): Promise<void> {
    const { parts, job } = await writeLinesTo(blobs, ['Observation'])
    await finish(parts, job)
    const done = await readJob(parts, 'j')
    expect(done.files).toMatchObject([{ count: 12 }, { count: 6 }, { count: 9 }])
    const { Observation = [] } = await readFileLines(blobs, done)
    expect(Observation.toSorted().join() === linesOf(LINES).join()).toBe(true)
    expect(await keysOf(blobs.unfinished('exports/'))).toEqual([])
  }

  it('are complete on a disk', () => expectOn(new FilesystemBlobStore(join(newFolder(), 'blobs'))))

  const itOnS3 = endpoint === undefined ? it.skip : it
  itOnS3('are complete on S3', async () => {
    const bucket = await createBucketOn(endpoint!)
    await expectOn(new S3BlobStore(bucket.client, bucket.name))
    await bucket.close()
  })
})

async function keysOf(items: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const all: unknown[] = []
  for await (const each of items) all.push(each)
  return all
}
