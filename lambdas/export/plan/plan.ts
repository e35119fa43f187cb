/** Plans an export: resolves the job scope and creates segments, which many writers write in parallel. */
import type { ScanRequest } from '../../ports/store/resource-store.ts'
import { type Job, segmentRowsOf } from '../job/job.ts'
import { changeJob, isUnderWay, setPlan } from '../job/job-transitions.ts'
import type { ExportParts } from '../step-types.ts'
import { withCancellableReads } from './cancellable-reads.ts'
import { exportTypesOf } from './exported-types.ts'
import { resolveJobScope, type StoredJobScope, storeJobScope } from './job-scope.ts'
import { readNamedPatients } from './named-patients.ts'
import { NO_WRITTEN_FILES, type Segment, type SegmentPiece } from './segment.ts'
import { findStoredTypes } from './stored-types.ts'

/**
 * Entries up to which a segment is filled. A large export has larger segments instead of more than about MAX_SEGMENTS, because the workflow
 * state contains their names.
 */
export const SMALLEST = 50_000
export const MAX_SEGMENTS = 1_000
/** Maximum pieces per segment. A store with many partitions reads all of them for every piece, however small. */
const MAX_PIECES = 8

/**
 * Returns the names of the segments that are not done. Returns undefined if the kick-off is still storing patients, or if commits up to the
 * transaction time may still appear.
 */
export async function planSegments(parts: ExportParts, job: Job): Promise<readonly string[] | undefined> {
  // guard: export-waits-for-settled-writes
  if (!(await parts.resources.settled(job.tenant, job.transactionTime))) return undefined
  const plan = job.plan ?? (await planFirst(parts, job))
  if (plan === undefined) return undefined
  const names: string[] = []
  for await (const { name, value } of parts.rows.list<Segment>(segmentRowsOf(job.id)))
    if (name.startsWith(`${plan}-`) && !value.isDone) names.push(name)
  return names
}

async function planFirst(parts: ExportParts, job: Job): Promise<string | undefined> {
  const patients = await readNamedPatients(parts.rows, job, parts.now())
  return patients && makePlan(withCancellableReads(parts, job), { ...job, asked: { ...job.asked, patients } })
}

/** Creates a plan and returns the id of the valid one: the first that the job row records. Plans created at the same time are not used. */
async function makePlan(parts: ExportParts, job: Job): Promise<string> {
  const own = parts.newId()
  const { types, omittedTypes, messages } = exportTypesOf(job, parts)
  const resolved = await resolveJobScope(parts, job)
  const omitted = await findStoredTypes(parts, job, omittedTypes)
  await storeJobScope(parts, job, own, { ...resolved, told: [...job.asked.passedOver, ...messages, ...resolved.told] })
  const cut: TypeExtent[] = []
  for (const type of types) cut.push(await cutOf(parts, type, scanOf(job, resolved, type)))
  const segments = resolved.share === undefined ? packSegments(cut, SMALLEST, MAX_SEGMENTS) : []
  for (const [i, pieces] of segments.entries())
    await parts.rows.change<Segment>(segmentRowsOf(job.id), `${own}-${i}`, () => ({
      ...{ revision: 0, pieces, at: 0, seen: 0, isDone: false, written: NO_WRITTEN_FILES, met: [] },
    }))
  const total = Math.ceil(cut.reduce((sum, { entries }) => sum + entries, 0) * (resolved.share ?? 1))
  const changed = await changeJob(parts.rows, job.id, setPlan(job.attempt, own, total, omitted))
  if (!isUnderWay(changed, job.attempt) || changed.plan === undefined) throw new Error('The job is under way no more')
  return changed.plan
}

/** Returns the scan of a type. Data of new members is exported regardless of its time, so the scan then ignores `_since`. */
const scanOf = (
  { tenant, transactionTime, asked }: Job,
  { added }: StoredJobScope,
  type: string,
): Omit<ScanRequest, 'cursor' | 'limit'> => ({
  ...{ tenant, type, asOf: transactionTime },
  ...(asked.since === undefined ? {} : { deletions: true, ...(added.length === 0 ? { since: asked.since } : {}) }),
  until: Math.min(transactionTime, (asked.until ?? Number.POSITIVE_INFINITY) - 1),
})

/**
 * Extent of a type in the store. `entries`: estimated number to scan. `ends`: ascending lastUpdated at which the parts of the scan end. The
 * last one ends the scan.
 */
export type TypeExtent = { readonly type: string; readonly since?: number; readonly entries: number; readonly ends: readonly number[] }

async function cutOf({ resources }: ExportParts, type: string, request: Omit<ScanRequest, 'cursor' | 'limit'>): Promise<TypeExtent> {
  const { entries, cuts } = await resources.extent(request, SMALLEST)
  return { type, ...(request.since === undefined ? {} : { since: request.since }), entries, ends: [...cuts, request.until!] }
}

/**
 * Packs the types, in order, into segments of at most MAX_PIECES pieces. A segment is filled up to `smallest` entries. It is filled further
 * if there would be more than about `maxSegments`. A type without entries gets a piece too, because the number of entries is an estimate.
 */
export function packSegments(cut: readonly TypeExtent[], smallest: number, maxSegments: number): readonly (readonly SegmentPiece[])[] {
  const total = cut.reduce((sum, { entries }) => sum + entries, 0)
  const capacity = Math.max(smallest, Math.ceil((total / maxSegments) * 2))
  const segments: { pieces: SegmentPiece[]; entries: number }[] = []
  for (const piece of cut.flatMap((each) => piecesOf(each, capacity))) {
    const last = segments.at(-1)
    if (last !== undefined && last.entries + piece.entries <= capacity && last.pieces.length < MAX_PIECES) {
      last.pieces.push(piece)
      last.entries += piece.entries
    } else segments.push({ pieces: [piece], entries: piece.entries })
  }
  return segments.map(({ pieces }) => pieces)
}

/**
 * Returns the pieces of a type. Each piece joins as many successive parts as fit into `capacity` entries. The parts have about the same
 * number of entries.
 */
function piecesOf({ type, since, entries, ends }: TypeExtent, capacity: number): readonly SegmentPiece[] {
  const each = entries / ends.length
  const together = Math.max(1, Math.min(ends.length, Math.floor(capacity / each)))
  const pieces: SegmentPiece[] = []
  for (let from = 0; from < ends.length; from += together) {
    const to = Math.min(from + together, ends.length)
    const after = from === 0 ? since : ends[from - 1]
    pieces.push({ type, ...(after === undefined ? {} : { since: after }), until: ends[to - 1]!, entries: Math.round(each * (to - from)) })
  }
  return pieces
}
