/** Search contexts of tenants. Each holds the custom parameters of its tenant only. */
import type { CustomMapping } from '../search/custom-mapping.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CustomParameter, Definitions } from './custom-definitions.ts'

type Cached = { readonly definitions: readonly CustomParameter[]; readonly context: SearchContext }

/**
 * Builds the search context of each tenant. For `searches` it has the active parameters, for `documents` also those being built. A tenant's
 * context stays the same object until one of its own definitions changes. An unchanged mapping stays the same object too. So caches by
 * object identity stay valid when other tenants change definitions.
 */
export class TenantSearchContexts {
  readonly #plain: SearchContext
  readonly #isUsed: (definition: CustomParameter) => boolean
  readonly #most: number
  readonly #grouped = new WeakMap<Definitions['definitions'], ReadonlyMap<string, readonly CustomParameter[]>>()
  readonly #cached = new Map<string, Cached>()

  /**
   * `plain`: search context without custom parameters. `most`: maximum tenants whose contexts are cached. A tenant beyond it gets a new
   * context.
   */
  constructor(plain: SearchContext, of: 'searches' | 'documents', most = Number.POSITIVE_INFINITY) {
    this.#plain = plain
    this.#most = most
    this.#isUsed = of === 'documents' ? () => true : ({ state }) => state === 'active'
  }

  /** Returns the search context of a tenant. A tenant without definitions gets the context without custom parameters. */
  of({ definitions: all }: Pick<Definitions, 'definitions'>, tenant: string): SearchContext {
    const definitions = this.#byTenant(all).get(tenant)
    const before = this.#cached.get(tenant)
    if (definitions === undefined || before?.definitions === definitions) return definitions === undefined ? this.#plain : before!.context
    const context = this.#contextOf(before?.context, definitions)
    this.#cached.delete(tenant)
    this.#cached.set(tenant, { definitions, context })
    for (const oldest of this.#cached.keys()) if (this.#cached.size > this.#most) this.#cached.delete(oldest)
    return context
  }

  #byTenant(all: Definitions['definitions']): ReadonlyMap<string, readonly CustomParameter[]> {
    const known = this.#grouped.get(all)
    if (known !== undefined) return known
    const grouped = Map.groupBy(all.filter(this.#isUsed), ({ tenant }) => tenant)
    this.#grouped.set(all, grouped)
    return grouped
  }

  #contextOf(before: SearchContext | undefined, mine: readonly CustomParameter[]): SearchContext {
    const known = new Map(before?.custom?.map((mapping) => [meaningOf(mapping), mapping]))
    const custom = mine.map(({ mapping }) => known.get(meaningOf(mapping)) ?? mapping)
    const isSame = before?.custom?.length === custom.length && before.custom.every((mapping, i) => mapping === custom[i])
    return isSame ? before : { ...this.#plain, custom }
  }
}

/**
 * Returns a key that is equal for mappings with the same meaning. The field name identifies the definition, and the same definition selects
 * other values on another type.
 */
const meaningOf = ({ base, field }: CustomMapping): string => `${base} ${field}`
