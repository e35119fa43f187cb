/**
 * Bytes in fewer bytes, by what stands in a dictionary of bytes like them. For many short texts of which each is read alone: zlib sets up more for
 * each than it takes to unpack it (test/bench/README.md). Packed are the number of bytes, then steps until there are so many:
 *
 * | part | which is |
 * |---|---|
 * | a byte | its upper half: how many bytes are literals, 15: as many more as a varint says; its lower half: what comes after them |
 * | literals | as they are. Where nothing is missing any more, the step ends here |
 * | lower half 0 | 16 bytes: a UUID, which is 36 bytes of text |
 * | lower half 1–14 | a position, two bytes: so many bytes and four more, from there on |
 * | 15 | a varint, then the position: so many bytes as it says and 19 more |
 *
 * Positions count through the dictionary and on through what is unpacked so far. Varints have seven bits a byte, the lowest first.
 */

/** Bytes: more takes the thread for long, and gains little by a dictionary. */
export const MAX_UNPACKED_BYTES = 256_000
/** Lengths of literals and of matches that a half cannot tell. */
export const LENGTH_ESCAPE = 15
/** Of a match; shorter ones would save nothing. */
export const MIN_MATCH_BYTES = 5
export const UUID_MARKER = 0
export const UUID_LENGTH = 36
export const DASH = '-'.charCodeAt(0)

/** Whether a dash stands there in a UUID. https://www.rfc-editor.org/rfc/rfc9562#section-4 */
export const isDashAt = (index: number): boolean => index === 8 || index === 13 || index === 18 || index === 23
