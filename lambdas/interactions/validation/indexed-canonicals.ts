/**
 * Canonicals for the embedded deployment: one process makes all writes, and the index reports its position in the change feed. Definitions
 * beyond that position are held in memory, so that lookups do not wait for the index.
 */
import { type Canonicals, DEFINITION_TYPES, type DefinitionType, isDefinitionType } from '../../ports/definitions/canonicals.ts'
import type { HitPosition, Plan } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { ResourceKey, ResourceReader } from '../../ports/store/resource-store.ts'
import type { WriterWith } from '../interaction.ts'
import { announcedCanonicalsOf } from '../writing/canonical-announcements.ts'

export type IndexedCanonicalsParts = {
  /**
   * `find` waits until the index has reached the position `upTo`. Without `upTo` it waits for all acknowledged writes. `position`: position
   * in the change feed that the index has reached.
   */
  readonly index: { readonly find: (plan: Plan, upTo?: number) => ReturnType<Searches['find']>; readonly position: number }
  readonly resources: Pick<ResourceReader, 'history'>
  /** Returns the position of the change feed up to which writes were acknowledged. */
  readonly acknowledged: () => number
}

/** Acknowledged definition. `position`: position in the change feed at which the index certainly has it. */
type Recent = { readonly name: string; readonly key: ResourceKey; readonly position: number }

const PAGE = 100

export class IndexedCanonicals implements Canonicals {
  readonly #parts: IndexedCanonicalsParts
  /** Change counters of the tenants used since the start. 0: the tenant never had a definition. */
  readonly #changes = new Map<string, number>()
  /** Definitions that the index may not have yet, in the order of their acknowledgement. */
  readonly #recent: Recent[] = []
  /** The same definitions by tenant, type and URL, then by id. */
  readonly #named = new Map<string, Map<string, Recent>>()
  /** Highest position of the definitions that are no longer held in memory. Lookups wait until the index has reached it. */
  #forgotten: number
  /** Tenants with a commit that threw and may have been applied. Their lookups wait until the index has all acknowledged writes. */
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
      // Keep the counter that a concurrent commit may have set meanwhile.
      if (!this.#changes.has(tenant)) this.#changes.set(tenant, count)
    }
    const count = this.#changes.get(tenant)!
    return count === 0 ? '' : JSON.stringify([tenant, count])
  }

  /**
   * Wraps the writer. Each commit of a definition changes `state`, even if it throws, because it may have been applied. Holds the committed
   * definitions in memory. All writes must use the returned writer.
   */
  counting<More extends readonly unknown[]>(writer: WriterWith<More>): WriterWith<More> {
    return {
      commit: async (writes, guards, ...more) => {
        const tenant = writes.find(({ type }) => isDefinitionType(type))?.tenant
        if (tenant === undefined) return writer.commit(writes, guards, ...more)
        const announced = await announcedCanonicalsOf(writes)
        try {
          const result = await writer.commit(writes, guards, ...more)
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

  /** Discards the recent definitions that the index has. */
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
