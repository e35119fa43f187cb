/** Search contexts of tenants. Each has the custom parameters of its tenant, and of no other tenant. */
import type { CustomMapping } from '../search/custom-mapping.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CustomParameter, Definitions } from './custom-definitions.ts'

/**
 * Search contexts for `searches` have the active parameters. Those for `documents` also have the parameters being built. A tenant's context
 * stays the same object while its definitions mean the same, whatever other tenants define. So do its mappings. Caches by object identity
 * therefore stay valid.
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

/** Returns the key of a mapping. Its field name identifies the definition, and its values depend on the type. */
const meaningOf = ({ base, field }: CustomMapping): string => `${base} ${field}`
