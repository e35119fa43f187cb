/**
 * Canonicals of a home whose writes all come from one process, and whose index says which position of the change feed it has come to: what it has
 * not come to yet is remembered here, so that nobody waits for it.
 */
import { type Canonicals, DEFINITION_TYPES, type DefinitionType, isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { HitPosition, Plan } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'
import type { ResourceKey, ResourceReader, ResourceWriter } from '../../ports/store/resource-store.ts'
import { announcedCanonicalsOf } from '../writing/canonical-announcements.ts'

export type IndexedCanonicalsParts = {
  /** `find` answers when it has come to `upTo`; absent: to everything acknowledged. `position`: to which it has come. */
  readonly index: { readonly find: (plan: Plan, upTo?: number) => ReturnType<SearchIndex['find']>; readonly position: number }
  readonly resources: Pick<ResourceReader, 'history'>
  /** The position of the change feed up to which writes were acknowledged. */
  readonly acknowledged: () => number
}

/** A definition that was acknowledged, at this position at the latest. */
type Recent = { readonly name: string; readonly key: ResourceKey; readonly position: number }

const PAGE = 100

export class IndexedCanonicals implements Canonicals {
  readonly #parts: IndexedCanonicalsParts
  /** By tenant, as far as anybody asked or wrote: 0 where there never was a definition. */
  readonly #changes = new Map<string, number>()
  /** In the order in which they were acknowledged; by their canonicals. */
  readonly #recent: Recent[] = []
  readonly #named = new Map<string, Map<string, Recent>>()
  /** Of what was acknowledged up to here nothing is remembered. */
  #forgotten: number
  /** Of tenants with a commit that failed, and may have taken effect, the index has to know all. */
  readonly #doubtful = new Set<string>()

  constructor(parts: IndexedCanonicalsParts) {
    this.#parts = parts
    this.#forgotten = parts.acknowledged()
  }

  async *carrying(tenant: string, type: DefinitionType, url: string): AsyncGenerator<readonly ResourceKey[]> {
    this.#forget()
    const recent = [...(this.#named.get(nameOf(tenant, type, url))?.values() ?? [])].map(({ key }) => key)
    const upTo = this.#doubtful.has(tenant) ? undefined : this.#forgotten
    for (let at = 0; at < recent.length; at += PAGE) yield recent.slice(at, at + PAGE)
    const where = { kind: 'key', field: 'url', oneOf: [url] } as const
    const plan = { tenant, types: [type], where, access: 'everything', order: [], limit: PAGE, total: 'none' } as const
    let after: HitPosition | undefined
    do {
      const { hits, more } = await this.#parts.index.find({ ...plan, ...(after === undefined ? {} : { after }) }, upTo)
      if (hits.length > 0) yield hits.map(({ id }) => ({ tenant, type, id }))
      after = more ? hits.at(-1)?.position : undefined
    } while (after !== undefined)
  }

  async state(tenant: string): Promise<string> {
    if (!this.#changes.has(tenant)) {
      const count = (await this.#hasAny(tenant)) ? 1 : 0
      // A commit may have come since.
      if (!this.#changes.has(tenant)) this.#changes.set(tenant, count)
    }
    const count = this.#changes.get(tenant)!
    return count === 0 ? '' : JSON.stringify([tenant, count])
  }

  /** Counts what it commits, and remembers it: all writes have to go through it. What failed may have taken effect. */
  counting(writer: ResourceWriter): ResourceWriter {
    return {
      commit: async (writes, guards) => {
        const tenant = writes.find(({ type }) => isDefinitionType(type))?.tenant
        if (tenant === undefined) return writer.commit(writes, guards)
        const announced = await announcedCanonicalsOf(writes)
        try {
          const result = await writer.commit(writes, guards)
          if (result.kind === 'committed') for (const { url, ...key } of announced) this.#remember(nameOf(tenant, key.type, url), key)
          return result
        } catch (error) {
          this.#doubtful.add(tenant)
          throw error
        } finally {
          this.#changes.set(tenant, (this.#changes.get(tenant) ?? 0) + 1)
        }
      },
    }
  }

  #remember(name: string, key: ResourceKey): void {
    this.#forget()
    const recent = { name, key, position: this.#parts.acknowledged() }
    this.#recent.push(recent)
    this.#named.set(name, (this.#named.get(name) ?? new Map()).set(key.id, recent))
  }

  /** What the index has come to. */
  #forget(): void {
    const { position } = this.#parts.index
    const count = this.#recent.findIndex((recent) => recent.position > position)
    for (const recent of this.#recent.splice(0, count === -1 ? this.#recent.length : count)) {
      this.#forgotten = Math.max(this.#forgotten, recent.position)
      const named = this.#named.get(recent.name)
      if (named?.get(recent.key.id) !== recent) continue
      named.delete(recent.key.id)
      if (named.size === 0) this.#named.delete(recent.name)
    }
  }

  async #hasAny(tenant: string): Promise<boolean> {
    const first = DEFINITION_TYPES.map((type) => this.#parts.resources.history({ tenant, type }, { placesOnly: true }, undefined, 1))
    return (await Promise.all(first)).some(({ versions }) => versions.length > 0)
  }
}

const nameOf = (tenant: string, type: string, url: string): string => JSON.stringify([tenant, type, url])
