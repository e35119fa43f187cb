/**
 * Progress of a plan that is not complete yet. Counting a large store takes several steps, and each continues the previous one. The row is
 * one of the segment rows of the job, so it is removed with them, and its checkpoints count as progress of the job.
 */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { storeCheckpoint } from '../job/checkpoint.ts'
import { type Job, segmentRowsOf, temporaryKeyOf } from '../job/job.ts'
import type { ExportParts } from '../step-types.ts'

export type PlanProgress = {
  readonly revision: number
  /** Id of the plan, whose job scope is stored. */
  readonly plan: string
  /** Estimated share of the store's patients, see StoredJobScope. */
  readonly share?: number
  readonly omittedTypes: readonly string[]
  /** Types that are not counted completely. */
  readonly types: readonly string[]
  /** Time down to which the first of `types` is counted. Absent: nothing of it. */
  readonly until?: number
  /** Blob with the counted extents. Absent: there are none. */
  readonly extents?: string
  /** Estimated number of entries to read, and blob with the segments, once all types are counted. */
  readonly total?: number
  readonly segments?: string
}

/** Name of the row. Names of segments have a hyphen. */
const NAME = 'plan'

type Parts = { readonly rows: Rows; readonly blobs: Pick<BlobStore, 'get' | 'put'> } & Pick<ExportParts, 'newId'>

export const readPlanProgress = ({ rows }: Pick<Parts, 'rows'>, { id }: Pick<Job, 'id'>): Promise<PlanProgress | undefined> =>
  rows.read<PlanProgress>(segmentRowsOf(id), NAME)

/** Stores the first row, and returns the valid one: another step may have stored it before. */
export const beginPlanProgress = async ({ rows }: Pick<Parts, 'rows'>, { id }: Pick<Job, 'id'>, own: PlanProgress): Promise<PlanProgress> =>
  (await rows.change<PlanProgress>(segmentRowsOf(id), NAME, (row) => row ?? own))!

/** Stores a checkpoint, and its `list` as a blob that the row names. Returns undefined if another step stored a checkpoint first. */
export async function storePlanProgress(
  { rows, blobs, newId }: Parts,
  { id }: Pick<Job, 'id'>,
  progress: PlanProgress,
  [member, list]: readonly [member: 'extents' | 'segments', list: readonly unknown[]],
): Promise<PlanProgress | undefined> {
  const key = temporaryKeyOf(id, 'counts', newId())
  await blobs.put(key, { bytes: new TextEncoder().encode(JSON.stringify(list)), contentType: 'application/json' })
  return storeCheckpoint<PlanProgress>(rows, [segmentRowsOf(id), NAME], progress, { [member]: key })
}

/** Returns the list that a blob holds. Throws Error if the blob is missing. */
export async function readPlanList<Item>({ blobs }: Pick<Parts, 'blobs'>, key: string): Promise<readonly Item[]> {
  const blob = await blobs.get(key)
  if (blob === undefined) throw new Error('the counts or segments of the plan of an export are missing')
  return JSON.parse(new TextDecoder().decode(blob.bytes)) as readonly Item[]
}
