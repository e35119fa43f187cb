/** What a plan leaves to the writers of its job, too large for rows: a blob of the job that each process reads and parses once. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { blobPrefixOf } from '../job/job.ts'

/** Ids: a job that is planned again may come to another. */
export type PlanKey = { readonly job: string; readonly plan: string }

/** Parsed plans a process remembers. */
const MOST = 16

const KNOWN = new WeakMap<object, Map<string, Promise<unknown>>>()

/** Plain JSON, in which numbers may be infinite. */
export async function storePlan(blobs: Pick<BlobStore, 'put'>, plan: PlanKey, value: unknown): Promise<void> {
  const text = JSON.stringify(value, (_, each) => (each === Infinity || each === -Infinity ? { [INFINITE]: Math.sign(each) } : each))
  await blobs.put(keyOf(plan), { bytes: new TextEncoder().encode(text), contentType: 'application/json' })
}

/** `read`: makes of what was kept what writers need. Error where nothing was. */
export function readPlan<Kept, Needed>(blobs: Pick<BlobStore, 'get'>, plan: PlanKey, read: (kept: Kept) => Needed): Promise<Needed> {
  const known = KNOWN.get(blobs) ?? new Map<string, Promise<unknown>>()
  KNOWN.set(blobs, known)
  const key = keyOf(plan)
  let planned = known.get(key)
  if (planned === undefined) {
    planned = parsed<Kept>(blobs, key).then(read)
    known.set(key, planned)
    planned.catch(() => known.delete(key))
    for (const [oldest] of known) if (known.size > MOST) known.delete(oldest)
  }
  return planned as Promise<Needed>
}

async function parsed<Kept>(blobs: Pick<BlobStore, 'get'>, key: string): Promise<Kept> {
  const blob = await blobs.get(key)
  if (blob === undefined) throw new Error('what an export has planned is not there')
  return JSON.parse(new TextDecoder().decode(blob.bytes), (_, each) => (isInfinite(each) ? each[INFINITE] * Infinity : each))
}

/** No key of a plan is called so. */
const INFINITE = '\u221e'

const isInfinite = (value: unknown): value is { readonly [INFINITE]: number } =>
  typeof value === 'object' && value !== null && INFINITE in value

const keyOf = ({ job, plan }: PlanKey): string => `${blobPrefixOf(job)}plan/${plan}.json`
