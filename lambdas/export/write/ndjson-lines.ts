/**
 * A version as a line of NDJSON. The stored bytes are copied unless something must change: line breaks, relative URLs of attachments,
 * `_elements`.
 */
import { withAbsoluteAttachments } from '../../fhir/attachment-urls.ts'
import { writeJson } from '../../fhir/json.ts'
import { selectElements } from '../../fhir/summary.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { RequestedElement } from '../export-request.ts'
import { resourceOf } from '../versions/version-body.ts'

/** `elements`: elements in the form that summary.ts expects. Empty: all elements. */
export type LineOptions = { readonly baseUrl: string; readonly elements: readonly string[] }

export const lineOptionsOf = ({
  baseUrl,
  asked,
}: {
  readonly baseUrl: string
  readonly asked: { readonly elements: readonly RequestedElement[] }
}): LineOptions => ({
  baseUrl,
  elements: asked.elements.map(({ type, element }) => (type === undefined ? '' : `${type}.`) + element.replace('[x]', '')),
})

/** Returns the line without its line end. Throws the fault `store-damaged` if the content must change and is not JSON. */
export function lineOf({ body }: ResourceVersion, { baseUrl, elements }: LineOptions): Uint8Array {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  if (elements.length === 0 && !mayHaveRelativeUrl(bytes)) return onOneLine(bytes)
  const whole = resourceOf({ body })
  const absolute = withAbsoluteAttachments(whole, baseUrl)
  const selected = elements.length === 0 ? absolute : selectElements(absolute, elements)
  return selected === whole ? onOneLine(bytes) : Buffer.from(writeJson(selected))
}

/**
 * Returns a line of the file of deletions: a Bundle that names the deleted resources.
 * https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status
 */
export const deletionLineOf = (versions: readonly ResourceVersion[]): Uint8Array =>
  Buffer.from(
    JSON.stringify({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: versions.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } })),
    }),
  )

const [LF, CR, SPACE, QUOTE, COLON] = [10, 13, 32, 34, 58]

/** Replaces raw line breaks by spaces. They occur only between tokens, because strings escape them. */
function onOneLine(bytes: Buffer): Buffer {
  if (!bytes.includes(LF) && !bytes.includes(CR)) return bytes
  return Buffer.from(bytes).map((byte) => (byte === LF || byte === CR ? SPACE : byte)) as Buffer
}

/**
 * End of the member name `url` with its quote. The search omits the first quote: quotes are frequent, and a search checks every occurrence
 * of its first byte.
 */
const NAME = Buffer.from('url"')

/**
 * Whether a member named `url`, as in attachments and extensions, may hold a URL without a scheme. Stored member names contain no escapes.
 */
function mayHaveRelativeUrl(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(NAME); at >= 0; at = bytes.indexOf(NAME, at)) {
    const isName = bytes[at - 1] === QUOTE
    at = pastBlanks(bytes, at + NAME.length)
    if (!isName) continue
    if (bytes[at] !== COLON) continue
    at = pastBlanks(bytes, at + 1)
    if (bytes[at] === QUOTE && !hasScheme(bytes, at + 1)) return true
  }
  return false
}

function pastBlanks(bytes: Buffer, from: number): number {
  let at = from
  while (bytes[at]! <= SPACE) at++
  return at
}

/**
 * Whether a text starts with a scheme such as `http:` or `urn:`: a letter, then letters, digits, `+`, `-`, `.`.
 * https://www.rfc-editor.org/rfc/rfc3986#section-3.1
 */
function hasScheme(bytes: Buffer, from: number): boolean {
  for (let at = from; ; at++) {
    const byte = bytes[at]!
    if (byte === COLON) return at > from
    const isLetter = (byte | 32) >= 97 && (byte | 32) <= 122
    const isMore = at > from && ((byte >= 48 && byte <= 57) || byte === 43 || byte === 45 || byte === 46)
    if (!isLetter && !isMore) return false
  }
}
