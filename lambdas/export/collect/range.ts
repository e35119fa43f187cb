/**
 * Ranges: the second pass of an export, after the scan or in place of it. Each range is a row of the job. A round starts when all ranges of
 * the previous round are done.
 * Rounds 0 to 2 serve exports of few patients. Round 0 searches the index, round 1 reads the history after the transaction time, and round
 * 2 exports the candidates that these found. In an export for a partner with `_since`, round 2 finds authorizations whose documents changed
 * without them. Rounds from 3 on look up the resources that exported resources refer to, until a round finds no new reference.
 */
import { NO_WRITTEN_FILES, type WrittenFiles } from '../plan/segment.ts'
import type { BucketRange } from '../write/key-buckets.ts'

export const ROUNDS = { index: 0, history: 1, candidates: 2, references: 3 } as const

/**
 * `patients`: positions in the list of patients of the job, the end exclusive. `from`: instant after the end of the index search, in
 * milliseconds since 1970. `buckets`: the buckets of keys that the range looks up.
 */
export type RangeTarget =
  | { readonly kind: 'index'; readonly patients: readonly [from: number, to: number] }
  | { readonly kind: 'history'; readonly from: number }
  | { readonly kind: 'authorizations' }
  | { readonly kind: 'candidates' | 'references'; readonly buckets: BucketRange }

export type Range = {
  readonly round: number
  readonly sought: RangeTarget
  /** Increases with each checkpoint. If two writers continue from the same checkpoint, only the first to store the next one continues. */
  readonly revision: number
  /** Position in the index or the history as JSON. Ranges of keys use `at` instead: the number of keys already looked up. */
  readonly cursor?: string
  readonly at: number
  /**
   * Blob with the keys that the range looks up. Each key occurs once, and no earlier round of references has looked it up. Absent until the
   * first slice.
   */
  readonly keys?: string
  readonly seen: number
  readonly isDone: boolean
  readonly written: WrittenFiles
  /** Blobs with the keys that the range found: candidates, or references of the resources that it exported. */
  readonly met: readonly string[]
}

export const newRange = (round: number, sought: RangeTarget): Range => ({
  ...{ round, sought, revision: 0, at: 0, seen: 0, isDone: false, written: NO_WRITTEN_FILES, met: [] },
})

/** Returns the name of a range, such as `0003-0007`. Names sort by round. */
export const rangeNameOf = (round: number, i: number): string => `${String(round).padStart(4, '0')}-${String(i).padStart(4, '0')}`

/**
 * Key blobs of a round, stored in a blob that its ranges share. `met`: blobs with the keys to look up. `before`: blobs with the keys that
 * earlier rounds of references have looked up.
 */
export type RoundSource = { readonly met: readonly string[]; readonly before: readonly string[] }
