/**
 * Finishes the files of a job: what was too little for parts is joined into the last ones, each file is completed, and the job with them.
 * May be repeated after a crash anywhere: a file that is there with its size is finished.
 */
import { outcome } from '../fhir/outcome.ts'
import { blobOf, blobsOf, type Job, type JobFile, rangesOf, segmentsOf } from './job.ts'
import { changeJob, completed } from './jobs.ts'
import { narrowedOf } from './narrowed.ts'
import { removePassing } from './remove-files.ts'
import type { Segment, Tail, WrittenFile } from './segment.ts'
import type { ExportParts } from './steps.ts'
import { NDJSON, partSize, SMALLEST_PART, Upload } from './uploads.ts'

/** `rest`: what is in tails. */
type Whole = WrittenFile & { readonly name: string; readonly rest: readonly Rest[] }
type Rest = { readonly key: string; readonly range: readonly [from: number, to: number] }

export async function finish(parts: ExportParts, job: Job): Promise<void> {
  const there = await sizesOf(parts, job)
  const files = await wholesOf(parts, job)
  for (const file of files) if (there.get(blobOf(job.id, file.name)) !== file.size) await completeFile(parts, job, file)
  const errors = await writeErrors(parts, job)
  const all = [...files.map(fileOf), ...errors].sort((a, b) => (a.name < b.name ? -1 : 1))
  const ended = await changeJob(parts.rows, job.id, completed(job.attempt, all, parts.now()))
  // Not before: another attempt may still need it.
  if (ended?.state === 'complete') await removePassing(parts, job.id)
}

const fileOf = ({ name, count, size }: Whole): JobFile =>
  name === 'deleted' ? { name, kind: 'deleted', type: 'Bundle', count, size } : { name, kind: 'output', type: name, count, size }

async function sizesOf({ blobs }: ExportParts, { id }: Job): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { key, size } of blobs.list(`${blobsOf(id)}files/`)) sizes.set(key, size)
  return sizes
}

/** Each file, as all checkpoints together have it. */
async function wholesOf({ rows }: ExportParts, { id, plan }: Job): Promise<readonly Whole[]> {
  const files = new Map<string, Whole>()
  for (const shelf of [segmentsOf(id), rangesOf(id)])
    for await (const { name, value } of rows.list<Pick<Segment, 'isDone' | 'written'>>(shelf)) {
      if (shelf === segmentsOf(id) && !name.startsWith(`${plan}-`)) continue
      if (!value.isDone) throw new Error('An export is not written yet')
      for (const [file, own] of Object.entries(value.written.files))
        files.set(file, joined(files.get(file), { ...own, name: file, rest: restOf(file, value.written.tails) }))
    }
  return [...files.values()].filter(({ count }) => count > 0)
}

const restOf = (file: string, tails: readonly Tail[]): readonly Rest[] =>
  tails.flatMap(({ key, of }) => (of[file] === undefined ? [] : [{ key, range: of[file] }]))

const joined = (a: Whole | undefined, b: Whole): Whole =>
  a === undefined
    ? b
    : { name: b.name, parts: [...a.parts, ...b.parts], rest: [...a.rest, ...b.rest], count: a.count + b.count, size: a.size + b.size }

/** The parts that were written, then the rest in parts of its own: the last of them may be small. */
async function completeFile(parts: ExportParts, job: Job, { name, parts: written, rest, size }: Whole): Promise<void> {
  const upload = new Upload(parts, job.id, name)
  const all = [...written]
  let [held, bytes]: [Uint8Array[], number] = [[], 0]
  for (const { key, range } of rest) {
    const blob = await parts.blobs.get(key, range)
    if (blob === undefined) throw new Error('What a writer of an export left is gone')
    held.push(blob.bytes)
    bytes += blob.bytes.length
    if (bytes < partSize(all.length)) continue
    all.push(await upload.write(Buffer.concat(held)))
    ;[held, bytes] = [[], 0]
  }
  if (all.length === 0 && size < SMALLEST_PART * 2)
    return parts.blobs.put(blobOf(job.id, name), { bytes: Buffer.concat(held), contentType: NDJSON })
  if (bytes > 0) all.push(await upload.write(Buffer.concat(held)))
  await upload.complete(all)
}

/** https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status: what was not done as it was asked for. */
async function writeErrors(parts: ExportParts, job: Job): Promise<readonly JobFile[]> {
  const { told } = await narrowedOf(parts, job)
  if (told.length === 0) return []
  const lines = told.map((text) => `${JSON.stringify(outcome([{ severity: 'warning', code: 'processing', text }]))}\n`)
  const bytes = new TextEncoder().encode(lines.join(''))
  await parts.blobs.put(blobOf(job.id, 'error'), { bytes, contentType: NDJSON })
  return [{ name: 'error', kind: 'error', type: 'OperationOutcome', count: told.length, size: bytes.length }]
}
