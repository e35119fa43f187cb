/** The stored plan of a job for its writers. It is too large for a row, so it is a blob. Each process caches it parsed. */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import { blobPrefixOf } from '../job/job.ts'

/** Identifies a stored plan. It has both ids, because a job that is planned twice may get different plans. */
export type PlanKey = { readonly job: string; readonly plan: string }

/** Maximum parsed plans cached per blob store. Beyond it the oldest is dropped. */
const MAX_CACHED = 16

const PLANS = new WeakMap<object, Map<string, Promise<unknown>>>()

/** Stores a plan: plain JSON, in which numbers may be infinite. */
export async function storePlan(blobs: Pick<BlobStore, 'put'>, plan: PlanKey, value: unknown): Promise<void> {
  const text = JSON.stringify(value, (_, each) => (each === Infinity || each === -Infinity ? { [INFINITE]: Math.sign(each) } : each))
  await blobs.put(keyOf(plan), { bytes: new TextEncoder().encode(text), contentType: 'application/json' })
}

/** Returns the plan, cached. `read`: converts the stored form. Throws Error if the plan is not stored; errors are not cached. */
export function readPlan<Stored, Plan>(blobs: Pick<BlobStore, 'get'>, plan: PlanKey, read: (stored: Stored) => Plan): Promise<Plan> {
  const cache = PLANS.get(blobs) ?? new Map<string, Promise<unknown>>()
  PLANS.set(blobs, cache)
  const key = keyOf(plan)
  let planned = cache.get(key)
  if (planned === undefined) {
    planned = parsed<Stored>(blobs, key).then(read)
    cache.set(key, planned)
    planned.catch(() => cache.delete(key))
    for (const [oldest] of cache) if (cache.size > MAX_CACHED) cache.delete(oldest)
  }
  return planned as Promise<Plan>
}

async function parsed<Stored>(blobs: Pick<BlobStore, 'get'>, key: string): Promise<Stored> {
  const blob = await blobs.get(key)
  if (blob === undefined) throw new Error('the plan of an export is missing')
  return JSON.parse(new TextDecoder().decode(blob.bytes), (_, each) => (isInfinite(each) ? each[INFINITE] * Infinity : each))
}

/** Marks an infinite number. Plans have no other key of this name. */
const INFINITE = '\u221e'

const isInfinite = (value: unknown): value is { readonly [INFINITE]: number } =>
  typeof value === 'object' && value !== null && INFINITE in value

const keyOf = ({ job, plan }: PlanKey): string => `${blobPrefixOf(job)}plan/${plan}.json`
