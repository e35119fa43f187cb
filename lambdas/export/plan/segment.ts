/** What one writer of an export has to do, and how far it has come: a row of the job's segments. Checkpoints hold no content. */

/** Versions of a type with lastUpdated > since and ≤ until: about so many places to look at. */
export type SegmentPiece = { readonly type: string; readonly since?: number; readonly until: number; readonly entries: number }

/** By file: the parts written of it, their lines and bytes. */
export type WrittenFiles = {
  readonly files: Readonly<Record<string, WrittenFile>>
  readonly tails: readonly TailBlob[]
}
/** A blob with what was not enough for parts, of each file `from` up to `to`. */
export type TailBlob = { readonly key: string; readonly of: Readonly<Record<string, readonly [from: number, to: number]>> }
/** `count` and `size`: of all of it, the tails too. */
export type WrittenFile = {
  readonly parts: readonly { readonly n: number; readonly tag: string }[]
  readonly count: number
  readonly size: number
}

/** `at`: the piece it is at; `cursor`: where it goes on in it. `seen`: about how many places it has looked at. */
export type Segment = {
  /** Rises with each checkpoint: of two writers that began at the same one, one goes on. */
  readonly revision: number
  readonly pieces: readonly SegmentPiece[]
  readonly at: number
  readonly cursor?: string
  readonly seen: number
  readonly isDone: boolean
  readonly written: WrittenFiles
  /** Blobs with what it met that other writers look for, by the hash of its key. */
  readonly met: readonly string[]
}

export const NO_WRITTEN_FILES: WrittenFiles = { files: {}, tails: [] }
