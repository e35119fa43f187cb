/** Ports and entries of search pages. */
import { createHash } from 'node:crypto'
import type { BundleEntry } from '../../fhir/bundle.ts'
import { type Issue, operationOutcomeOf } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { GroupPosition, HitPosition } from '../../ports/search/plan.ts'
import type { Hit, Searches } from '../../ports/search/search-index.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { shownEntry } from '../resources/shown-entry.ts'
import { readUpTo } from './bounded-reads.ts'
import { MAX_PAGE_BYTES } from './page-limits.ts'

/** Ports of the search interaction. */
export type SearchPorts = Pick<Ports, 'resources' | 'index' | 'clock' | 'seal' | 'blobs' | 'expressions'>

/** Ports of one page of results. The index may be decorated. */
export type PagePorts = Omit<SearchPorts, 'index'> & { readonly index: Searches }

/** Entries of one page, its total if known, and the start of the next page if there is one. */
export type SearchPage = { readonly entries: readonly BundleEntry[]; readonly total?: number; readonly next?: NextPage }

/**
 * Start of the next page. `after`: position of the last match or group of this page. `shown`: number of matches or groups on this page,
 * fewer than requested if they are large.
 */
export type NextPage = { readonly after: HitPosition | GroupPosition; readonly shown: number }

/**
 * Reads the versions of the hits, up to the body that fills `room` bytes, so the result may be shorter than `hits`. Throws the fault
 * `index-ahead` if the store lacks a version.
 */
export async function versionsOf(
  { resources }: Pick<PagePorts, 'resources'>,
  request: FhirRequest,
  hits: readonly Hit[],
  room = MAX_PAGE_BYTES,
): Promise<readonly ResourceVersion[]> {
  const seen = resources(request, 's')
  const keys = hits.map(({ tenant = request.tenant, type, id, version }) => ({ tenant, type, id, versionId: version }))
  const versions = await readUpTo(room, keys, seen.versions)
  return versions.map((version) => {
    if (version === undefined) throw new MachineFault('index-ahead', 'the index knows a version that the store does not have')
    return version
  })
}

/** Returns an entry with issues about the search. Like every entry it has a fullUrl. https://hl7.org/fhir/R4/bundle.html#bundle-unique */
export const outcomeEntry = (...issues: readonly Issue[]): BundleEntry => ({
  fullUrl: uuidOf(JSON.stringify(issues)),
  resource: operationOutcomeOf(issues),
  more: { search: { mode: 'outcome' } },
})

/**
 * Returns a UUID derived from a hash of the text, so that equal text has the same UUID. https://www.rfc-editor.org/rfc/rfc9562#section-5.8
 */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns the entry of a match. `extension`: extensions of its `search` element, such as its distance or its group. */
export const matchEntry = (request: FhirRequest, version: ResourceVersion, extension: readonly object[] = []): BundleEntry =>
  shownEntry(request, version, { search: { ...(extension.length === 0 ? {} : { extension }), mode: 'match' } })
