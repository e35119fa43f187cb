/** Load of each partition key of the state table while thirty exports run, in seconds of a simulated clock. */
import { createHash } from 'node:crypto'
import { expect, it } from '@jest/globals'
import { DynamoDbRows } from '../../../lambdas/adapters/dynamodb/rows/rows.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { CHECKPOINT_INTERVAL_MS, storeCheckpoint } from '../../../lambdas/export/job/checkpoint.ts'
import { JOB_ROWS, type Job, segmentRowsOf } from '../../../lambdas/export/job/job.ts'
import { resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import { JobWatch } from '../../../lambdas/export/job/job-watch.ts'
import { progressOf } from '../../../lambdas/export/job/progress.ts'
import { NO_WRITTEN_FILES, type Segment, type WrittenPart } from '../../../lambdas/export/plan/segment.ts'
import { MAX_SEGMENTS } from '../../../lambdas/export/plan/segment-packing.ts'
import { MAX_WRITERS } from '../../../lambdas/export/workflow.ts'
import { FileUpload } from '../../../lambdas/export/write/multipart-uploads.ts'
import type { BlobStore } from '../../../lambdas/ports/blobs/blob-store.ts'
import { DEFAULT_MIX } from '../../../lib/model/load.ts'
import { modelOf } from '../../../lib/model/model.ts'
import { type KeyUse, observedClient } from '../../fixtures/dynamodb/capacity.ts'
import { countedTable } from '../../fixtures/dynamodb/counted-table.ts'
import { aboveBars, LIMITS } from '../../fixtures/dynamodb/key-load.ts'
import { jobOf } from '../../fixtures/exporting.ts'

const JOBS = 30
const SECONDS = 60
/** A writer fills a part of 8 MiB with Observations, of which it exports 2,000 per second. */
const PART_SECONDS = 5
const POLL_SECONDS = 30

const { settings } = modelOf({ resources: 1e9, writes: 10_000, reads: 5_000, searches: 500, mix: DEFAULT_MIX })
const executions = settings.concurrency!['export-step']!
/** Parts of a segment of two million Observations. */
const PARTS = 200

const tagOf = (n: number): string => `"${createHash('md5').update(String(n)).digest('hex')}"`
const partsOf = (count: number): readonly WrittenPart[] =>
  Array.from({ length: count }, (_, n) => ({ n, tag: tagOf(n), count: 10_512, size: 8_388_608 + n }))

const blobs = { openParts: async () => ({ id: 'upload', writePart: async (n: number) => tagOf(n) }) } as unknown as BlobStore

it('No key of the state table has more than 700 write or 2,000 read units while 30 exports run', async () => {
  let second = 0
  const uses = new Map<string, number>()
  const client = observedClient(countedTable(), ({ kind, of, key, units }: KeyUse) => {
    const name = `${kind} ${of} ${key} ${second}`
    uses.set(name, (uses.get(name) ?? 0) + units)
  })
  const rows = new DynamoDbRows(new TableClient(client, 'state', LIMITS))
  const parts = { rows, blobs, now: () => second * 1_000, elapsed: () => second * 1_000 }
  const jobs = Array.from({ length: JOBS }, (_, i): Job => ({ ...jobOf(0, { id: `j${i}`, level: 'system' }), plan: 'p', total: 1e9 }))
  for (const job of jobs) await rows.change<Job>(JOB_ROWS, job.id, () => job)
  const written = { files: { Observation: { parts: partsOf(PARTS), count: 2e6, size: 1.6e9 } }, tails: [] }
  const segment: Segment = { revision: 0, pieces: [], at: 0, seen: 0, isDone: true, written, met: [] }
  for (let i = 0; i < MAX_SEGMENTS; i++) await rows.change<Segment>(segmentRowsOf('j0'), `p-${i}`, () => segment)
  uses.clear()
  // The first job has as many writers as a job may have, the other jobs share the rest.
  const writers = Array.from({ length: executions }, (_, i) => {
    const job = jobs[i < MAX_WRITERS ? 0 : 1 + (i % (JOBS - 1))]!
    const upload = new FileUpload(parts, job.id, 'Observation')
    return { job, name: `p-${i}`, upload, watch: new JobWatch(parts, job), row: { ...segment, written: NO_WRITTEN_FILES } }
  })
  for (const { job, name, row } of writers) await rows.change<Segment>(segmentRowsOf(job.id), name, () => row)
  for (second = 1; second <= SECONDS; second++) {
    if (second === 1) await resumeJobs(parts, { start: async () => {}, stop: async () => {}, isRunning: async () => true })
    if (second % POLL_SECONDS === 0) await progressOf(rows, jobs[0]!)
    for (const [i, writer] of writers.entries()) {
      expect(await writer.watch.isWanted()).toBe(true)
      if ((second + i) % PART_SECONDS === 0) await writer.upload.write(new Uint8Array(1), 1)
      if (second % (CHECKPOINT_INTERVAL_MS / 1_000) !== 0) continue
      // All writers began in the same second, so they store their checkpoints together.
      writer.row = (await storeCheckpoint<Segment>(rows, [segmentRowsOf(writer.job.id), writer.name], writer.row, { written }))!
    }
  }
  const heaviest = new Map<string, number>()
  for (const [name, units] of uses) {
    const key = name.slice(0, name.lastIndexOf(' '))
    heaviest.set(key, Math.max(units, heaviest.get(key) ?? 0))
  }
  // The limits prove nothing if the meter misses a key.
  const keys = ['read table exports', 'read table exports/j0/segments', 'write table exports/j0/segments', 'write table exports/j0/files']
  for (const key of keys) expect(heaviest.get(key)).toBeGreaterThan(0)
  expect(aboveBars(heaviest)).toEqual([])
})
