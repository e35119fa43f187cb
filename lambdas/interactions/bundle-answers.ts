/** The answers to the entries of a Bundle, as they come. What nobody will see is let go at once, and reads end where there is too much. */
import type { BundleEntry } from '../fhir/bundle.ts'
import { fhirError } from '../fhir/outcome.ts'
import type { VersionKey } from '../ports/resource-store.ts'
import { type EntryRequest, responseEntry } from './bundle-entry.ts'
import type { FhirRequest, FhirResponse } from './interaction.ts'

/** Bytes of the resources in all answers. */
const HEAVIEST = 50_000_000

export class BundleAnswers {
  readonly #request: FhirRequest
  readonly #entries: BundleEntry[] = []
  readonly #written: (readonly VersionKey[])[] = []
  #weight = 0

  constructor(request: FhirRequest) {
    this.#request = request
  }

  /** FhirError 403 for a read when the answers are as heavy as they may be. */
  checkRoom({ method, url }: EntryRequest): void {
    const isRead = method === 'GET' || /\/_search(?:\?|$)/.test(url)
    if (isRead && this.#weight > HEAVIEST)
      throw fhirError(
        403,
        'too-costly',
        `The answers to the entries before have ${HEAVIEST} bytes: ask for the others in a Bundle of their own`,
      )
  }

  add(entry: EntryRequest, response: FhirResponse): void {
    const answered = responseEntry(response, entry, this.#request)
    this.#entries[entry.index] = answered
    this.#written[entry.index] = response.written ?? []
    if (answered.resource instanceof Uint8Array) this.#weight += answered.resource.length
  }

  get entries(): readonly BundleEntry[] {
    return this.#entries
  }

  get written(): readonly VersionKey[] {
    return this.#written.flat()
  }
}
