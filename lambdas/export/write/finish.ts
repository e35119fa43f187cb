/**
 * Finishes a job: joins the tails of each type into the last parts, completes the files, and then the job. Idempotent after a crash at any
 * point: a file that exists with its full size is finished, and tails are joined once.
 */
import { operationOutcomeOf } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import { removeTemporaryData } from '../job/file-removal.ts'
import { blobPrefixOf, fileKeyOf, fileRowsOf, type Job, type JobFile, rangeRowsOf, segmentRowsOf, temporaryKeyOf } from '../job/job.ts'
import { changeJob, setComplete } from '../job/job-transitions.ts'
import { readJobScope } from '../plan/job-scope.ts'
import type { Segment, TailBlob, WrittenFile, WrittenPart } from '../plan/segment.ts'
import { OMISSION_TEXTS } from '../select/omission-reason.ts'
import type { ExportParts } from '../step-types.ts'
import { type FileRow, FileUpload, fileNameOf, fileNumberOf, MIN_PART_BYTES, NDJSON_CONTENT_TYPE, PART_BYTES } from './multipart-uploads.ts'
import { checkOmissionCount, OMISSIONS_FILE } from './omissions.ts'
import { recordPartnerExport } from './partner-record.ts'
import { writeWholeFile } from './whole-file.ts'

/** Lines of a type from all writers. `rest`: byte ranges of the tails that hold those outside the parts, in their order. */
type TypeLines = WrittenFile & { readonly name: string; readonly rest: readonly Rest[] }
type Rest = { readonly key: string; readonly range: readonly [from: number, to: number] }

export async function finishJob(parts: ExportParts, job: Job): Promise<void> {
  const sizes = await sizesOf(parts, job)
  const types = await readLines(parts, job)
  const omissions = await readOmissions(parts, types.get(OMISSIONS_FILE))
  const files: JobFile[] = []
  for (const each of [...types.values()].sort((a, b) => (a.name < b.name ? -1 : 1)))
    if (each.count > 0 && each.name !== OMISSIONS_FILE) files.push(...(await completeFiles(parts, job, each, sizes)))
  const errors = await writeErrors(parts, job, omissions)
  const all = [...files, ...(await recordPartnerExport(parts, job, files)), ...errors]
  if (omissions.some((line) => line.includes(OMISSION_TEXTS.damaged)))
    parts.report(new MachineFault('store-damaged', `The export ${job.id} lacks what its file of errors names: ${omissions.length} in all`))
  const ended = await changeJob(parts.rows, job.id, setComplete(job.attempt, all, parts.now()))
  // Only after the job is complete: until then another attempt may need the data.
  if (ended?.state === 'complete') await removeTemporaryData(parts, job.id)
}

const jobFileOf = (type: string, number: number, { count, size }: Pick<JobFile, 'count' | 'size'>): JobFile => ({
  name: fileNameOf(type, number),
  ...(type === 'deleted' ? { kind: 'deleted', type: 'Bundle' } : { kind: 'output', type }),
  ...{ count, size },
})

async function sizesOf({ blobs }: ExportParts, { id }: Job): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>()
  for await (const { key, size } of blobs.list(`${blobPrefixOf(id)}files/`)) sizes.set(key, size)
  return sizes
}

/** Returns the lines of each type from the checkpoints of all writers. Throws Error if a writer is not done. */
async function readLines({ rows }: ExportParts, { id, plan }: Job): Promise<ReadonlyMap<string, TypeLines>> {
  const types = new Map<string, TypeLines>()
  for (const rowOwner of [segmentRowsOf(id), rangeRowsOf(id)])
    for await (const { name, value } of rows.list<Pick<Segment, 'isDone' | 'written'>>(rowOwner)) {
      if (rowOwner === segmentRowsOf(id) && !name.startsWith(`${plan}-`)) continue
      // guard: export-needs-all-segments
      if (!value.isDone) throw new Error('An export is not written yet')
      for (const [type, own] of Object.entries(value.written.files))
        types.set(type, mergeLines(types.get(type), { ...own, name: type, rest: restOf(type, value.written.tails) }))
    }
  return types
}

const restOf = (file: string, tails: readonly TailBlob[]): readonly Rest[] =>
  tails.flatMap(({ key, of }) => (of[file] === undefined ? [] : [{ key, range: of[file] }]))

const mergeLines = (a: TypeLines | undefined, b: TypeLines): TypeLines =>
  a === undefined
    ? b
    : { name: b.name, parts: [...a.parts, ...b.parts], rest: [...a.rest, ...b.rest], count: a.count + b.count, size: a.size + b.size }

/** Completes the files of a type: the written parts, then the tails joined into parts. `sizes`: those of the finished files, by key. */
async function completeFiles(parts: ExportParts, job: Job, lines: TypeLines, sizes: ReadonlyMap<string, number>): Promise<JobFile[]> {
  const { name, rest, size } = lines
  const isFinished = (number: number, size: number): boolean => sizes.get(fileKeyOf(job.id, fileNameOf(name, number))) === size
  if (isFinished(1, size)) return [jobFileOf(name, 1, lines)]
  // Only the last part of an upload may be small, so a small file is stored without an upload.
  if (lines.parts.length === 0 && size < MIN_PART_BYTES * 2) {
    const buffers: Uint8Array[] = []
    for (const each of rest) buffers.push(await bytesOf(parts.blobs, each))
    await parts.blobs.put(fileKeyOf(job.id, name), { bytes: Buffer.concat(buffers), contentType: NDJSON_CONTENT_TYPE })
    return [jobFileOf(name, 1, lines)]
  }
  const upload = new FileUpload(parts, job.id, name)
  const files = filesOf(lines, await joinTails(parts, job, lines, upload))
  for (const each of files) if (!isFinished(each.number, each.size)) await upload.complete(each.number, each.parts)
  return files.map((each) => jobFileOf(name, each.number, each))
}

type PartedFile = Omit<WrittenFile, 'parts'> & { readonly number: number; readonly parts: readonly WrittenPart[] }

/** Returns the files of a type by their parts. The first one gets the lines that no other has: its parts may lack their counts. */
function filesOf({ parts, count, size }: WrittenFile, tails: readonly WrittenPart[]): readonly PartedFile[] {
  const byNumber = Map.groupBy([...parts, ...tails], fileNumberOf)
  const [first = 1, ...others] = [...byNumber.keys()].sort((a, b) => a - b)
  const later = others.map((number) => {
    const own = byNumber.get(number)!
    return { number, parts: own, count: sumOf(own, 'count'), size: sumOf(own, 'size') }
  })
  const [laterCount, laterSize] = [sumOf(later, 'count'), sumOf(later, 'size')]
  return [{ number: first, parts: byNumber.get(first) ?? [], count: count - laterCount, size: size - laterSize }, ...later]
}

const sumOf = <Name extends string>(items: readonly Readonly<Record<Name, number>>[], name: Name): number =>
  items.reduce((sum, each) => sum + each[name], 0)

/**
 * Joins the tails of a type into parts, and returns these. The row of the type names them, because a repetition must not join them again:
 * the file that has them may be complete.
 */
async function joinTails(parts: ExportParts, job: Job, { name, rest }: TypeLines, upload: FileUpload): Promise<readonly WrittenPart[]> {
  const { rows, blobs } = parts
  if (rest.length === 0) return []
  const before = await rows.read<FileRow>(fileRowsOf(job.id), name)
  // guard: tails-are-joined-once
  if (before?.joined !== undefined) return readParts(blobs, before.joined)
  const joined: WrittenPart[] = []
  let [buffers, bytes]: [Uint8Array[], number] = [[], 0]
  const write = async (): Promise<void> => {
    const all = Buffer.concat(buffers)
    joined.push(await upload.write(all, linesIn(all)))
    ;[buffers, bytes] = [[], 0]
  }
  for (const each of rest) {
    const more = await bytesOf(blobs, each)
    buffers.push(more)
    bytes += more.length
    if (bytes >= PART_BYTES) await write()
  }
  if (bytes > 0) await write()
  const key = temporaryKeyOf(job.id, 'tails', parts.newId())
  await blobs.put(key, { bytes: new TextEncoder().encode(JSON.stringify(joined)), contentType: 'application/json' })
  const row = await rows.change<FileRow>(fileRowsOf(job.id), name, (row) => row && { joined: key, ...row })
  if (row?.joined === undefined) throw new Error('The files of the job are gone')
  return row.joined === key ? joined : readParts(blobs, row.joined)
}

async function readParts(blobs: ExportParts['blobs'], key: string): Promise<readonly WrittenPart[]> {
  const blob = await blobs.get(key)
  if (blob === undefined) throw new Error('the list of parts of a file is missing')
  return JSON.parse(new TextDecoder().decode(blob.bytes)) as readonly WrittenPart[]
}

function linesIn(bytes: Uint8Array): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++
  return count
}

const NEWLINE = 10

/** Returns the distinct omissions of all writers, as sorted lines. Throws ExportFault above the maximum. */
async function readOmissions(
  { blobs }: ExportParts,
  { rest, count }: Pick<TypeLines, 'rest' | 'count'> = { rest: [], count: 0 },
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
  return [await writeWholeFile(parts.blobs, job, { name: 'error', kind: 'error', type: 'OperationOutcome' }, lines)]
}
