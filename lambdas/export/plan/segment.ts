/**
 * Segments: the parallel parts of an export. Each is a row of the job, with the work of one writer and its checkpoint. It holds no data of
 * resources.
 */

/** Versions of a type with lastUpdated > since and ≤ until. `entries`: estimated number of entries to read. */
export type SegmentPiece = { readonly type: string; readonly since?: number; readonly until: number; readonly entries: number }

/** Written parts, number of lines and size of each file, and the tails: blobs with the lines that did not fill a part. */
export type WrittenFiles = {
  readonly files: Readonly<Record<string, WrittenFile>>
  readonly tails: readonly TailBlob[]
}
/** A tail: a blob with the lines of several files that did not fill a part. `of`: byte range of each file in it, the end exclusive. */
export type TailBlob = { readonly key: string; readonly of: Readonly<Record<string, readonly [from: number, to: number]>> }
/** Part of a file. `n`: its number. `tag`: its ETag. `count` and `size`: its lines and bytes. */
export type WrittenPart = { readonly n: number; readonly tag: string; readonly count: number; readonly size: number }
/**
 * Written lines of a type. `count` and `size`: lines and bytes, including those in tails. Parts of the first file lack theirs if an earlier
 * version of the server wrote them.
 */
export type WrittenFile = {
  readonly parts: readonly WrittenPart[]
  readonly count: number
  readonly size: number
}

/** `at`: index of the current piece. `cursor`: position in it. `seen`: estimated number of entries read so far. */
export type Segment = {
  /** Increases with each checkpoint. If two writers continue from the same checkpoint, only the first to store the next one continues. */
  readonly revision: number
  readonly pieces: readonly SegmentPiece[]
  readonly at: number
  readonly cursor?: string
  readonly seen: number
  readonly isDone: boolean
  readonly written: WrittenFiles
  /**
   * Blobs with the keys of the resources that exported resources refer to, in buckets by the hash of the key. The second pass reads them.
   */
  readonly met: readonly string[]
}

export const NO_WRITTEN_FILES: WrittenFiles = { files: {}, tails: [] }
