/**
 * Version metadata of a resource: meta, ETag, Last-Modified, Location. https://hl7.org/fhir/R4/http.html#versioning,
 * https://hl7.org/fhir/R4/resource.html#Meta
 */
import type { Resource } from './resource.ts'

/** Returns milliseconds since 1970 as `2020-05-14T10:00:00.000Z`. */
export const toInstant = remembered((ms: number) => new Date(ms).toISOString())

export const toEtag = (versionId: number): string => `W/"${versionId}"`

export const toHttpDate = remembered((ms: number) => new Date(ms).toUTCString())

/** Returns the resource with the id and meta that the server assigns. Ignores the versionId and lastUpdated of the client. */
export function stampResource(resource: Resource, id: string, versionId: number, lastUpdated: number): Resource & { readonly id: string } {
  return { ...FIRST, ...resource, id, meta: { ...resource.meta, versionId: String(versionId), lastUpdated: toInstant(lastUpdated) } }
}

/** Members that precede the other members in the JSON. */
const FIRST = { resourceType: '', id: '', meta: {} }

/** Returns the version of an ETag (`W/"3"` or `"3"` → 3), or undefined if it names no version. */
export function versionOfEtag(text: string): number | undefined {
  const [, digits] = /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Returns the versions in `If-Match`, without tags that this server never issued. Returns undefined if the text is not a list of tags.
 * https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function versionsOfIfMatch(text: string): readonly number[] | undefined {
  const tags = text.split(',').filter((tag) => tag.trim() !== '')
  if (tags.length === 0 || !tags.every((tag) => /^\s*(?:W\/)?"[\x21\x23-\x7e]*"\s*$/.test(tag))) return undefined
  return tags.flatMap((tag) => versionOfEtag(tag) ?? [])
}

/**
 * Returns the versions in `If-None-Match`, without tags that this server never issued. Accepts lists and bare numbers.
 * https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
 */
export const versionsOfIfNoneMatch = (text: string): readonly number[] =>
  text.split(',').flatMap((tag) => versionOfEtag(tag) ?? parseVersionNumber(tag.trim()) ?? [])

/** Returns the number of a versionId in a URL, or undefined if this server never issues such an id. */
export const parseVersionNumber = (text: string): number | undefined => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined)

/** Returns `write` with its last result cached. Hundreds of resources are written in the same millisecond. */
function remembered<T>(write: (time: T) => string): (time: T) => string {
  let last: T | undefined
  let text = ''
  return (time) => {
    if (time !== last) [last, text] = [time, write(time)]
    return text
  }
}
