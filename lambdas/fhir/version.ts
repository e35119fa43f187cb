/**
 * What a version shows of itself: meta, ETag, Last-Modified, Location.
 * https://hl7.org/fhir/R4/http.html#versioning, https://hl7.org/fhir/R4/resource.html#Meta
 */
import type { Resource } from './resource.ts'

/** ms since 1970 → `2020-05-14T10:00:00.000Z`. */
export const toInstant = remembered((ms: number) => new Date(ms).toISOString())

export const toEtag = (versionId: number): string => `W/"${versionId}"`

export const toHttpDate = remembered((ms: number) => new Date(ms).toUTCString())

/** The resource with the id and meta the server gives it; a client's versionId and lastUpdated are ignored. */
export function stampResource(resource: Resource, id: string, versionId: number, lastUpdated: number): Resource & { readonly id: string } {
  return { ...FIRST, ...resource, id, meta: { ...resource.meta, versionId: String(versionId), lastUpdated: toInstant(lastUpdated) } }
}

/** What stands before the other elements. */
const FIRST = { resourceType: '', id: '', meta: {} }

/** `W/"3"` or `"3"` → 3; undefined where it names no version. */
export function versionOfEtag(text: string): number | undefined {
  const [, digits] = /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** What `If-Match` names; tags of others are none of ours. undefined: what is no list of tags. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.1 */
export function versionsOfIfMatch(text: string): readonly number[] | undefined {
  const tags = text.split(',').filter((tag) => tag.trim() !== '')
  if (tags.length === 0 || !tags.every((tag) => /^\s*(?:W\/)?"[\x21\x23-\x7e]*"\s*$/.test(tag))) return undefined
  return tags.flatMap((tag) => versionOfEtag(tag) ?? [])
}

/** What `If-None-Match` names, also several and bare numbers; tags of others are none of ours. https://www.rfc-editor.org/rfc/rfc9110#section-13.1.2 */
export const versionsOfIfNoneMatch = (text: string): readonly number[] =>
  text.split(',').flatMap((tag) => versionOfEtag(tag) ?? parseVersionNumber(tag.trim()) ?? [])

/** A versionId in a URL → its number; undefined for anything this server never gave out. */
export const parseVersionNumber = (text: string): number | undefined => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined)

/** Hundreds of resources are written in the same millisecond. */
function remembered<T>(write: (time: T) => string): (time: T) => string {
  let last: T | undefined
  let text = ''
  return (time) => {
    if (time !== last) [last, text] = [time, write(time)]
    return text
  }
}
