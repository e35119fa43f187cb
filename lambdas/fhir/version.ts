/**
 * What a version shows of itself: meta, ETag, Last-Modified, Location.
 * https://hl7.org/fhir/R4/http.html#versioning, https://hl7.org/fhir/R4/resource.html#Meta
 */
import type { Resource } from './resource.ts'

/** ms since 1970 → `2020-05-14T10:00:00.000Z`. */
export const instant = remembered((ms) => new Date(ms).toISOString())

export const etag = (versionId: number): string => `W/"${versionId}"`

export const lastModified = remembered((ms) => new Date(ms).toUTCString())

/** The resource with the id and meta the server gives it; a client's versionId and lastUpdated are ignored. */
export function stamp(resource: Resource, id: string, versionId: number, lastUpdated: number): Resource & { readonly id: string } {
  const { resourceType, id: _, meta, ...elements } = resource
  return { resourceType, id, meta: { ...meta, versionId: String(versionId), lastUpdated: instant(lastUpdated) }, ...elements }
}

/** `W/"3"` or `"3"` → 3; undefined where it names no version. */
export function versionOfEtag(text: string): number | undefined {
  const [, digits] = /^\s*(?:W\/)?"(\d{1,9})"\s*$/.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** A versionId in a URL → its number; undefined for anything this server never gave out. */
export const versionNumber = (text: string): number | undefined => (/^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined)

/** Hundreds of resources are written in the same millisecond. */
function remembered(write: (ms: number) => string): (ms: number) => string {
  let last = Number.NaN
  let text = ''
  return (ms) => {
    if (ms !== last) [last, text] = [ms, write(ms)]
    return text
  }
}
