/** Search contexts and serving indices from a cached copy of the index state. Each process caches its own copy for ten seconds. */
import type { FormatChanges } from '../search/documents/changed-keys.ts'
import type { SearchContext } from '../search/search-context.ts'
import { documentFormatOf } from './document-format.ts'
import { formatChangesOf } from './lifecycle/index-retention.ts'
import type { IndexState, SharedIndexState } from './lifecycle/state.ts'
import { NO_STATE } from './lifecycle/stored-state.ts'
import { TenantSearchContexts } from './tenant-search-contexts.ts'

/** How long the cached copy of the index state is used, in milliseconds. The next call after that reads the state again. */
const KNOWN_FOR = 10_000

export class CachedSearchContexts {
  readonly #state: Pick<SharedIndexState, 'read'>
  readonly #readings: TenantSearchContexts
  readonly #extraction: string
  #known: IndexState = NO_STATE
  #until = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  constructor(state: Pick<SharedIndexState, 'read'>, reading: SearchContext) {
    this.#state = state
    this.#readings = new TenantSearchContexts(reading, 'searches')
    this.#extraction = documentFormatOf(reading)
  }

  /**
   * Reads the index state again if the cached copy is older than KNOWN_FOR. Concurrent calls share one read. `at`: now, in ms since 1970.
   */
  async refresh(at: number): Promise<void> {
    if (at < this.#until) return
    this.#looking ??= this.#look(at).finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(at: number): Promise<void> {
    this.#known = (await this.#state.read()).value
    this.#until = at + KNOWN_FOR
  }

  /** Returns the index state, at most KNOWN_FOR old. `at`: now, in ms since 1970. */
  async state(at: number): Promise<IndexState> {
    await this.refresh(at)
    return this.#known
  }

  /**
   * Returns a function that takes a type. It returns how documents of the type may differ from the document format of this code, or
   * undefined if they do not. `at`: now, in ms since 1970.
   */
  async changes(at: number): Promise<(type: string) => FormatChanges | undefined> {
    await this.refresh(at)
    return (type) => formatChangesOf(this.#known, type, this.#extraction)
  }

  now(tenant: string): SearchContext {
    return this.#readings.of(this.#known, tenant)
  }
}
