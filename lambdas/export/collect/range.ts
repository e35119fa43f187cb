/**
 * What is looked for after, or instead of, a scan: rows of the job's ranges, round by round. A round begins when the one before is done.
 * Of few patients, rounds 0 to 2: their data in the index, what the store wrote after the transaction time, and the candidates that were so
 * found. From round 3 on: what exported resources refer to, until nothing new is met.
 */
import { NO_WRITTEN_FILES, type WrittenFiles } from '../plan/segment.ts'
import type { BucketRange } from '../write/key-buckets.ts'

export const ROUNDS = { index: 0, history: 1, candidates: 2, references: 3 } as const

/** `patients`: of the job's, from the first up to and without the second. `from`: when the index had been asked. */
export type RangeTarget =
  | { readonly kind: 'index'; readonly patients: readonly [from: number, to: number] }
  | { readonly kind: 'history'; readonly from: number }
  | { readonly kind: 'candidates' | 'references'; readonly buckets: BucketRange }

export type Range = {
  readonly round: number
  readonly sought: RangeTarget
  /** Rises with each checkpoint: of two writers that began at the same one, one goes on. */
  readonly revision: number
  /** Where it goes on: in the index or the history; of keys, how many were looked at. */
  readonly cursor?: string
  readonly at: number
  /** The blob of the keys it looks at: each once, and none that an earlier round looked at. */
  readonly keys?: string
  readonly seen: number
  readonly isDone: boolean
  readonly written: WrittenFiles
  /** Blobs with the keys it met. */
  readonly met: readonly string[]
}

export const newRange = (round: number, sought: RangeTarget): Range => ({
  ...{ round, sought, revision: 0, at: 0, seen: 0, isDone: false, written: NO_WRITTEN_FILES, met: [] },
})

/** `3-07`: in the order of rounds. */
export const rangeNameOf = (round: number, i: number): string => `${String(round).padStart(4, '0')}-${String(i).padStart(4, '0')}`

/** What the ranges of a round look at, in a blob they share. `before`: the keys that earlier rounds looked at. */
export type RoundSource = { readonly met: readonly string[]; readonly before: readonly string[] }
