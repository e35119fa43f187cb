/** Plans the ranges (range.ts) of the second pass. A repetition after a crash finds the stored ranges and does not replace them. */
import { blobPrefixOf, type Job, rangeRowsOf, segmentRowsOf, temporaryKeyOf } from '../job/job.ts'
import { readJobScope } from '../plan/job-scope.ts'
import { exportsDocuments } from '../plan/partner-types.ts'
import type { Segment } from '../plan/segment.ts'
import type { ExportParts } from '../step-types.ts'
import { BUCKET_COUNT } from '../write/key-buckets.ts'
import { newRange, type Range, type RangeTarget, ROUNDS, type RoundSource, rangeNameOf } from './range.ts'

/** Bytes of keys from which a round is divided: each range has at least as many on average. A key has about 40 bytes. */
const SMALLEST = 1_000_000
/** Maximum patients per range of an index search. */
const PATIENTS = 100

type Row = { readonly name: string; readonly value: Range }

/** Returns the names of the ranges of the current round that are not done. Empty: no round has anything left to collect. */
export async function planRanges(parts: ExportParts, job: Job): Promise<readonly string[]> {
  const { isLookedUp, patients } = await readJobScope(parts, job)
  const rows: Row[] = []
  for await (const row of parts.rows.list<Range>(rangeRowsOf(job.id))) rows.push(row)
  for (let round: number = isLookedUp ? ROUNDS.index : ROUNDS.candidates; ; round++) {
    const isForAuthorizations = round === ROUNDS.candidates && !isLookedUp
    const targets = isForAuthorizations ? authorizationTargetsOf(job) : await targetsOf(parts, job, round, rows, patients?.size ?? 0)
    if (targets.length === 0 && round >= ROUNDS.references) return []
    const open: string[] = []
    for (const [i, each] of targets.entries())
      if (!(await isDone(parts, job, rangeNameOf(round, i), newRange(round, each), rows))) open.push(rangeNameOf(round, i))
    if (open.length > 0) return open
  }
}

const authorizationTargetsOf = (job: Job): readonly RangeTarget[] =>
  job.asked.since !== undefined && exportsDocuments(job) ? [{ kind: 'authorizations' }] : []

/** Returns whether the range is done. Stores the row of the range if there is none. */
async function isDone({ rows }: ExportParts, job: Job, name: string, range: Range, existing: readonly Row[]): Promise<boolean> {
  const row = existing.find((each) => each.name === name)
  if (row !== undefined) return row.value.isDone
  await rows.change<Range>(rangeRowsOf(job.id), name, (before) => before ?? range)
  return false
}

async function targetsOf(
  parts: ExportParts,
  job: Job,
  round: number,
  rows: readonly Row[],
  patients: number,
): Promise<readonly RangeTarget[]> {
  if (round === ROUNDS.index) return cut(patients, Math.ceil(patients / PATIENTS)).map((each) => ({ kind: 'index', patients: each }))
  if (round === ROUNDS.history) return [{ kind: 'history', from: parts.now() }]
  const source = await sourceOf(parts, job, round, rows)
  const bytes = await bytesOf(parts, job, source.met)
  if (bytes === 0) return []
  const blob = roundSourceKeyOf(job, round)
  await parts.blobs.put(blob, { bytes: new TextEncoder().encode(JSON.stringify(source)), contentType: 'application/json' })
  const kind = round === ROUNDS.candidates ? 'candidates' : 'references'
  return cut(BUCKET_COUNT, countOf(bytes)).map((buckets) => ({ kind, buckets }))
}

export const roundSourceKeyOf = ({ id }: Pick<Job, 'id'>, round: number): string => temporaryKeyOf(id, 'met', `round-${round}`)

/** Returns the number of ranges: a power of two, so that all ranges have the same number of buckets. */
const countOf = (bytes: number): number => Math.min(BUCKET_COUNT, 2 ** Math.floor(Math.log2(Math.max(1, bytes / SMALLEST))))

const cut = (total: number, parts: number): readonly (readonly [number, number])[] =>
  Array.from({ length: parts }, (_, i) => [Math.floor((i * total) / parts), Math.floor(((i + 1) * total) / parts)] as const)

/**
 * Returns the key blobs of a round. Candidates come from the index and history ranges. The first round of references takes the keys that
 * segments and candidate ranges found, each later round those of the round before. No key is looked up in two rounds of references.
 */
async function sourceOf({ rows }: ExportParts, { id, plan }: Job, round: number, ranges: readonly Row[]): Promise<RoundSource> {
  const blobsOf = (is: (range: Range) => boolean): readonly string[] => ranges.flatMap(({ value }) => (is(value) ? value.met : []))
  if (round === ROUNDS.candidates) return { met: blobsOf((range) => range.round < round), before: [] }
  const before = ranges.flatMap(({ value: { sought, keys, round: sourceRound } }) =>
    sought.kind === 'references' && sourceRound < round ? (keys ?? []) : [],
  )
  const met = [...blobsOf((range) => range.round === round - 1)]
  if (round === ROUNDS.references)
    for await (const { name, value } of rows.list<Segment>(segmentRowsOf(id))) if (name.startsWith(`${plan}-`)) met.push(...value.met)
  return { met, before }
}

async function bytesOf({ blobs }: ExportParts, { id }: Job, keys: readonly string[]): Promise<number> {
  if (keys.length === 0) return 0
  const included = new Set(keys)
  let bytes = 0
  for await (const { key, size } of blobs.list(`${blobPrefixOf(id)}met/`)) if (included.has(key)) bytes += size
  return bytes
}
