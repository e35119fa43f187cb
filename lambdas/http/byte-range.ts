/**
 * Parses byte ranges of a file, and compares the validators that a client sends. https://www.rfc-editor.org/rfc/rfc9110#section-13,
 * #section-14
 */

/** Validators of a file. `etags`: strong ETags with quotes, of all its encodings. `lastModified`: HTTP date. */
export type Validators = { readonly etags: readonly string[]; readonly lastModified: string }

/** Offset of the first byte, and offset after the last. `beyond`: the range lies outside the file. undefined: the file is sent whole. */
export type ByteRange = readonly [from: number, to: number] | 'beyond' | undefined

/** Maximum characters of the header Range. A longer one is answered 416. */
const LONGEST = 100

/**
 * Returns the range in the header Range, or `beyond` if it lies outside the file or the header is too long. Returns undefined for several
 * ranges and other text, so that the whole file is sent.
 */
export function parseByteRange(range: string | undefined, size: number): ByteRange {
  if (range !== undefined && (range.length > LONGEST || /\d{16}/.test(range))) return 'beyond'
  const [, first = '', last = ''] = /^bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(range ?? '') ?? []
  if (first === '') return last === '' ? undefined : suffix(Number(last), size)
  const [from, to] = [Number(first), last === '' ? size : Number(last) + 1]
  if (to <= from && last !== '') return undefined
  return from >= size ? 'beyond' : [from, Math.min(to, size)]
}

const suffix = (length: number, size: number): ByteRange => (length === 0 || size === 0 ? 'beyond' : [Math.max(0, size - length), size])

/** Whether a range may be sent: If-Range is absent, or names an ETag or exactly the date of this file. */
export const matchesIfRange = (ifRange: string | undefined, { etags, lastModified }: Validators): boolean =>
  ifRange === undefined || etags.includes(ifRange.trim()) || ifRange.trim() === lastModified

/** Whether the client already has this file, by If-None-Match or, in its absence, by If-Modified-Since. */
export function isNotModified(headers: Readonly<Record<string, string>>, { etags, lastModified }: Validators): boolean {
  const { 'if-none-match': noneMatch, 'if-modified-since': since } = headers
  if (noneMatch !== undefined)
    return noneMatch.trim() === '*' || noneMatch.split(',').some((tag) => etags.includes(tag.trim().replace(/^W\//, '')))
  return since !== undefined && Date.parse(lastModified) <= Date.parse(since)
}
