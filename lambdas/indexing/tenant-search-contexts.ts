/** How texts are read now that somebody has defined parameters: each tenant's by what that tenant defined, and by nothing of another. */
import type { CustomMapping } from '../search/custom-mapping.ts'
import type { SearchContext } from '../search/search-context.ts'
import type { CustomParameter, Definitions } from './custom-definitions.ts'

/**
 * `searches`: by what is built; `documents`: by what is being built, too. The same object for a tenant as long as that tenant's definitions
 * mean the same, and the same mapping for each of them, so that what is prepared for it is found again, whatever others define.
 */
export class TenantSearchContexts {
  readonly #plain: SearchContext
  readonly #isUsed: (definition: CustomParameter) => boolean
  #definitions: Definitions['definitions'] = []
  #byTenant: ReadonlyMap<string, SearchContext> = new Map()

  /** `plain`: without what anybody defined. */
  constructor(plain: SearchContext, of: 'searches' | 'documents') {
    this.#plain = plain
    this.#isUsed = of === 'documents' ? () => true : ({ state }) => state === 'active'
  }

  /** A tenant that defined nothing, and nobody's, is read by what R4 has. */
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

/** A field is named by what it means; its values differ from type to type. */
const meaningOf = ({ base, field }: CustomMapping): string => `${base} ${field}`
