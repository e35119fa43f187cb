/**
 * SearchIndex in OpenSearch: one index for each resource type, with the documents of all tenants.
 * https://docs.opensearch.org/latest/
 */
import type { Client } from '@opensearch-project/opensearch'
import { NotApplied } from '../../ports/faults/not-applied.ts'
import { Unavailable } from '../../ports/faults/unavailable.ts'
import type { IndexHeartbeats } from '../../ports/search/heartbeat.ts'
import type { GroupPlan, Matching, Plan } from '../../ports/search/plan.ts'
import type { GroupPage, HitPage, IndexDocument, SearchIndex } from '../../ports/search/search-index.ts'
import { type IndexRegister, identityOf, isServing, type ServingIndices } from '../../ports/search/serving-indices.ts'
import { Aliases, identityIn } from './aliases.ts'
import { type BulkOptions, BulkWriter, type WriteTarget, type WriteTargets } from './bulk.ts'
import { type CallLimits, Cluster, type Timer } from './cluster.ts'
import { matchingQuery } from './compile-plan.ts'
import { readDistinctKeys } from './distinct.ts'
import { findGroups } from './groups.ts'
import { copyHeartbeat, readHeartbeats, writeHeartbeat } from './heartbeats.ts'
import type { IndexSettings } from './index-definition.ts'
import { findPage, requestOf } from './page.ts'
import type { Query } from './query.ts'
import { SearchSession } from './search-requests.ts'
import { resolveConditions } from './two-step-conditions.ts'
import { refreshIndex, waitUntilVisible } from './visibility.ts'

export type OpenSearchOptions = Partial<BulkOptions & CallLimits> & {
  /** Names of indices begin with it; lower case. */
  readonly prefix: string
  /** As of a few seconds ago. */
  readonly live: () => Promise<ServingIndices>
  /** Of who writes. */
  readonly register?: IndexRegister
  /** Of new indices, beside the mapping: number_of_replicas, refresh_interval … */
  readonly settings?: IndexSettings
  /** Milliseconds a search may take. */
  readonly budget?: number
  readonly timer?: Timer
  /** Milliseconds for which it is remembered what is being rebuilt by others. */
  readonly knownFor?: number
}

/** The next index of a type, filled beside the live one, which goes on answering. */
export type IndexRebuild = {
  /** By which another process may go on. */
  readonly name: string
  readonly identity: string
  /** As `apply` of the index, or `applyAgain`, for the next index alone. */
  readonly apply: (documents: readonly IndexDocument[], isAgain?: boolean) => Promise<void>
  /** From now on searches are answered by the next index. The other is gone, or kept: then its name. */
  readonly swap: (isKept?: boolean) => Promise<string | undefined>
}

export class OpenSearchIndex implements SearchIndex {
  readonly #cluster: Cluster
  readonly #aliases: Aliases
  readonly #bulk: BulkWriter
  readonly #budget: number
  readonly #live: OpenSearchOptions['live']
  readonly #register: IndexRegister
  readonly #source: readonly string[] | false
  readonly #epoch: number

  constructor(client: Client, options: OpenSearchOptions) {
    const { prefix, live, register = NOBODY, settings = {}, budget = Number.POSITIVE_INFINITY, knownFor = 30_000 } = options
    const { attempts = 6, patience = 30_000, pause = 100 } = options
    const { keepsBodies = false, epoch = 0, refresh = 'none', mostBytes = 4_000_000, onPoison = () => {} } = options
    this.#cluster = new Cluster(client, { attempts, patience, pause }, options.timer)
    this.#aliases = new Aliases(this.#cluster, prefix, settings, knownFor)
    this.#bulk = new BulkWriter(this.#cluster, { keepsBodies, epoch, refresh, mostBytes, onPoison })
    this.#live = live
    this.#register = register
    this.#budget = budget
    this.#epoch = epoch
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
    await refreshIndex(this.#cluster, await this.#nameOf(type))
  }

  async #applyTo(documents: readonly IndexDocument[], how: Pick<WriteTarget, 'isAgain'> = {}): Promise<void> {
    if (documents.length === 0) return
    const { building, live } = await this.#lookBefore(documents).catch((error: unknown) => {
      throw new NotApplied(documents, error)
    })
    const targetsOf = ({ type }: IndexDocument): readonly WriteTarget[] => {
      const identity = identityOf(live, type)
      const next = { type, alias: this.#aliases.next(type, identity), ...how }
      const isBuilding = building.has(next.alias)
      // A lost index that nobody has begun to make again gets all there is when somebody does.
      if (!isServing(live, type)) return isBuilding ? [{ ...next, ifMissing: 'refused' }] : []
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

  /** In this order: of an index that took over in between it is known that it did. */
  async #lookBefore(documents: readonly IndexDocument[]) {
    const building = await this.#aliases.building()
    return { building, live: await this.#withIndices(documents) }
  }

  /** Every type of these documents has an index, or had one. */
  async #withIndices(documents: readonly IndexDocument[]): Promise<ServingIndices> {
    const live = await this.#live()
    const fresh = [...new Set(documents.map(({ type }) => type))].filter((type) => !Object.hasOwn(live.types, type))
    if (fresh.length === 0) return live
    for (const type of fresh) await this.#aliases.createLive(type, live.identity)
    return this.#register.begun(fresh, live.identity)
  }

  /** The types whose index is not there, or was set back, are made again: all that are not yet, those that were known to lack theirs, too. */
  async tend(held: IndexHeartbeats = {}): Promise<readonly string[]> {
    const live = await this.#live()
    const known = Object.entries(live.types).filter(([type]) => isServing(live, type))
    const missing = { ...(await this.#aliases.missing(Object.fromEntries(known))), ...(await this.#setBack(live, held)) }
    if (Object.keys(missing).length === 0) return live.lacking
    await this.#register.lost(missing)
    return [...live.lacking, ...Object.keys(missing)]
  }

  /** All that was acknowledged before the instant is applied: so each index is told, but those that were set back. What holds it now. */
  async pulse(sent: number, held: IndexHeartbeats): Promise<IndexHeartbeats> {
    const { building, live } = await this.#lookBefore([])
    const lost = await this.#setBack(live, held)
    if (Object.keys(lost).length > 0) await this.#register.lost(lost)
    const told = Object.entries(live.types).filter(([type]) => isServing(live, type) && !Object.hasOwn(lost, type))
    const next = Object.entries(live.types).map(([type, identity]) => this.#aliases.next(type, identity))
    const aliases = [...told.map(([type, identity]) => this.#aliases.live(type, identity)), ...next.filter((each) => building.has(each))]
    const isHeld = await writeHeartbeat(this.#cluster, aliases, sent)
    return Object.fromEntries(told.flatMap(([type, identity], i) => (isHeld[i] ? [[type, { identity, sent }]] : [])))
  }

  /** Type → identity of the indices that are there, with an older pulse than they had. */
  async #setBack(live: ServingIndices, held: IndexHeartbeats): Promise<Readonly<Record<string, string>>> {
    const had = Object.entries(held).filter(([type, { identity }]) => isServing(live, type) && live.types[type] === identity)
    const has = await readHeartbeats(
      this.#cluster,
      had.map(([type, { identity }]) => this.#aliases.live(type, identity)),
    )
    return Object.fromEntries(had.flatMap(([type, { identity, sent }], i) => ((has[i] ?? sent) < sent ? [[type, identity]] : [])))
  }

  async find(plan: Plan): Promise<HitPage> {
    const searching = this.#begin()
    return findPage(searching, plan, await this.#queryOf(searching, plan), this.#source)
  }

  async explain(plan: Plan): Promise<readonly string[]> {
    return [
      `POST /${(await this.#namesOf(plan.types)).join(',')}/_search`,
      JSON.stringify(requestOf(plan, await this.#queryOf(this.#begin(), plan))),
    ]
  }

  async distinct(matching: Matching, field: string, limit: number): Promise<readonly string[]> {
    const searching = this.#begin()
    return readDistinctKeys(searching, matching.types, await this.#queryOf(searching, matching), `keys.${field}`, limit)
  }

  async groups(plan: GroupPlan): Promise<GroupPage> {
    const searching = this.#begin()
    return findGroups(searching, plan, await this.#queryOf(searching, plan), this.#source)
  }

  /** `tokens`: of tokenOf. */
  caughtUp(tokens: readonly string[], patience: number): Promise<boolean> {
    return waitUntilVisible({ cluster: this.#cluster, nameOf: (type) => this.#nameOf(type), epoch: this.#epoch }, tokens, patience)
  }

  /**
   * Begins to rebuild a type, or goes on with the next index there is, or, where another process told its name, with that. Every `apply` writes to both indices; those of other processes know of it after `knownFor` ms:
   * what is read from the store before that may miss a write.
   */
  async rebuild(type: string, name?: string): Promise<IndexRebuild> {
    return this.#rebuildOf(type, name ?? (await this.#aliases.createNext(type, identityOf(await this.#live(), type))))
  }

  /** Whether an index of a type is built, or live. */
  isThere(type: string, index: string): Promise<boolean> {
    return this.#aliases.isThere(type, index)
  }

  /** Goes on with the kept index of a type, also with versions that it has already. undefined: it is not there any more. */
  async takeBack(type: string, index: string): Promise<IndexRebuild | undefined> {
    return (await this.#aliases.takeBack(type, index)) ? this.#rebuildOf(type, index) : undefined
  }

  /** What is built of the type is removed, and what is kept of it, but this one, which is only not built any more. */
  async abandon(type: string, but?: string): Promise<void> {
    const live = await this.#live()
    await this.#aliases.abandon(type, [identityOf(live, type), ...live.former], but)
  }

  /** Kept indices go, but those named, which is asked once it is known what there is. */
  async removeKept(but: () => Promise<readonly string[]>): Promise<void> {
    const { identity, types, former } = await this.#live()
    await this.#aliases.removeKept([identity, ...Object.values(types), ...former], but)
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
      swap: async (isKept = false) => {
        await copyHeartbeat(this.#cluster, this.#aliases.live(type, identity), index)
        return this.#aliases.swap(type, index, (await this.#live()).former, isKept)
      },
    }
  }

  async #nameOf(type: string): Promise<string> {
    return this.#aliases.live(type, identityOf(await this.#live(), type))
  }

  /** Of a type that has no index the name it will have, which may be there already. Unavailable: an index is being made again. */
  async #namesOf(types: readonly string[]): Promise<readonly string[]> {
    const live = await this.#live()
    if ((live.epoch ?? 0) !== this.#epoch) throw new Unavailable('the index is of another epoch than the store')
    const lacking = types.filter((type) => live.lacking.includes(type) || live.ahead?.includes(type))
    if (lacking.length > 0) throw new Unavailable(`the index of ${lacking.join(', ')} is being made again`)
    const names = types.map((type) =>
      isServing(live, type) ? this.#aliases.live(type, live.types[type]!) : this.#aliases.liveIfAny(type, live.identity),
    )
    return names.length === 0 ? [this.#aliases.nothing] : names
  }

  #begin(): SearchSession {
    return new SearchSession(this.#cluster, (types) => this.#namesOf(types), this.#budget)
  }

  async #queryOf(searching: SearchSession, matching: Matching): Promise<Query> {
    return matchingQuery(matching, await resolveConditions(searching, matching))
  }
}

const onlyWriters = () => Promise.reject(new Error('who only searches makes no index'))
const NOBODY: IndexRegister = { begun: onlyWriters, lost: onlyWriters }
