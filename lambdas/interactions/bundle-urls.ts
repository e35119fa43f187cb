/** What the fullUrls of a transaction mean in its entries. https://hl7.org/fhir/R4/bundle.html#references */
import { fhirError } from '../fhir/outcome.ts'
import { RELATIVE } from '../fhir/references.ts'
import { versionOfEtag } from '../fhir/version.ts'
import type { EntryRequest } from './bundle-entry.ts'
import { nameOf } from './key.ts'
import type { MeaningOf } from './resolve-references.ts'
import type { Answer, Target } from './writing.ts'
import type { Head } from './written-head.ts'

/** `told`: the version the entry itself says it is. */
type Meant = { readonly name: string; readonly versionId: number | undefined; readonly told: string | undefined }

type LocatedEntry = { readonly entry: EntryRequest; readonly target: Target | Answer }

export class BundleUrls {
  readonly #known = new Map<string, Meant | undefined>()
  /** Whether a reference to a version was asked for. */
  haveNamedVersions = false

  /** `heads`: of the targets, in order; `staying`: entries whose resources get no other version. FhirError 400 for a fullUrl of two entries. */
  constructor(located: readonly LocatedEntry[], heads: readonly (Head | undefined)[], staying: ReadonlySet<EntryRequest>) {
    let next = 0
    for (const { entry, target } of located) {
      const more = staying.has(entry) ? 0 : 1
      const versionId =
        target.kind === 'target' ? (heads[next++]?.versionId ?? 0) + more : versionOfEtag(target.response.headers?.etag ?? '')
      if (entry.fullUrl === undefined) continue
      if (this.#known.has(entry.fullUrl))
        throw fhirError(400, 'duplicate', 'Two entries have the same fullUrl', `Bundle.entry[${entry.index}].fullUrl`)
      this.#known.set(entry.fullUrl, target.key && { name: nameOf(target.key), versionId, told: entry.resource?.meta?.versionId })
    }
  }

  /** A relative reference is one to the server that the entry's own fullUrl names; one to a version names that which is current afterwards. */
  meaningIn({ fullUrl = '' }: EntryRequest): MeaningOf | undefined {
    if (this.#known.size === 0) return undefined
    const [, base] = RESTFUL.exec(fullUrl) ?? []
    return (reference) => {
      const [, url = reference, version] = OF_A_VERSION.exec(reference) ?? []
      const meant = this.#known.get(url) ?? (base !== undefined && RELATIVE.test(url) ? this.#known.get(`${base}/${url}`) : undefined)
      if (meant === undefined || version === undefined) return meant?.name
      this.haveNamedVersions = true
      return versionOf(meant, version)
    }
  }
}

const versionOf = ({ name, versionId, told = '' }: Meant, version: string): string | undefined =>
  versionId === undefined || (told !== '' && told !== version) ? undefined : `${name}/_history/${versionId}`

const OF_A_VERSION = /^(.+)\/_history\/([A-Za-z0-9\-.]{1,64})$/

const RESTFUL = /^(https?:\/\/.+)\/[A-Z][A-Za-z]*\/[A-Za-z0-9\-.]{1,64}$/
