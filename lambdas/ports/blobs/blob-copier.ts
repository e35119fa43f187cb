/** Copies blobs to buckets of other owners. The storage service copies the bytes itself: none passes through the calling process. */
import type { Blob } from './blob-store.ts'

export type BucketKey = { readonly bucket: string; readonly key: string }

/** Blob to copy. `size`: bytes. */
export type SourceBlob = { readonly key: string; readonly size: number; readonly contentType: string }

/**
 * Progress of a copy that is made in parts, as plain JSON. `upload`: id of the unfinished object. `each`: bytes of a part. `tags`: tags of
 * the copied parts, in order.
 */
export type PartialCopy = { readonly upload: string; readonly each: number; readonly tags: readonly string[] }

/**
 * Guarantees
 * - A reader of the target sees either the previous object or a whole copy with the content type of the blob. A second copy replaces the
 *   first.
 * - A call may be repeated, by this process or another, but never in parallel for one target. Parts that were copied before remain valid.
 * - A call that throws changes neither the blob nor the object at the target.
 */
export interface BlobCopier {
  /**
   * Does one step of a copy: one part, or the whole of a blob that is small enough. A step takes some minutes at most. Returns undefined
   * when the copy is complete. Otherwise returns the progress, which the next call takes as `parts`. If the target has discarded the parts,
   * the copy begins again.
   */
  copy(blob: SourceBlob, to: BucketKey, parts?: PartialCopy): Promise<PartialCopy | undefined>
  /** Writes an object to the target, with the guarantees of `BlobStore.put`. */
  put(to: BucketKey, blob: Blob): Promise<void>
  /** Discards the parts of an unfinished copy. Idempotent. */
  abandon(to: BucketKey, parts: PartialCopy): Promise<void>
}
