/**
 * Format of packed bytes. Packing refers to a dictionary of similar bytes. It is meant for many short texts that are read one at a time:
 * zlib spends more on the setup for each than unpacking takes here (test/bench/README.md). Packed bytes are the number of unpacked bytes,
 * then steps until there are that many:
 *
 * | part | content |
 * |---|---|
 * | first byte | upper half: number of literals, 15: 15 plus a varint; lower half: content after the literals |
 * | literals | unchanged bytes. The last step ends here if no bytes are missing |
 * | lower half 0 | 16 bytes: a UUID, which is 36 bytes of text |
 * | lower half 1–14 | two bytes: a position, from which the value of the lower half plus 4 bytes are copied |
 * | lower half 15 | a varint, then a position, from which the value of the varint plus 19 bytes are copied |
 *
 * Positions count through the dictionary, then through the bytes unpacked so far. A varint has seven bits per byte, lowest first.
 */

/** Maximum bytes to pack. More would occupy the thread for long, and would gain little from a dictionary. */
export const MAX_UNPACKED_BYTES = 256_000
/** Half byte that announces a varint for a longer length, of literals or of a match. */
export const LENGTH_ESCAPE = 15
/** Minimum bytes of a match. Shorter ones would save nothing. */
export const MIN_MATCH_BYTES = 5
export const UUID_MARKER = 0
export const UUID_LENGTH = 36
export const DASH = '-'.charCodeAt(0)

/** Whether a UUID has a dash at the index. https://www.rfc-editor.org/rfc/rfc9562#section-4 */
export const isDashAt = (index: number): boolean => index === 8 || index === 13 || index === 18 || index === 23
