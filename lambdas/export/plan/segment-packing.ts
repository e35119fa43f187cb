/** Packs the extents of an export into segments. */
import type { SegmentPiece } from './segment.ts'

/**
 * Entries up to which a segment is filled. A large export has larger segments instead of more than about MAX_SEGMENTS, because the workflow
 * state contains their names.
 */
export const SMALLEST = 50_000
export const MAX_SEGMENTS = 1_000
/** Maximum pieces per segment. A store with many partitions reads all of them for every piece, however small. */
const MAX_PIECES = 8

/**
 * Extent of a type in the store, or of a part of it. `entries`: estimated number to scan. `ends`: ascending lastUpdated at which the parts
 * of the scan end. The last one ends the scan.
 */
export type TypeExtent = { readonly type: string; readonly since?: number; readonly entries: number; readonly ends: readonly number[] }

/**
 * Packs the types, in order, into segments of at most MAX_PIECES pieces. A segment is filled up to `smallest` entries. It is filled further
 * if there would be more than about `maxSegments`. A type without entries gets a piece too, because the number of entries is an estimate.
 */
export function packSegments(cut: readonly TypeExtent[], smallest: number, maxSegments: number): readonly (readonly SegmentPiece[])[] {
  const total = cut.reduce((sum, { entries }) => sum + entries, 0)
  const capacity = Math.max(smallest, Math.ceil((total / maxSegments) * 2))
  const segments: { pieces: SegmentPiece[]; entries: number }[] = []
  for (const piece of cut.flatMap((each) => piecesOf(each, capacity))) {
    const last = segments.at(-1)
    if (last !== undefined && last.entries + piece.entries <= capacity && last.pieces.length < MAX_PIECES) {
      last.pieces.push(piece)
      last.entries += piece.entries
    } else segments.push({ pieces: [piece], entries: piece.entries })
  }
  return segments.map(({ pieces }) => pieces)
}

/**
 * Returns the pieces of a type. Each piece joins as many successive parts as fit into `capacity` entries. The parts have about the same
 * number of entries.
 */
function piecesOf({ type, since, entries, ends }: TypeExtent, capacity: number): readonly SegmentPiece[] {
  const each = entries / ends.length
  const together = Math.max(1, Math.min(ends.length, Math.floor(capacity / each)))
  const pieces: SegmentPiece[] = []
  for (let from = 0; from < ends.length; from += together) {
    const to = Math.min(from + together, ends.length)
    const after = from === 0 ? since : ends[from - 1]
    pieces.push({ type, ...(after === undefined ? {} : { since: after }), until: ends[to - 1]!, entries: Math.round(each * (to - from)) })
  }
  return pieces
}
