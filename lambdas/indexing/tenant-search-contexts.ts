/** Search contexts of tenants. Each holds the custom parameters of its tenant and those of packages. */
import type { CustomMapping } from '../search/custom-mapping.ts'
import type { SearchContext } from '../search/search-context.ts'
import { ALL_TENANTS } from './all-tenants.ts'
import type { CustomParameter, Definitions } from './custom-definitions.ts'

type Definition = readonly CustomParameter[]

/** Context of a tenant. `own`, `packaged`: the definitions from which it was built. */
type Cached = { readonly own: Definition; readonly packaged: Definition | undefined; readonly context: SearchContext }

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

  /** Returns the search context of a tenant. Tenants without definitions share the one with the parameters of packages. */
  of({ definitions: all }: Pick<Definitions, 'definitions'>, tenant: string): SearchContext {
    const byTenant = this.#byTenant(all)
    const name = byTenant.has(tenant) ? tenant : ALL_TENANTS
    const own = byTenant.get(name)
    if (own === undefined) return this.#plain
    const packaged = byTenant.get(ALL_TENANTS)
    const before = this.#cached.get(name)
    if (before?.own === own && before.packaged === packaged) return before.context
    const context = this.#contextOf(before?.context, inOrder(own, packaged))
    this.#cached.delete(name)
    this.#cached.set(name, { own, packaged, context })
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

  #contextOf(before: SearchContext | undefined, mine: Definition): SearchContext {
    const known = new Map(before?.custom?.map((mapping) => [meaningOf(mapping), mapping]))
    const custom = mine.map(({ mapping }) => known.get(meaningOf(mapping)) ?? mapping)
    const isSame = before?.custom?.length === custom.length && before.custom.every((mapping, i) => mapping === custom[i])
    return isSame ? before : { ...this.#plain, custom }
  }
}

/**
 * Orders definitions by precedence: the tenant's own, those of packages, and own ones that the tenant wrote while a package defined the
 * code. A package's definition with the meaning of an own one adds nothing.
 */
function inOrder(own: Definition, packaged: Definition = []): Definition {
  const known = new Set(own.map(({ mapping }) => meaningOf(mapping)))
  const others = packaged.filter(({ mapping }) => !known.has(meaningOf(mapping)))
  const isAfter = ({ mapping, under }: CustomParameter): boolean =>
    others.some(({ mapping: { base, code }, since }) => since === under && base === mapping.base && code === mapping.code)
  return [...own.filter((each) => !isAfter(each)), ...others, ...own.filter(isAfter)]
}

/**
 * Returns a key that is equal for mappings with the same meaning. The field name identifies the definition, and the same definition selects
 * other values on another type.
 */
const meaningOf = ({ base, field }: CustomMapping): string => `${base} ${field}`
