/** Removes large bodies from the blob store that no version refers to. Their commit failed, or its process ended before it. */
import type { BlobInfo, BlobStore } from '../../../ports/blobs/blob-store.ts'
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import { type CheckedPage, continuePass, type PassParts } from '../../../ports/rows/pass.ts'
import type { Item, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, versionSortKey } from '../table-keys.ts'
import { BODY_PREFIX, type BodyOwner, bodyOwnerOf, LEGACY_BODY_PREFIX } from '../version-body.ts'

/** Maximum bodies that are read at once. */
const AT_ONCE = 50
/** Maximum bodies of a page: as many as S3 lists in one response. */
const PAGE = 1_000
/** Failures after which a page ends. Each may take many seconds, and the function must not reach its timeout. */
const MAX_FAILURES = 3

/**
 * Range of write times, in milliseconds since 1970. Bodies outside it are not removed. `before`: later bodies may belong to a commit in
 * progress. `from`: earlier bodies may belong to versions of the table from which this one was restored.
 */
export type WriteTimeRange = { readonly from: number; readonly before: number }

const DAY = 24 * 60 * 60_000
/** Minimum age of a removed body, in milliseconds. A younger one may belong to a commit in progress. */
const MIN_AGE_MS = DAY
/** Minimum time from the start of a pass over all bodies to that of the next one, in milliseconds. */
const INTERVAL_MS = 7 * DAY

type BodySweepParts = Pick<PassParts, 'rows' | 'budget' | 'now'> & {
  readonly checkPage: (written: WriteTimeRange, after: string) => Promise<CheckedPage>
  /** Instant of `WriteTimeRange`. */
  readonly from: number
}

/** Continues the pass over all bodies, or begins the next one if it is due. */
export const continueBodySweep = ({ checkPage, from, ...parts }: BodySweepParts): Promise<void> =>
  continuePass({
    ...parts,
    ...{ name: 'bodies', interval: INTERVAL_MS },
    checkPage: (after) => checkPage({ from, before: parts.now() - MIN_AGE_MS }, after),
  })

export type SweptBodies = CheckedPage & { readonly removed: number }

/**
 * Checks the first bodies whose keys are greater than `after`, and removes those of the time range to which no version refers. Some bodies
 * may fail, and the others are removed nevertheless. Throws if the bodies cannot be listed.
 */
export async function sweepBodies(
  dynamo: TableClient,
  blobs: BlobStore,
  { from, before }: WriteTimeRange,
  after = '',
): Promise<SweptBodies> {
  const { bodies, last } = await pageOf(blobs, after)
  const written = bodies.filter((blob) => blob.written >= from && blob.written < before)
  const failures: unknown[] = []
  let removed = 0
  for (let i = 0; i < written.length && failures.length < MAX_FAILURES; i += AT_ONCE) {
    try {
      removed += await removeOrphans(dynamo, blobs, written.slice(i, i + AT_ONCE))
    } catch (error) {
      failures.push(error)
    }
  }
  return { ...(last === undefined ? {} : { last }), removed, failures }
}

/** Returns the bodies of a page. `last`: key of its last body, absent if no more follow. */
async function pageOf(blobs: BlobStore, after: string): Promise<{ readonly bodies: readonly BlobInfo[]; readonly last?: string }> {
  const bodies: BlobInfo[] = []
  // The first prefix is less than the second, so one key continues both lists.
  for (const prefix of [BODY_PREFIX, LEGACY_BODY_PREFIX])
    for await (const blob of blobs.list(prefix, after)) {
      bodies.push(blob)
      if (bodies.length === PAGE) return { bodies, last: blob.key }
    }
  return { bodies }
}

async function removeOrphans(dynamo: TableClient, blobs: BlobStore, some: readonly BlobInfo[]): Promise<number> {
  const owners = await Promise.all(some.map((blob) => bodyOwnerOf(blob, blobs)))
  const named = await namedBlobs(
    dynamo,
    owners.filter((owner) => owner !== undefined),
  )
  const orphans = some.filter(({ key }) => !named.has(key))
  await forEachInParallel(orphans, AT_ONCE, ({ key }) => blobs.remove(key))
  return orphans.length
}

/**
 * Returns the blobs to which the current, staged or superseded versions refer. It reads the head items before the copies: a commit writes
 * the copy before it changes the head, so no version escapes both reads.
 */
async function namedBlobs(dynamo: TableClient, owners: readonly BodyOwner[]): Promise<ReadonlySet<string>> {
  const heads = await dynamo.getAll(owners.map(({ pk }) => ({ pk, sk: HEAD_SORT_KEY })))
  const copies = await dynamo.getAll(owners.map(({ pk, versionId }) => ({ pk, sk: versionSortKey(versionId) })))
  return new Set([...heads, ...copies].flatMap((item) => (item === undefined ? [] : blobsOf(item))))
}

const blobsOf = ({ v, p }: Item): readonly string[] =>
  [v, p].flatMap((content) => {
    const { blob } = (content ?? {}) as { readonly blob?: string }
    return blob === undefined ? [] : [blob]
  })
