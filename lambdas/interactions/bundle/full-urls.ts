/** References by fullUrl between the entries of a transaction. https://hl7.org/fhir/R4/bundle.html#references */
import { fullUrlResolver, type VersionedEntry } from '../../fhir/full-urls.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { versionOfEtag } from '../../fhir/version.ts'
import { nameOf } from '../resources/request-key.ts'
import type { Head } from '../writing/head-access.ts'
import type { ReferenceTargetOf } from '../writing/reference-resolution.ts'
import type { ResponseWithoutWrite, WriteTarget } from '../writing/write-loop.ts'
import type { EntryRequest } from './entry.ts'

type Meant = VersionedEntry & { readonly name: string; readonly versionId: number | undefined }

type LocatedEntry = { readonly entry: EntryRequest; readonly target: WriteTarget | ResponseWithoutWrite }

export class BundleFullUrls {
  readonly #known = new Map<string, Meant | undefined>()
  /** Whether a resolved reference names a version. Its text then depends on which other entries add a version. */
  haveNamedVersions = false

  /**
   * `located`: all writes. `heads`: current versions of those that have a target, in order. `staying`: entries that add no version. Throws
   * FhirError 400 if two entries have the same fullUrl.
   */
  constructor(located: readonly LocatedEntry[], heads: readonly (Head | undefined)[], staying: ReadonlySet<EntryRequest>) {
    let next = 0
    for (const { entry, target } of located) {
      const more = staying.has(entry) ? 0 : 1
      const versionId =
        target.kind === 'target' ? (heads[next++]?.versionId ?? 0) + more : versionOfEtag(target.response.headers?.etag ?? '')
      if (entry.fullUrl === undefined) continue
      // guard: full-url-is-unique
      if (this.#known.has(entry.fullUrl))
        throw fhirError(400, 'duplicate', 'Two entries have the same fullUrl', `Bundle.entry[${entry.index}].fullUrl`)
      this.#known.set(entry.fullUrl, target.key && { name: nameOf(target.key), versionId, version: entry.resource?.meta?.versionId })
    }
  }

  /**
   * Returns the resolver for references in the entry, or undefined if no entry has a fullUrl. A reference to a version becomes a reference
   * to the version that is current after the transaction.
   */
  meaningIn({ fullUrl }: EntryRequest): ReferenceTargetOf | undefined {
    if (this.#known.size === 0) return undefined
    const meantBy = fullUrlResolver(this.#known, fullUrl)
    return (reference) => {
      const meant = meantBy(reference)
      if (meant?.version === undefined) return meant?.entry.name
      this.haveNamedVersions = true
      const { name, versionId } = meant.entry
      return versionId === undefined ? undefined : `${name}/_history/${versionId}`
    }
  }
}
