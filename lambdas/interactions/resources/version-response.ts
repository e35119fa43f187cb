/** Responses that show a stored version, and errors for versions that cannot be shown. https://hl7.org/fhir/R4/http.html#read */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import { toEtag, toHttpDate } from '../../fhir/version.ts'
import type { ResourceKey, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, FhirResponse } from '../interaction.ts'
import type { VisibleStore } from '../visible-store.ts'
import { readOwners } from './patient-data.ts'
import { rawBinary } from './raw-binary.ts'

/** `note`: end of the text. */
export const notFound = ({ type, id }: { readonly type: string; readonly id: string }, note = ''): FhirError =>
  fhirError(404, 'not-found', `There is no resource ${type}/${id}${note}`)

export const gone = ({ type, id }: ResourceKey, status: 404 | 410): FhirError =>
  fhirError(status, 'deleted', `The resource ${type}/${id} was deleted`)

/** Returns the current version of a resource. Throws FhirError 404 if the resource is missing, deleted or hidden. */
export async function readCurrentVersion(seen: Pick<ResourceReader, 'current'>, key: ResourceKey): Promise<ResourceVersion> {
  const [head] = await seen.current([key])
  if (head === undefined) throw notFound(key)
  if (head.deleted) throw gone(key, 404)
  return head
}

/** Returns the instant rounded down to the second, as in the header Last-Modified. Both are in milliseconds. */
export const secondOf = (ms: number): number => Math.floor(ms / 1000) * 1000

export const versionHeadersOf = ({
  versionId,
  lastUpdated,
}: Pick<ResourceVersion, 'versionId' | 'lastUpdated'>): Record<string, string> => ({
  etag: toEtag(versionId),
  'last-modified': toHttpDate(lastUpdated),
})

export const locationOf = (baseUrl: string, { type, id, versionId }: Pick<ResourceVersion, 'type' | 'id' | 'versionId'>): string =>
  `${baseUrl}/${type}/${id}/_history/${versionId}`

/**
 * Returns 200 with the version, or 304 if If-None-Match or If-Modified-Since shows that the client has it.
 * https://hl7.org/fhir/R4/http.html#cread
 */
export async function versionResponse(
  version: ResourceVersion,
  request: FhirRequest,
  seen: Pick<VisibleStore, 'current'>,
): Promise<FhirResponse> {
  const { preconditions, rawAccept, reading } = request
  const { ifNoneMatch, ifModifiedSince } = preconditions
  const headers = { ...versionHeadersOf(version), ...(version.type === 'Binary' ? { vary: 'Accept' } : {}) }
  const { lastUpdated } = version
  const about = await readOwners(seen, version, reading)
  // If the client sends both, only If-None-Match decides: https://www.rfc-editor.org/rfc/rfc9110#section-13.2.2
  const known =
    ifNoneMatch !== undefined
      ? ifNoneMatch === '*' || ifNoneMatch.includes(version.versionId)
      : ifModifiedSince !== undefined && secondOf(lastUpdated) <= ifModifiedSince
  if (known) return { status: 304, headers, lastUpdated, about }
  return rawAccept === undefined
    ? { status: 200, headers, lastUpdated, about, body: version.body }
    : { ...rawBinary(version, headers, rawAccept), about }
}
