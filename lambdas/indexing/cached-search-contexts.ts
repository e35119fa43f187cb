/** Search contexts and serving indices from a cached copy of the index state. Each process caches its own copy for ten seconds. */
import type { FormatChanges } from '../search/documents/changed-keys.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { Definitions } from './custom-definitions.ts'
import { documentFormatOf } from './document-format.ts'
import { formatChangesOf } from './lifecycle/index-retention.ts'
import type { ServingState, ServingStateReader } from './lifecycle/serving-summary.ts'
import type { IndexState } from './lifecycle/state.ts'
import { NO_STATE } from './lifecycle/stored-state.ts'
import { TenantSearchContexts } from './tenant-search-contexts.ts'

/** How long the cached copy of the index state is used, in milliseconds. The next call after that reads the state again. */
const KNOWN_FOR = 10_000
/** Maximum tenants whose custom parameters a process caches. */
export const MOST_TENANTS = 200

type State = Pick<ServingStateReader, 'read' | 'definitionsOf'>

/** Custom parameters of a tenant, and the state by which they were read. */
type TenantDefinitions = Pick<Definitions, 'definitions'> & { readonly by: ServingState }

export class CachedSearchContexts {
  readonly #state: State
  readonly #readings: TenantSearchContexts
  readonly #extraction: string
  readonly #tenants = new Map<string, TenantDefinitions>()
  #known: ServingState = { value: NO_STATE, stamps: { number: 0, stamps: {} } }
  #until = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  constructor(state: State, reading: SearchContext) {
    this.#state = state
    this.#readings = new TenantSearchContexts(reading, 'searches', MOST_TENANTS)
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
    this.#known = await this.#state.read()
    this.#until = at + KNOWN_FOR
  }

  /**
   * Reads the custom parameters of the tenant by the cached copy, if they have a row of their own and may have changed. Without rows they are
   * in that copy. They are noted then too, because the next copy may have rows before the request has ended.
   */
  async load(tenant: string): Promise<void> {
    const by = this.#known
    if (by.value === NO_STATE || this.#tenants.get(tenant)?.by === by) return
    const definitions = by.value.rows ? await this.#state.definitionsOf(tenant, by) : by.value.definitions
    this.#tenants.delete(tenant)
    this.#tenants.set(tenant, { by, definitions })
    for (const oldest of this.#tenants.keys()) if (this.#tenants.size > MOST_TENANTS) this.#tenants.delete(oldest)
  }

  /** Returns the search context of the tenant, at most KNOWN_FOR old. `at`: now, in ms since 1970. */
  async of(tenant: string, at: number): Promise<SearchContext> {
    await this.refresh(at)
    await this.load(tenant)
    return this.now(tenant)
  }

  /** Returns the index state, at most KNOWN_FOR old. `at`: now, in ms since 1970. */
  async state(at: number): Promise<IndexState> {
    await this.refresh(at)
    return this.#known.value
  }

  /**
   * Returns a function that takes a type. It returns how documents of the type may differ from the document format of this code, or
   * undefined if they do not. `at`: now, in ms since 1970.
   */
  async changes(at: number): Promise<(type: string) => FormatChanges | undefined> {
    await this.refresh(at)
    return (type) => formatChangesOf(this.#known.value, type, this.#extraction)
  }

  /** Returns the search context of the tenant by the cached copies. Throws an Error if its custom parameters have not been loaded. */
  now(tenant: string): SearchContext {
    const { value } = this.#known
    // A request without a token has no tenant.
    if (!value.rows || tenant === '') return this.#readings.of(value, tenant)
    const loaded = this.#tenants.get(tenant)
    // guard: definitions-of-tenant-are-loaded
    if (loaded === undefined) throw new Error('the custom parameters of the tenant were not loaded')
    return this.#readings.of(loaded, tenant)
  }
}
