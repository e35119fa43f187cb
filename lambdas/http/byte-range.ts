/** Parts of a file, and whether a client has it already. https://www.rfc-editor.org/rfc/rfc9110#section-13, #section-14 */

/** Of a file: strong, with its quotes; an HTTP date. */
export type Validators = { readonly etags: readonly string[]; readonly lastModified: string }

/** From the first byte to before the last. `beyond`: there is no such part. undefined: the file is sent whole. */
export type ByteRange = readonly [from: number, to: number] | 'beyond' | undefined

/** Maximum characters of the header. A longer one is answered 416. */
const LONGEST = 100

/** Returns one range. Returns undefined for several ranges and for other texts, which send the whole file. */
export function parseByteRange(range: string | undefined, size: number): ByteRange {
  if (range !== undefined && (range.length > LONGEST || /\d{16}/.test(range))) return 'beyond'
  const [, first = '', last = ''] = /^bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(range ?? '') ?? []
  if (first === '') return last === '' ? undefined : suffix(Number(last), size)
  const [from, to] = [Number(first), last === '' ? size : Number(last) + 1]
  if (to <= from && last !== '') return undefined
  return from >= size ? 'beyond' : [from, Math.min(to, size)]
}

const suffix = (length: number, size: number): ByteRange => (length === 0 || size === 0 ? 'beyond' : [Math.max(0, size - length), size])

/** Whether the part is of the file the client has the other part of. A date must be the very same. */
export const matchesIfRange = (ifRange: string | undefined, { etags, lastModified }: Validators): boolean =>
  ifRange === undefined || etags.includes(ifRange.trim()) || ifRange.trim() === lastModified

/** If-None-Match decides alone where both are sent. */
export function isNotModified(headers: Readonly<Record<string, string>>, { etags, lastModified }: Validators): boolean {
  const { 'if-none-match': noneMatch, 'if-modified-since': since } = headers
  if (noneMatch !== undefined)
    return noneMatch.trim() === '*' || noneMatch.split(',').some((tag) => etags.includes(tag.trim().replace(/^W\//, '')))
  return since !== undefined && Date.parse(lastModified) <= Date.parse(since)
}
