/**
 * Finishes a job: joins the tails into the last parts, completes each file, and then the job. Idempotent after a crash at any point: a file
 * that exists with its full size is finished.
 */
import { operationOutcomeOf } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import { removeTemporaryData } from '../job/file-removal.ts'
import { blobPrefixOf, fileKeyOf, type Job, type JobFile, rangeRowsOf, segmentRowsOf } from '../job/job.ts'
import { changeJob, setComplete } from '../job/job-transitions.ts'
import { readJobScope } from '../plan/job-scope.ts'
import type { Segment, TailBlob, WrittenFile } from '../plan/segment.ts'
import { OMISSION_TEXTS } from '../select/omission-reason.ts'
import type { ExportParts } from '../step-types.ts'
import { choosePartSize, FileUpload, MIN_PART_BYTES, NDJSON_CONTENT_TYPE } from './multipart-uploads.ts'
import { checkOmissionCount, OMISSIONS_FILE } from './omissions.ts'

/** `rest`: byte ranges of the tails that hold the remaining lines of the file, in their order. */
type JoinedFile = WrittenFile & { readonly name: string; readonly rest: readonly Rest[] }
type Rest = { readonly key: string; readonly range: readonly [from: number, to: number] }

export async function finishJob(parts: ExportParts, job: Job): Promise<void> {
  const sizes = await sizesOf(parts, job)
  const joinedFiles = await joinFiles(parts, job)
  const omissions = await readOmissions(parts, joinedFiles.get(OMISSIONS_FILE))
  const files = [...joinedFiles.values()].filter(({ name, count }) => count > 0 && name !== OMISSIONS_FILE)
  for (const file of files) if (sizes.get(fileKeyOf(job.id, file.name)) !== file.size) await completeFile(parts, job, file)
  const errors = await writeErrors(parts, job, omissions)
  const all = [...files.map(fileOf), ...errors].sort((a, b) => (a.name < b.name ? -1 : 1))
  if (omissions.some((line) => line.includes(OMISSION_TEXTS.damaged)))
    parts.report(new MachineFault('store-damaged', `The export ${job.id} lacks what its file of errors names: ${omissions.length} in all`))
  const ended = await changeJob(parts.rows, job.id, setComplete(job.attempt, all, parts.now()))
  // Only after the job is complete: until then another attempt may need the data.
  if (ended?.state === 'complete') await removeTemporaryData(parts, job.id)
}

const fileOf = ({ name, count, size }: JoinedFile): JobFile =>
  name === 'deleted' ? { name, kind: 'deleted', type: 'Bundle', count, size } : { name, kind: 'output', type: name, count, size }

async function sizesOf({ blobs }: ExportParts, { id }: Job): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { key, size } of blobs.list(`${blobPrefixOf(id)}files/`)) sizes.set(key, size)
  return sizes
}

/** Returns each file, joined from the checkpoints of all writers. Throws Error if a writer is not done. */
async function joinFiles({ rows }: ExportParts, { id, plan }: Job): Promise<ReadonlyMap<string, JoinedFile>> {
  const files = new Map<string, JoinedFile>()
  for (const rowOwner of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { name, value } of rows.list<Pick<Segment, 'isDone' | 'written'>>(rowOwner)) {
      if (rowOwner === segmentRowsOf(id) && !name.startsWith(`${plan}-`)) continue
      // guard: export-needs-all-segments
      if (!value.isDone) throw new Error('An export is not written yet')
      for (const [file, own] of Object.entries(value.written.files))
        files.set(file, joined(files.get(file), { ...own, name: file, rest: restOf(file, value.written.tails) }))
    }
  return files
}

const restOf = (file: string, tails: readonly TailBlob[]): readonly Rest[] =>
  tails.flatMap(({ key, of }) => (of[file] === undefined ? [] : [{ key, range: of[file] }]))

const joined = (a: JoinedFile | undefined, b: JoinedFile): JoinedFile =>
  a === undefined
    ? b
    : { name: b.name, parts: [...a.parts, ...b.parts], rest: [...a.rest, ...b.rest], count: a.count + b.count, size: a.size + b.size }

/**
 * Completes a file: the written parts, then the tails joined into parts. Only the last part of an upload may be small, so a small file is
 * stored without an upload.
 */
async function completeFile(parts: ExportParts, job: Job, { name, parts: written, rest, size }: JoinedFile): Promise<void> {
  const upload = new FileUpload(parts, job.id, name)
  const all = [...written]
  let [buffers, bytes]: [Uint8Array[], number] = [[], 0]
  for (const each of rest) {
    const more = await bytesOf(parts.blobs, each)
    buffers.push(more)
    bytes += more.length
    if (bytes < choosePartSize(all.length)) continue
    all.push(await upload.write(Buffer.concat(buffers)))
    ;[buffers, bytes] = [[], 0]
  }
  if (all.length === 0 && size < MIN_PART_BYTES * 2)
    return parts.blobs.put(fileKeyOf(job.id, name), { bytes: Buffer.concat(buffers), contentType: NDJSON_CONTENT_TYPE })
  if (bytes > 0) all.push(await upload.write(Buffer.concat(buffers)))
  await upload.complete(all)
}

/** Returns the distinct omissions of all writers, as sorted lines. Throws ExportFault above the maximum. */
async function readOmissions(
  { blobs }: ExportParts,
  { rest, count }: Pick<JoinedFile, 'rest' | 'count'> = { rest: [], count: 0 },
): Promise<readonly string[]> {
  // guard: omission-limit
  checkOmissionCount(count)
  const lines = new Set<string>()
  for (const each of rest) for (const line of (await bytesOf(blobs, each)).toString('utf8').split('\n')) if (line !== '') lines.add(line)
  return [...lines].sort()
}

async function bytesOf(blobs: ExportParts['blobs'], { key, range }: Rest): Promise<Buffer> {
  const blob = await blobs.get(key, range)
  if (blob === undefined) throw new Error('the remaining bytes of a writer are missing')
  return Buffer.from(blob.bytes)
}

/**
 * Writes the error file: messages about the request, and omissions.
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status
 */
async function writeErrors(parts: ExportParts, job: Job, omissions: readonly string[]): Promise<readonly JobFile[]> {
  const { told } = await readJobScope(parts, job)
  const lines = [
    ...told.map((text) => JSON.stringify(operationOutcomeOf([{ severity: 'warning', code: 'processing', text }]))),
    ...omissions,
  ]
  if (lines.length === 0) return []
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''))
  await parts.blobs.put(fileKeyOf(job.id, 'error'), { bytes, contentType: NDJSON_CONTENT_TYPE })
  return [{ name: 'error', kind: 'error', type: 'OperationOutcome', count: lines.length, size: bytes.length }]
}
