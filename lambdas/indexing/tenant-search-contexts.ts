/** Search contexts of tenants. Each holds the custom parameters of its tenant only. */
import type { CustomMapping } from '../search/custom-mapping.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CustomParameter, Definitions } from './custom-definitions.ts'

/**
 * Builds the search context of each tenant. For `searches` it has the active parameters, for `documents` also those being built. A tenant's
 * context stays the same object until one of its own definitions changes. An unchanged mapping stays the same object too. So caches by
 * object identity stay valid when other tenants change definitions.
 */
export class TenantSearchContexts {
  readonly #plain: SearchContext
  readonly #isUsed: (definition: CustomParameter) => boolean
  #definitions: Definitions['definitions'] = []
  #byTenant: ReadonlyMap<string, SearchContext> = new Map()

  /** `plain`: search context without custom parameters. */
  constructor(plain: SearchContext, of: 'searches' | 'documents') {
    this.#plain = plain
    this.#isUsed = of === 'documents' ? () => true : ({ state }) => state === 'active'
  }

  /** Returns the search context of a tenant. A tenant without definitions gets the context without custom parameters. */
  of({ definitions }: Definitions, tenant: string): SearchContext {
    if (definitions !== this.#definitions) this.#learn(definitions)
    return this.#byTenant.get(tenant) ?? this.#plain
  }

  #learn(definitions: Definitions['definitions']): void {
    const byTenant = Map.groupBy(definitions.filter(this.#isUsed), ({ tenant }) => tenant)
    this.#byTenant = new Map([...byTenant].map(([tenant, mine]) => [tenant, this.#readingOf(tenant, mine)]))
    this.#definitions = definitions
  }

  #readingOf(tenant: string, mine: readonly CustomParameter[]): SearchContext {
    const before = this.#byTenant.get(tenant)
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
