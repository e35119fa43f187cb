/** Bundle entries that show stored versions, with the compartments for the audit record. */
import { type BundleEntry, isBundlePage } from '../../fhir/bundle.ts'
import type { Element } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirRequest, FhirResponse } from '../interaction.ts'
import { ownersOf } from './patient-data.ts'
import { nameOf } from './request-key.ts'

type Shower = Pick<FhirRequest, 'baseUrl' | 'reading'>

/** Returns the entry of a version. The entry of a deletion has no resource. */
export const shownEntry = ({ baseUrl, reading }: Shower, version: ResourceVersion, more: Element): BundleEntry => ({
  fullUrl: `${baseUrl}/${nameOf(version)}`,
  ...(version.deleted ? {} : { resource: version.body }),
  more,
  about: ownersOf(version, reading),
})

/** Returns the compartments of all versions that a response shows, for the audit record. */
export function shownCompartmentsOf({ about = [], body }: Pick<FhirResponse, 'about' | 'body'>): readonly string[] {
  if (!isBundlePage(body)) return about
  // guard: shown-patients-are-recorded
  return [...about, ...body.entries.flatMap((entry) => entry.about ?? [])]
}
