/** SearchIndex in OpenSearch: one index for each resource type, with the documents of all tenants. https://docs.opensearch.org/latest/ */
import type { Client } from '@opensearch-project/opensearch'
import { MachineFault, notApplied } from '../../ports/faults.ts'
import type { IndexHeartbeats } from '../../ports/search/heartbeat.ts'
import type { Freshness, GroupPlan, Matching, Plan } from '../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../ports/search/search-index.ts'
import { type IndexRegister, identityOf, isServing, type ServingIndices, servingIdentitiesOf } from '../../ports/search/serving-indices.ts'
import { Aliases, identityIn } from './aliases.ts'
import { type BulkOptions, BulkWriter, type WriteTarget, type WriteTargets } from './bulk.ts'
import { type CallLimits, Cluster, type Timer } from './cluster.ts'
import { matchingQuery } from './compile-plan.ts'
import { readDistinctKeys } from './distinct.ts'
import { findGroups } from './groups.ts'
import { readHeartbeats, writeHeartbeat } from './heartbeats.ts'
import type { IndexSettings, ShardsByType } from './index-definition.ts'
import { completeIndex, FILL_SETTINGS, type IndexHealth, readHealth, showFullIndex } from './next-index.ts'
import { findPage, requestOf } from './page.ts'
import type { Query } from './query.ts'
import { SearchSession } from './search-requests.ts'
import { findLargestShard } from './shard-sizes.ts'
import { resolveConditions } from './two-step-conditions.ts'
import { refreshIndex, waitUntilVisible } from './visibility.ts'

export type OpenSearchOptions = Partial<BulkOptions & CallLimits> & {
  /** Prefix of index names, in lower case. */
  readonly prefix: string
  /** Returns the register of the serving indices. It may be cached for a few seconds. */
  readonly live: () => Promise<ServingIndices>
  /** Changes the register of the serving indices. Required by writers only. */
  readonly register?: IndexRegister
  /** Settings of new indices beside the mapping: number_of_replicas, refresh_interval … */
  readonly settings?: IndexSettings
  readonly shards?: ShardsByType
  /** Settings that replace `settings` in a next index until it is full. */
  readonly fillSettings?: IndexSettings
  /** Maximum duration of a search in milliseconds. A search that exceeds it throws the fault `too-costly`. */
  readonly budget?: number
  readonly timer?: Timer
  /** How long the list of rebuilds that other processes run is cached, in milliseconds. */
  readonly knownFor?: number
}

/** Running rebuild of a type. It fills the next index, while the serving index continues to answer searches. */
export type IndexRebuild = {
  /** Name of the index. Another process can continue the rebuild by it. */
  readonly name: string
  readonly identity: string
  /** Applies documents to the next index alone, like `apply` of the index. `isAgain`: like `applyAgain`. */
  readonly apply: (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>
  /** Gives the full index its replicas and its refresh interval. Returns its health. */
  readonly complete: () => Promise<IndexHealth>
  /** Makes the next index the serving one. Removes the previous index, or retains it (`isKept`) and returns its name. */
  readonly swap: (isKept?: boolean) => Promise<string | undefined>
}

export class OpenSearchIndex implements SearchIndex {
  readonly #cluster: Cluster
  readonly #prefix: string
  readonly #settings: IndexSettings
  readonly #aliases: Aliases
  readonly #bulk: BulkWriter
  readonly #budget: number
  readonly #live: OpenSearchOptions['live']
  readonly #register: IndexRegister
  readonly #source: readonly string[] | false
  readonly #epoch: number

  constructor(client: Client, options: OpenSearchOptions) {
    const { prefix, live, register = NOBODY, settings = {}, shards = {}, budget = Number.POSITIVE_INFINITY, knownFor = 30_000 } = options
    const { fillSettings = FILL_SETTINGS, attempts = 6, patience = 30_000, pause = 100 } = options
    const { keepsBodies = false, epoch = 0, refresh = 'none', mostBytes = 4_000_000, onPoison = () => {} } = options
    this.#cluster = new Cluster(client, { attempts, patience, pause }, options.timer)
    this.#prefix = prefix
    this.#aliases = new Aliases(this.#cluster, prefix, { settings, fillSettings, shards }, knownFor)
    this.#settings = settings
    this.#bulk = new BulkWriter(this.#cluster, { keepsBodies, epoch, refresh, mostBytes, onPoison })
    this.#live = live
    this.#register = register
    this.#budget = budget
    this.#epoch = epoch
    this.#source = keepsBodies ? ['body'] : false
  }

  /** Applies the documents. Throws the fault `not-applied` with the documents that failed. All others are applied. */
  async apply(documents: readonly IndexDocument[]): Promise<void> {
    await this.#applyTo(documents)
  }

  /** Applies the documents, and overwrites those of the same version. */
  async applyAgain(documents: readonly IndexDocument[]): Promise<void> {
    await this.#applyTo(documents, { isAgain: true })
  }

  /** Makes all applied documents of the type visible to searches. */
  async show(type: string): Promise<void> {
    await refreshIndex(this.#cluster, await this.#nameOf(type))
  }

  async #applyTo(documents: readonly IndexDocument[], how: Pick<WriteTarget, 'isAgain'> = {}): Promise<void> {
    if (documents.length === 0) return
    const { building, live } = await this.#lookBefore(documents).catch((error: unknown) => {
      throw notApplied(documents, error)
    })
    const targetsOf = ({ type }: IndexDocument): readonly WriteTarget[] => {
      const identity = identityOf(live, type)
      const next = { type, alias: this.#aliases.next(type, identity), ...how }
      const isBuilding = building.has(next.alias)
      // A lost index without a running rebuild needs no document: the rebuild that follows will read all of them from the store.
      if (!isServing(live.types[type])) return isBuilding ? [{ ...next, ifMissing: 'refused' }] : []
      const own = { type, alias: this.#aliases.live(type, identity), ifMissing: 'lost', ...how } as const
      return isBuilding ? [own, { ...next, ifMissing: 'passed' }] : [own]
    }
    await this.#bulk.apply(documents, {
      of: targetsOf,
      missing: async (lost) => {
        this.#aliases.forgetBuilding()
        if (lost.length > 0) await this.#register.lost(Object.fromEntries(lost.map(({ type }) => [type, identityOf(live, type)])))
      },
    })
  }

  /**
   * Reads the running rebuilds before the serving indices. If a next index becomes the serving one in between, the document is still
   * written to it.
   */
  async #lookBefore(documents: readonly IndexDocument[]) {
    const building = await this.#aliases.building()
    return { building, live: await this.#withIndices(documents) }
  }

  /** Creates and registers the indices of types that never had one. Returns the serving indices. */
  async #withIndices(documents: readonly IndexDocument[]): Promise<ServingIndices> {
    const live = await this.#live()
    const fresh = [...new Set(documents.map(({ type }) => type))].filter((type) => live.types[type]?.identity === undefined)
    if (fresh.length === 0) return live
    for (const type of fresh) await this.#aliases.createLive(type, live.identity)
    return this.#register.begun(fresh, live.identity)
  }

  /**
   * Registers the types whose serving index is missing or was restored as lost, so that they are rebuilt. Returns all lost types. `held`:
   * last heartbeat of each index.
   */
  async tend(held: IndexHeartbeats = {}): Promise<readonly string[]> {
    const live = await this.#live()
    const missing = { ...(await this.#aliases.missing(servingIdentitiesOf(live))), ...(await this.#setBack(live, held)) }
    if (Object.keys(missing).length > 0) await this.#register.lost(missing)
    return [...Object.keys(live.types).filter((type) => live.types[type]!.lost), ...Object.keys(missing)]
  }

  /**
   * Writes a heartbeat to every serving and next index. All versions acknowledged before `sent` must have been applied. Indices that were
   * restored are registered as lost and get none. Returns the serving indices that have the heartbeat.
   */
  async pulse(sent: number, held: IndexHeartbeats): Promise<IndexHeartbeats> {
    const { building, live } = await this.#lookBefore([])
    const lost = await this.#setBack(live, held)
    if (Object.keys(lost).length > 0) await this.#register.lost(lost)
    const told = Object.entries(servingIdentitiesOf(live)).filter(([type]) => !Object.hasOwn(lost, type))
    const next = Object.entries(live.types).flatMap(([type, { identity }]) => (identity ? this.#aliases.next(type, identity) : []))
    const aliases = [...told.map(([type, identity]) => this.#aliases.live(type, identity)), ...next.filter((each) => building.has(each))]
    const indices = (await this.#aliases.resolve(aliases)).filter((each) => each !== undefined)
    const isHeld = await writeHeartbeat(this.#cluster, indices, sent)
    const holders = new Set(indices.flatMap(({ alias }, i) => (isHeld[i] ? [alias] : [])))
    const isHolder = ([type, identity]: readonly [string, string]): boolean => holders.has(this.#aliases.live(type, identity))
    return Object.fromEntries(told.filter(isHolder).map(([type, identity]) => [type, { identity, sent }]))
  }

  /** Returns type → identity of the existing indices whose heartbeat is older than the one in `held`: they were restored. */
  async #setBack(live: ServingIndices, held: IndexHeartbeats): Promise<Readonly<Record<string, string>>> {
    const serving = servingIdentitiesOf(live)
    const had = Object.entries(held).filter(([type, { identity }]) => serving[type] === identity)
    const aliases = had.map(([type, { identity }]) => this.#aliases.live(type, identity))
    const has = await readHeartbeats(this.#cluster, await this.#aliases.resolve(aliases))
    return Object.fromEntries(had.flatMap(([type, { identity, sent }], i) => ((has[i] ?? sent) < sent ? [[type, identity]] : [])))
  }

  /** Returns the largest shard of all indices, also of those that do not serve, or undefined if there is none. */
  largestShard(): ReturnType<typeof findLargestShard> {
    return findLargestShard(this.#cluster, this.#prefix)
  }

  async find(plan: Plan): Promise<HitPage> {
    const searching = this.#begin(plan)
    return findPage(searching, plan, await this.#queryOf(searching, plan), this.#source)
  }

  async explain(plan: Plan): Promise<readonly string[]> {
    return [
      `POST /${(await this.#namesOf(plan.types)).join(',')}/_search`,
      JSON.stringify(requestOf(plan, await this.#queryOf(this.#begin(plan), plan))),
    ]
  }

  async distinct(matching: Matching & Freshness, field: string, limit: number): Promise<readonly string[]> {
    const searching = this.#begin(matching)
    return readDistinctKeys(searching, matching.types, await this.#queryOf(searching, matching), `keys.${field}`, limit)
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    const searching = this.#begin(plan)
    return findGroups(searching, plan, await this.#queryOf(searching, plan), this.#source)
  }

  /**
   * Waits up to `patience` milliseconds until the versions of the tokens are indexed, then makes them visible. Returns false if the time
   * was too short. `tokens`: results of tokenOf.
   */
  caughtUp(tokens: readonly string[], patience: number): Promise<boolean> {
    return waitUntilVisible({ cluster: this.#cluster, nameOf: (type) => this.#nameOf(type), epoch: this.#epoch }, tokens, patience)
  }

  /**
   * Starts the rebuild of a type, continues its running one, or continues the index `name` of another process. From then on `apply` of this
   * SearchIndex writes to both indices. Other processes do so only after `knownFor`, so their writes may be missing in a read of the store
   * before that.
   */
  async rebuild(type: string, name?: string): Promise<IndexRebuild> {
    return this.#rebuildOf(type, name ?? (await this.#aliases.createNext(type, identityOf(await this.#live(), type))))
  }

  /** Whether the index is the next or the serving one of the type. */
  isThere(type: string, index: string): Promise<boolean> {
    return this.#aliases.isThere(type, index)
  }

  /** Whether the next index exists with all its shards. */
  async isSound(type: string, index: string): Promise<boolean> {
    return (await this.isThere(type, index)) && (await readHealth(this.#cluster, index)) !== 'red'
  }

  /** Makes a previous index of the type the next one, to bring it up to date. Returns undefined if it no longer exists. */
  async takeBack(type: string, index: string): Promise<IndexRebuild | undefined> {
    return (await this.#aliases.takeBack(type, index)) ? this.#rebuildOf(type, index) : undefined
  }

  /** Removes the next and the previous index of the type. `but`: index to retain; it then is no longer the next one. */
  async abandon(type: string, but?: string): Promise<void> {
    const live = await this.#live()
    await this.#aliases.abandon(type, [identityOf(live, type), ...live.former], but)
  }

  /** Removes the previous indices. `but`: returns the names to retain. It is called after the indices are listed. */
  async removeKept(but: () => Promise<readonly string[]>): Promise<void> {
    const { identity, types, former } = await this.#live()
    const identities = Object.values(types).flatMap((index) => index.identity ?? [])
    await this.#aliases.removeKept([identity, ...identities, ...former], but)
  }

  #rebuildOf(type: string, index: string): IndexRebuild {
    const identity = identityIn(index)
    const next = { type, alias: this.#aliases.next(type, identity), ifMissing: 'refused' } as const
    const targets = (more: Pick<WriteTarget, 'isAgain'>): WriteTargets => ({
      of: () => [{ ...next, ...more }],
      missing: async () => this.#aliases.forgetBuilding(),
    })
    return {
      name: index,
      identity,
      apply: (documents, isAgain = false) => this.#bulk.apply(documents, targets({ isAgain })),
      complete: () => completeIndex(this.#cluster, index, this.#settings),
      swap: async (isKept = false) => {
        const [serving, full] = await this.#aliases.resolve([this.#aliases.live(type, identity), index])
        if (full !== undefined) await showFullIndex(this.#cluster, serving, full)
        return this.#aliases.swap(type, index, (await this.#live()).former, isKept)
      },
    }
  }

  async #nameOf(type: string): Promise<string> {
    return this.#aliases.live(type, identityOf(await this.#live(), type))
  }

  /**
   * Returns the names of the indices to search. A type without an index gets a pattern that matches the index it will have. Throws the
   * fault `unavailable` if an index is lost, unreconciled, or of another restore generation.
   */
  async #namesOf(types: readonly string[]): Promise<readonly string[]> {
    const live = await this.#live()
    if ((live.epoch ?? 0) !== this.#epoch) throw new MachineFault('unavailable', 'the index is of another epoch than the store')
    const lacking = types.filter((type) => live.types[type]?.lost || live.types[type]?.unreconciled)
    if (lacking.length > 0) throw new MachineFault('unavailable', `the index of ${lacking.join(', ')} is being made again`)
    const names = types.map((type) =>
      isServing(live.types[type]) ? this.#aliases.live(type, identityOf(live, type)) : this.#aliases.liveIfAny(type, live.identity),
    )
    return names.length === 0 ? [this.#aliases.nothing] : names
  }

  #begin({ budget = this.#budget }: Freshness): SearchSession {
    return new SearchSession(this.#cluster, (types) => this.#namesOf(types), Math.min(budget, this.#budget))
  }

  async #queryOf(searching: SearchSession, matching: Matching): Promise<Query> {
    return matchingQuery(matching, await resolveConditions(searching, matching))
  }
}

const onlyWriters = () => Promise.reject(new Error('a function that only searches creates no index'))
const NOBODY: IndexRegister = { begun: onlyWriters, lost: onlyWriters }
