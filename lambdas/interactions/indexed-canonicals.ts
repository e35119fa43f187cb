/** Canonicals of a home whose index knows what was acknowledged, and whose writes all come from one process. */
import { type Canonicals, DEFINITION_TYPES, type DefinitionType, isDefinitionType } from '../ports/canonicals.ts'
import type { ResourceKey, ResourceReader, ResourceWriter } from '../ports/resource-store.ts'
import type { SearchIndex } from '../ports/search-index.ts'

/** `index`: finds what was written before it is asked. */
export type IndexedParts = { readonly index: Pick<SearchIndex, 'find'>; readonly resources: Pick<ResourceReader, 'history'> }

export class IndexedCanonicals implements Canonicals {
  readonly #parts: IndexedParts
  /** By tenant, as far as anybody asked or wrote: 0 where there never was a definition. */
  readonly #changes = new Map<string, number>()

  constructor(parts: IndexedParts) {
    this.#parts = parts
  }

  async carrying(tenant: string, type: DefinitionType, url: string, most: number): Promise<readonly ResourceKey[]> {
    const where = { kind: 'key', field: 'url', oneOf: [url] } as const
    const plan = { tenant, types: [type], where, access: 'everything', order: [], limit: most + 1, total: 'none' } as const
    const { hits } = await this.#parts.index.find(plan)
    return hits.map(({ id }) => ({ tenant, type, id }))
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

  /** Counts what it commits: all writes have to go through it. What failed may have taken effect. */
  counting(writer: ResourceWriter): ResourceWriter {
    return {
      commit: async (writes, guards) => {
        try {
          return await writer.commit(writes, guards)
        } finally {
          const tenant = writes.find(({ type }) => isDefinitionType(type))?.tenant
          if (tenant !== undefined) this.#changes.set(tenant, (this.#changes.get(tenant) ?? 0) + 1)
        }
      },
    }
  }

  async #hasAny(tenant: string): Promise<boolean> {
    const first = DEFINITION_TYPES.map((type) => this.#parts.resources.history({ tenant, type }, { placesOnly: true }, undefined, 1))
    return (await Promise.all(first)).some(({ versions }) => versions.length > 0)
  }
}
