/**
 * Version metadata of a resource: meta, ETag, Last-Modified, Location. https://hl7.org/fhir/R4/http.html#versioning,
 * https://hl7.org/fhir/R4/resource.html#Meta
 */
import type { Resource } from './resource.ts'

/** Returns milliseconds since 1970 as a FHIR instant in UTC: `2020-05-14T10:00:00.000Z`. */
export const toInstant = remembered((ms: number) => new Date(ms).toISOString())

export const toEtag = (versionId: number): string => `W/"${versionId}"`

export const toHttpDate = remembered((ms: number) => new Date(ms).toUTCString())

/**
 * Returns the resource with the id, versionId and lastUpdated that the server assigns, in place of those of the client. Other members of
 * meta stay.
 */
export function stampResource(resource: Resource, id: string, versionId: number, lastUpdated: number): Resource & { readonly id: string } {
  return { ...FIRST, ...resource, id, meta: { ...resource.meta, versionId: String(versionId), lastUpdated: toInstant(lastUpdated) } }
}

/** Members that come first in the JSON, in this order. */
const FIRST = { resourceType: '', id: '', meta: {} }

/** Returns the version number in an ETag (`W/"3"` or `"3"` → 3), or undefined if it contains none. */
export function versionOfEtag(text: string): number | undefined {
  const [, digits] = /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/**
 * Returns the versions in `If-Match`. Ignores ETags that this server never issues. Returns undefined if the text is not a list of ETags.
 * https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1
 */
export function versionsOfIfMatch(text: string): readonly number[] | undefined {
  const tags = text.split(',').filter((tag) => tag.trim() !== '')
  if (tags.length === 0 || !tags.every((tag) => /^\s*(?:W\/)?"[\x21\x23-\x7e]*"\s*$/.test(tag))) return undefined
  return tags.flatMap((tag) => versionOfEtag(tag) ?? [])
}

/**
 * Returns the versions in `If-None-Match`. Ignores ETags that this server never issues, and other texts. Accepts lists and bare numbers.
 * https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2
 */
export const versionsOfIfNoneMatch = (text: string): readonly number[] =>
  text.split(',').flatMap((tag) => versionOfEtag(tag) ?? parseVersionNumber(tag.trim()) ?? [])

/** Returns the number of a versionId in a URL, or undefined if this server never issues such an id. */
export const parseVersionNumber = (text: string): number | undefined => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined)

/** Returns a function that calls `write` and caches its last result. Hundreds of resources are written in the same millisecond. */
function remembered<T>(write: (time: T) => string): (time: T) => string {
  let last: T | undefined
  let text = ''
  return (time) => {
    if (time !== last) [last, text] = [time, write(time)]
    return text
  }
}
