/**
 * A version as a line of NDJSON. The stored bytes are copied unless something must change: line breaks, relative URLs of attachments,
 * `_elements`, parts that a view hides.
 */
import { mayChange, type ViewOptions, viewOf } from '../../access/view/view.ts'
import { isHiddenType, type View } from '../../access/view/view-rules.ts'
import { withAbsoluteAttachments } from '../../fhir/attachment-urls.ts'
import { writeJson } from '../../fhir/json.ts'
import { selectElements } from '../../fhir/summary.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { RequestedElement } from '../export-request.ts'
import type { PartnerExport } from '../partner-export.ts'
import { resourceOf } from '../versions/version-body.ts'

/** `elements`: elements in the form that summary.ts expects. Empty: all elements. `view`: absent: whole resources. */
export type LineOptions = { readonly baseUrl: string; readonly elements: readonly string[]; readonly view?: LineView }

export type LineView = ViewOptions & { readonly of: View }

export const lineOptionsOf = ({
  baseUrl,
  asked,
  partner,
}: {
  readonly baseUrl: string
  readonly asked: { readonly elements: readonly RequestedElement[] }
  readonly partner?: PartnerExport
}): LineOptions => ({
  baseUrl,
  elements: asked.elements.map(({ type, element }) => (type === undefined ? '' : `${type}.`) + element.replace('[x]', '')),
  ...(partner === undefined ? {} : { view: { of: partner.view, isLoaded: (profile) => partner.basis?.includes(profile) === true } }),
})

/**
 * Returns the line without its line end, or undefined if the view hides the resource. Throws the fault `store-damaged` if the content must
 * change and is not JSON.
 */
export function lineOf({ type, body }: ResourceVersion, { baseUrl, elements, view }: LineOptions): Uint8Array | undefined {
  // guard: export-line-of-shown-type
  if (view !== undefined && isHiddenType(type, view.of)) return undefined
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length)
  const changing = view !== undefined && mayChange(type, bytes, view.of) ? view : undefined
  const isRelative = mayHaveRelativeUrl(bytes)
  if (changing === undefined && elements.length === 0 && !isRelative) return onOneLine(bytes)
  const whole = resourceOf({ body })
  const absolute = isRelative ? withAbsoluteAttachments(whole, baseUrl) : whole
  // The view comes last, because it adds the tag SUBSETTED only if the selection has not.
  const selected = elements.length === 0 ? absolute : selectElements(absolute, elements)
  const shown = changing === undefined ? selected : viewOf(selected, changing.of, changing)
  if (shown === undefined) return undefined
  return shown === whole ? onOneLine(bytes) : Buffer.from(writeJson(shown))
}

/**
 * Returns a line of the file of deletions: a Bundle that names the deleted resources. Returns undefined if there are none that the view
 * shows. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#response---complete-status
 */
export function deletionLineOf(versions: readonly ResourceVersion[], { view }: Pick<LineOptions, 'view'>): Uint8Array | undefined {
  const shown = view === undefined ? versions : versions.filter(({ type }) => !isHiddenType(type, view.of))
  if (shown.length === 0) return undefined
  return Buffer.from(
    JSON.stringify({
      resourceType: 'Bundle',
      type: 'transaction',
      entry: shown.map(({ type, id }) => ({ request: { method: 'DELETE', url: `${type}/${id}` } })),
    }),
  )
}

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
