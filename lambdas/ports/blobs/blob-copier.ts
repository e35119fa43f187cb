/** Copies of blobs in buckets of others. What is copied goes there by itself: no byte of it comes through the process that asks. */
import type { Blob } from './blob-store.ts'

export type BucketKey = { readonly bucket: string; readonly key: string }

/** `size`: bytes. */
export type SourceBlob = { readonly key: string; readonly size: number; readonly contentType: string }

/** How far a copy is that is made in parts: plain JSON. `each`: bytes of a part; `tags`: of the parts that are there. */
export type PartialCopy = { readonly upload: string; readonly each: number; readonly tags: readonly string[] }

/**
 * Guarantees
 * - Who looks at a place sees a whole copy with the content type of the blob, or what was there before; a second copy replaces.
 * - A call may be made again, by this process or another, one at a time: what was copied before is not wrong.
 * - What throws changes neither the blob nor what is at the place.
 */
export interface BlobCopier {
  /**
   * Copies as much as one call does: some minute's work at the most. undefined: it is there. Else there is more to do, and the next call is
   * told what this one gave. Parts that are no more at the place are copied again.
   */
  copy(blob: SourceBlob, to: BucketKey, parts?: PartialCopy): Promise<PartialCopy | undefined>
  /** As the `put` of a BlobStore. */
  put(to: BucketKey, blob: Blob): Promise<void>
  /** Forgets parts. Idempotent. */
  abandon(to: BucketKey, parts: PartialCopy): Promise<void>
}
