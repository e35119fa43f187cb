/** Collects unindexable versions and saves them to the state that all processes share. */
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { VersionKey } from '../../ports/store/resource-store.ts'
import { recordUnindexable } from '../lifecycle/definitions.ts'
import { changeByTenant } from '../lifecycle/shared-index-state.ts'
import type { SharedIndexState } from '../lifecycle/state.ts'

/**
 * Error for a version that is not indexed, or not by one parameter. The message names the version and the reason, and holds no content of
 * the resource.
 */
export class NotIndexed extends Error {
  readonly version: VersionKey

  constructor({ tenant, type, id, versionId }: VersionKey, reason: string) {
    super(
      `${type}/${id}/_history/${versionId} of tenant ${tenant} is not indexed: ${reason}. GET /$reindex-status lists all such resources`,
    )
    this.version = { tenant, type, id, versionId }
  }
}

type Found = Pick<IndexDocument, 'tenant' | 'type' | 'id'> & { readonly versionId: number }

export class UnindexableVersions {
  readonly #state: Pick<SharedIndexState, 'change'>
  #found: readonly { readonly version: Found; readonly reason: string }[] = []

  constructor(state: Pick<SharedIndexState, 'change'>) {
    this.#state = state
  }

  /** Adds a version that could not be extracted. Nothing is stored until `save`. */
  readonly addVersion = (version: Found, error: unknown): void => {
    this.#add(version, error instanceof Error ? error.name : typeof error)
  }

  /** Adds a document that the index rejected. Nothing is stored until `save`. */
  readonly addDocument = ({ tenant, type, id, version }: IndexDocument, reason: string): void => {
    this.#add({ tenant, type, id, versionId: version }, reason)
  }

  #add(version: Found, reason: string): void {
    this.#found = [...this.#found, { version, reason }]
  }

  /** Saves all entries added before the call. Several calls may run at once. */
  async save(): Promise<void> {
    const found = this.#found
    if (found.length === 0) return
    const named = found.map((each) => ({ ...each, tenant: each.version.tenant }))
    await changeByTenant(
      this.#state,
      named,
      (state, some) => some.reduce((now, { version, reason }) => recordUnindexable(now, version, reason), state),
      ['poisoned'],
    )
    const saved = new Set(found)
    this.#found = this.#found.filter((each) => !saved.has(each))
  }
}
