/**
 * Format of packed bytes. A dictionary holds byte sequences that are frequent in the data, and packed bytes refer to it. The format suits
 * many short texts that are read one at a time: for each of them, the setup of zlib alone takes longer than unpacking here
 * (test/bench/README.md). Packed bytes begin with the number of unpacked bytes as a varint. Steps follow until that number is reached:
 *
 * | part of a step | content |
 * |---|---|
 * | first byte | upper half: number of literals, or 15 if a varint with the number minus 15 follows; lower half: kind of the last part |
 * | literals | unchanged bytes. The last step may end here |
 * | lower half 0 | 16 bytes: a UUID, which is 36 bytes of text |
 * | lower half 1–14 | two bytes: a position, from which (lower half + 4) bytes are copied |
 * | lower half 15 | a varint, then a position, from which (varint + 19) bytes are copied |
 *
 * A position is an offset in the dictionary, followed by the bytes unpacked so far. A varint has seven bits per byte, lowest first.
 */

/** Maximum bytes to pack. Packing more would block the thread for long, and a dictionary would save little. */
export const MAX_UNPACKED_BYTES = 256_000
/** Half byte for a length that does not fit into it: a varint with the rest follows. Used for literals and for matches. */
export const LENGTH_ESCAPE = 15
/** Minimum bytes of a match. A step with a shorter match saves nothing. */
export const MIN_MATCH_BYTES = 5
export const UUID_MARKER = 0
export const UUID_LENGTH = 36
export const DASH = '-'.charCodeAt(0)

/** Whether a UUID in text form has a dash at the index. https://www.rfc-editor.org/rfc/rfc9562#section-4 */
export const isDashAt = (index: number): boolean => index === 8 || index === 13 || index === 18 || index === 23
