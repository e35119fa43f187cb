/**
 * Indices of a resource type and the aliases that select them. The serving index answers searches. During a rebuild the next index is
 * filled beside it. The previous index may be retained; it is neither searched nor written.
 * `fhir-patient-ID` → `fhir-patient-v2-ID`, `fhir-patient-next-ID` → `fhir-patient-v3-ID`, `fhir-patient-kept-ID` → `fhir-patient-v1-ID`.
 * ID is an identity of ports/search/serving-indices.ts. An index with another identity belongs to another deployment, or to the time before
 * a restore. It is never searched.
 */
import { type Cluster, OpenSearchError } from './cluster.ts'
import type { AliasedIndex } from './heartbeats.ts'
import { type IndexSettings, indexDefinition, type ShardsByType, shardSettings } from './index-definition.ts'

/** Maximum polls for an index that another process is creating. With the pauses between them they take some seconds. */
const LOOKS = 40

type Name = string | undefined
type State = { readonly live: Name; readonly next: Name; readonly kept: Name; readonly all: readonly string[] }
type Indices = Readonly<Record<string, { readonly aliases: Readonly<Record<string, unknown>> }>>
type ShardSettings = Readonly<Record<string, { readonly settings: { readonly index: { readonly number_of_shards: string } } }>>

/** Settings of new indices. `fillSettings`: those that replace `settings` in a next index until it is full. */
type NewIndexSettings = { readonly settings: IndexSettings; readonly fillSettings: IndexSettings; readonly shards: ShardsByType }

export class Aliases {
  readonly #cluster: Cluster
  readonly #prefix: string
  readonly #settings: IndexSettings
  readonly #fillSettings: IndexSettings
  readonly #shards: ShardsByType
  readonly #knownFor: number
  #building: { readonly names: Promise<Set<string>>; readonly until: number } | undefined

  /** `knownFor`: how long the list of running rebuilds is cached, in milliseconds. */
  constructor(cluster: Cluster, prefix: string, { settings, fillSettings, shards }: NewIndexSettings, knownFor: number) {
    this.#cluster = cluster
    this.#prefix = prefix
    this.#settings = settings
    this.#fillSettings = fillSettings
    this.#shards = shards
    this.#knownFor = knownFor
  }

  live(type: string, identity: string): string {
    return `${this.#ofType(type)}-${identity}`
  }

  /**
   * Returns a pattern that matches the alias of the serving index, and nothing if that does not exist. No other alias begins with this
   * name.
   */
  liveIfAny(type: string, identity: string): string {
    return `${this.live(type, identity)}*`
  }

  /** Returns a pattern that matches no index, for a search in no types. */
  get nothing(): string {
    return `${this.#prefix}-none-*`
  }

  next(type: string, identity: string): string {
    return `${this.#ofType(type)}-next-${identity}`
  }

  #kept(type: string, identity: string): string {
    return `${this.#ofType(type)}-kept-${identity}`
  }

  /** Returns the aliases of all next indices, that is of the running rebuilds. The result is cached for `knownFor`. */
  async building(): Promise<ReadonlySet<string>> {
    if (this.#building === undefined || performance.now() >= this.#building.until) this.forgetBuilding()
    this.#building ??= { names: this.#aliasesLike(`${this.#prefix}-*-next-*`), until: performance.now() + this.#knownFor }
    try {
      return await this.#building.names
    } catch (error) {
      this.forgetBuilding()
      throw error
    }
  }

  forgetBuilding(): void {
    this.#building = undefined
  }

  /** Returns the indices with these aliases or names, with their numbers of shards. undefined: there is none. */
  async resolve(names: readonly string[]): Promise<readonly (AliasedIndex | undefined)[]> {
    if (names.length === 0) return []
    const path = `/${this.#prefix}-*/_settings/index.number_of_shards`
    const [indices, settings] = await Promise.all([
      this.#indicesLike(`${this.#prefix}-*`),
      this.#cluster.send<ShardSettings>({ method: 'GET', path }),
    ])
    const behind = new Map(Object.entries(indices).flatMap(([index, { aliases }]) => Object.keys(aliases).map((alias) => [alias, index])))
    return names.map((alias) => {
      const index = behind.get(alias) ?? alias
      const shards = settings[index]?.settings.index.number_of_shards
      return shards === undefined ? undefined : { alias, index, shards: Number(shards) }
    })
  }

  /** Returns those entries (type → identity) for which no serving index exists. */
  async missing(types: Readonly<Record<string, string>>): Promise<Readonly<Record<string, string>>> {
    const there = await this.#aliasesLike(`${this.#prefix}-*`)
    return Object.fromEntries(Object.entries(types).filter(([type, identity]) => !there.has(this.live(type, identity))))
  }

  /**
   * Creates the serving index of a type. Its alias is added after the shards have started, because searches fail on an index before that.
   */
  async createLive(type: string, identity: string): Promise<void> {
    const index = this.#named(type, 1, identity)
    const isMade = await this.#create(type, index, [])
    if (!isMade && (await this.#isSoonLive(type, identity))) return
    await this.#cluster.send({ method: 'PUT', path: `/${index}/_alias/${this.live(type, identity)}` })
  }

  /** Returns the name of the next index of a type. Creates the index if no rebuild is running. */
  async createNext(type: string, identity: string): Promise<string> {
    const { next, all } = await this.#state(type, identity)
    // Version 1 is reserved for the index that the first write of the type creates.
    const name = next ?? this.#named(type, Math.max(1, ...all.map(versionOf)) + 1, identity)
    if (next === undefined) await this.#create(type, name, [this.next(type, identity)], this.#fillSettings)
    this.forgetBuilding()
    return name
  }

  /** Makes a previous index the next one, with its documents. Returns false if it no longer exists. */
  async takeBack(type: string, index: string): Promise<boolean> {
    const isThere = Object.hasOwn(await this.#indicesOf(type), index)
    if (isThere) await this.#change([{ add: { index, alias: this.next(type, identityIn(index)) } }])
    this.forgetBuilding()
    return isThere
  }

  /** Whether the index is the next or the serving one of its type. */
  async isThere(type: string, index: string): Promise<boolean> {
    const { live, next } = await this.#state(type, identityIn(index))
    return index === live || index === next
  }

  /**
   * Removes the next and the previous index of a type under these identities. `but`: index to retain; it then is no longer the next one.
   */
  async abandon(type: string, identities: readonly string[], but?: string): Promise<void> {
    for (const [index, { aliases }] of Object.entries(await this.#indicesOf(type))) {
      if (!identities.includes(identityIn(index))) continue
      const isNext = Object.hasOwn(aliases, this.next(type, identityIn(index)))
      if (!isNext && !Object.hasOwn(aliases, this.#kept(type, identityIn(index)))) continue
      if (index !== but) await this.#remove(index)
      else if (isNext) await this.#change([{ remove: { index, alias: this.next(type, identityIn(index)) } }])
    }
    this.forgetBuilding()
  }

  /**
   * Removes the previous indices of these identities. `but`: returns the names to retain. It is called after the indices are listed, so
   * that no index retained meanwhile is removed.
   */
  async removeKept(identities: readonly string[], but: () => Promise<readonly string[]>): Promise<void> {
    const like = `${this.#prefix}-*-kept-*,${this.#prefix}-*-over-*`
    const found = Object.entries(await this.#indicesLike(like)).filter(([index]) => identities.includes(identityIn(index)))
    if (found.length === 0) return
    const spared = await but()
    for (const [index, { aliases }] of found) if (!spared.includes(index)) await this.#removeOver(index, Object.keys(aliases))
  }

  /** Removes a previous index. First it exchanges the alias, which fails if the index serves again. So a serving index is never removed. */
  async #removeOver(index: string, aliases: readonly string[]): Promise<void> {
    const kept = aliases.find((alias) => alias.includes('-kept-'))
    const over = kept?.replace('-kept-', '-over-')
    try {
      if (kept !== undefined) await this.#change([{ remove: { index, alias: kept, must_exist: true } }, { add: { index, alias: over } }])
      await this.#remove(index)
    } catch (error) {
      unless(404)(error)
    }
  }

  /**
   * Makes the next index the serving one by one atomic change of aliases. Then removes all other indices of the type under its identity and
   * `identities`. `isKept`: retains the index that served before and returns its name.
   */
  async swap(type: string, index: string, identities: readonly string[], isKept: boolean): Promise<Name> {
    const identity = identityIn(index)
    const { live, next } = await this.#state(type, identity)
    if (live !== index) {
      if (next !== index) throw new Error(`${index} is no longer built`)
      await this.#exchange(type, index, isKept)
    }
    const { kept, all } = await this.#state(type, identity)
    const former = isKept ? kept : undefined
    for (const old of all)
      if (old !== index && old !== former && [identity, ...identities].includes(identityIn(old))) await this.#remove(old)
    this.forgetBuilding()
    return former
  }

  async #remove(index: string): Promise<void> {
    await this.#cluster
      .send({ method: 'DELETE', path: `/${index}`, querystring: { ignore_unavailable: true } })
      .catch(unless(404))
      .finally(() => this.forgetBuilding())
  }

  #ofType(type: string): string {
    return `${this.#prefix}-${type.toLowerCase()}`
  }

  #named(type: string, version: number, identity: string): string {
    return `${this.#ofType(type)}-v${version}-${identity}`
  }

  async #state(type: string, identity: string): Promise<State> {
    const indices = await this.#indicesOf(type)
    const all = Object.keys(indices)
    const behind = (alias: string) => all.find((name) => Object.hasOwn(indices[name]!.aliases, alias))
    return {
      live: behind(this.live(type, identity)),
      next: behind(this.next(type, identity)),
      kept: behind(this.#kept(type, identity)),
      all,
    }
  }

  async #exchange(type: string, index: string, isKept: boolean): Promise<void> {
    const identity = identityIn(index)
    const alias = this.live(type, identity)
    const { live, kept } = await this.#state(type, identity)
    const actions = [
      ...(live === undefined ? [] : [{ remove: { index: live, alias } }]),
      ...(kept === index ? [{ remove: { index, alias: this.#kept(type, identity) } }] : []),
      ...(live !== undefined && isKept ? [{ add: { index: live, alias: this.#kept(type, identity) } }] : []),
      { add: { index, alias } },
      { remove: { index, alias: this.next(type, identity) } },
    ]
    try {
      await this.#change(actions)
    } catch (error) {
      // If the response was lost, the change may have succeeded nevertheless.
      if ((await this.#state(type, identity)).live !== index) throw error
    }
  }

  async #change(actions: readonly object[]): Promise<void> {
    await this.#cluster.send({ method: 'POST', path: '/_aliases', body: { actions } })
  }

  /** Waits until the serving index exists, which another process may be creating. Returns false if it does not exist in time. */
  async #isSoonLive(type: string, identity: string): Promise<boolean> {
    for (let look = 0; look < LOOKS; look++) {
      if ((await this.#state(type, identity)).live !== undefined) return true
      await this.#cluster.pause(1)
    }
    return false
  }

  /**
   * Creates the index and resolves when its shards have started. Returns false if it existed already: another process, or an attempt with a
   * lost response, created it.
   */
  async #create(type: string, index: string, aliases: readonly string[], more: IndexSettings = {}): Promise<boolean> {
    const settings = { ...this.#settings, ...more, ...shardSettings(this.#shards, type) }
    const body = { ...indexDefinition(settings), aliases: Object.fromEntries(aliases.map((alias) => [alias, {}])) }
    const made = await this.#cluster.send({ method: 'PUT', path: `/${index}`, body }).catch(unless('resource_already_exists_exception'))
    return made !== undefined
  }

  #indicesLike(alias: string): Promise<Indices> {
    return this.#cluster.send<Indices>({ method: 'GET', path: `/_alias/${alias}` })
  }

  /** Returns the indices of a type with their aliases, including indices without an alias. */
  #indicesOf(type: string): Promise<Indices> {
    return this.#cluster.send<Indices>({ method: 'GET', path: `/${this.#ofType(type)}-*/_alias` })
  }

  async #aliasesLike(alias: string): Promise<Set<string>> {
    return new Set(Object.values(await this.#indicesLike(alias)).flatMap(({ aliases }) => Object.keys(aliases)))
  }
}

const NAMED = /-v(\d+)-([^-]*)$/

const versionOf = (index: string): number => Number(NAMED.exec(index)?.[1] ?? 0)

export const identityIn = (index: string): string => NAMED.exec(index)?.[2] ?? ''

const unless =
  (expected: number | string) =>
  (error: unknown): void => {
    if (!(error instanceof OpenSearchError) || (error.status !== expected && error.kind !== expected)) throw error
  }
