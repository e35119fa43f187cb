/**
 * SearchIndex in OpenSearch: one index for each resource type, with the documents of all tenants.
 * https://docs.opensearch.org/latest/
 */
import type { Client } from '@opensearch-project/opensearch'
import { NotApplied } from '../../ports/not-applied.ts'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../ports/search-index.ts'
import type { GroupPlan, Matching, Plan } from '../../search/plan.ts'
import { Aliases } from './aliases.ts'
import { Bulk, type BulkOptions, type Target, type Targets } from './bulk.ts'
import { type CallLimits, Cluster } from './cluster.ts'
import { matchesOf } from './compile-plan.ts'
import { distinctKeys } from './distinct.ts'
import { findGroups } from './groups.ts'
import type { Settings } from './index-definition.ts'
import { findPage, requestOf } from './page.ts'
import type { Query } from './query.ts'
import { resolve } from './resolve.ts'
import { Searching } from './searching.ts'
import { isVisible } from './visible.ts'

export type OpenSearchOptions = Partial<BulkOptions & CallLimits> & {
  /** Names of indices begin with it; lower case. */
  readonly prefix: string
  /** Of new indices, beside the mapping: number_of_replicas, refresh_interval … */
  readonly settings?: Settings
  /** Milliseconds a search may take. */
  readonly budget?: number
  /** Milliseconds for which it is remembered what is being rebuilt by others. */
  readonly knownFor?: number
}

/** The next index of a type, filled beside the live one, which goes on answering. */
export type Rebuild = {
  /** By which another process may go on. */
  readonly name: string
  /** As `apply` of the index, for the next index alone. */
  readonly apply: (documents: readonly IndexDocument[]) => Promise<void>
  /** From now on searches are answered by the next index; the other is gone. */
  readonly swap: () => Promise<void>
  /** The next index is gone. */
  readonly discard: () => Promise<void>
}

export class OpenSearchIndex implements SearchIndex {
  readonly #cluster: Cluster
  readonly #aliases: Aliases
  readonly #bulk: Bulk
  readonly #searching: Searching
  readonly #source: readonly string[] | false

  constructor(client: Client, options: OpenSearchOptions) {
    const { prefix, settings = {}, budget = Number.POSITIVE_INFINITY, knownFor = 30_000 } = options
    const { attempts = 6, patience = 30_000, pause = 100 } = options
    const { keepsBodies = false, refresh = 'none', mostBytes = 4_000_000, onPoison = () => {} } = options
    this.#cluster = new Cluster(client, { attempts, patience, pause })
    this.#aliases = new Aliases(this.#cluster, prefix, settings, knownFor)
    this.#bulk = new Bulk(this.#cluster, { keepsBodies, refresh, mostBytes, onPoison })
    this.#searching = new Searching(this.#cluster, this.#aliases, budget)
    this.#source = keepsBodies ? ['body'] : false
  }

  /** NotApplied names the documents that are not indexed yet; all others are. */
  async apply(documents: readonly IndexDocument[]): Promise<void> {
    await this.#applyTo(documents)
  }

  /** As `apply`, also where that version is there already. */
  async applyAgain(documents: readonly IndexDocument[]): Promise<void> {
    await this.#applyTo(documents, { isAgain: true })
  }

  /** Searches see what was applied to the type's live index. */
  async show(type: string): Promise<void> {
    await this.#cluster.send({ method: 'POST', path: `/${this.#aliases.live(type)}/_refresh`, querystring: { ignore_unavailable: true } })
  }

  async #applyTo(documents: readonly IndexDocument[], how: Pick<Target, 'isAgain'> = {}): Promise<void> {
    if (documents.length === 0) return
    const building = await this.#aliases.building().catch((error: unknown) => {
      throw new NotApplied(documents, error)
    })
    const targetsOf = (type: string): readonly Target[] => {
      const next = this.#aliases.next(type)
      const live = { alias: this.#aliases.live(type), isExtra: false, ...how }
      return building.has(next) ? [live, { alias: next, isExtra: true, ...how }] : [live]
    }
    await this.#bulk.apply(documents, this.#targets(targetsOf))
  }

  async find(plan: Plan): Promise<HitPage> {
    return findPage(this.#searching, plan, await this.#queryOf(plan), this.#source)
  }

  async explain(plan: Plan): Promise<readonly string[]> {
    return [`POST /${this.#aliases.searched(plan.types)}/_search`, JSON.stringify(requestOf(plan, await this.#queryOf(plan)))]
  }

  async distinct(matching: Matching, field: string, limit: number): Promise<readonly string[]> {
    return distinctKeys(this.#searching, matching.types, await this.#queryOf(matching), `keys.${field}`, limit)
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    return findGroups(this.#searching, plan, await this.#queryOf(plan), this.#source)
  }

  /** `tokens`: of tokenOf. */
  caughtUp(tokens: readonly string[], patience: number): Promise<boolean> {
    return isVisible(this.#cluster, this.#aliases, tokens, patience)
  }

  /**
   * Begins to rebuild a type, or goes on with the next index there is, or, where another process told its name, with that. Every `apply` writes to both indices; those of other processes know of it after `knownFor` ms:
   * what is read from the store before that may miss a write.
   */
  async rebuild(type: string, name?: string): Promise<Rebuild> {
    const index = name ?? (await this.#aliases.createNext(type))
    const next = [{ alias: this.#aliases.next(type), isExtra: false }]
    const gone = async () => {
      throw new Error(`${index} is no longer built`)
    }
    return {
      name: index,
      apply: (documents) => this.#bulk.apply(documents, { ...this.#targets(() => next), create: gone }),
      swap: () => this.#aliases.swap(type, index),
      discard: () => this.#aliases.remove(index),
    }
  }

  #targets(of: (type: string) => readonly Target[]): Targets {
    return {
      of: ({ type }) => of(type),
      create: async (documents) => {
        for (const type of new Set(documents.map(({ type }) => type))) await this.#aliases.createLive(type)
      },
      gone: () => this.#aliases.forgetBuilding(),
    }
  }

  async #queryOf(matching: Matching): Promise<Query> {
    return matchesOf(matching, await resolve(this.#searching, matching))
  }
}
