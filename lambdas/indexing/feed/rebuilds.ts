/** Rebuilds documents while an index follows its store. Each tenant rebuilds one type at a time, and tenants take turns. */
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import type { SearchContext, SearchContextOf } from '../../search/search-context.ts'
import { ALL_TENANTS } from '../all-tenants.ts'
import type { Rebuild } from '../custom-definitions.ts'
import {
  isPrefetchNeeded,
  MOST_AHEAD,
  NO_PREFETCHED_RESOURCES,
  type ParameterPrefetch,
  type PrefetchedResources,
} from '../parameter-prefetch.ts'
import { referencePredicateOf } from '../references-under.ts'
import { type RebuildProgress, type RebuildSlice, type RebuiltIndex, readRebuildSlice, readSharedRebuildSlice } from './rebuild-slice.ts'

export type FeedRebuildsParts = {
  readonly index: RebuiltIndex
  readonly versionOf: (key: VersionKey) => ResourceVersion | undefined
  readonly reading: SearchContextOf
  /** Returns the tenants that a rebuild of the type for all tenants covers. */
  readonly tenantsOf: (type: string) => readonly string[]
  readonly prefetch: ParameterPrefetch
}

/**
 * A slice whose costly parameters are evaluated in advance. `by`: search context of the evaluation. `read`: absent until the evaluation has
 * ended. `overtaken`: resources of which the feed has indexed a version since the slice was read.
 */
type Ahead = { readonly slice: RebuildSlice; readonly by: SearchContext; read?: PrefetchedResources; readonly overtaken: Set<string> }

/**
 * The current rebuild of a tenant, or of all tenants. `turn`: number of its last turn, 0 before the first. Turns of all tenants are
 * numbered together. `tenants`: tenants that a rebuild for all tenants covers.
 */
type Work = {
  readonly rebuild: Rebuild
  readonly tenants: readonly string[]
  progress: RebuildProgress
  turn: number
  ahead?: Ahead | undefined
}

/**
 * Versions to index again. `progress`: progress of the rebuild after these versions. `read`: their resources whose costly parameters are
 * already evaluated. `isLast`: whether the rebuild ends with them.
 */
export type PrefetchedSlice = {
  readonly rebuild: Rebuild
  readonly versions: readonly ResourceVersion[]
  readonly progress: RebuildProgress
  readonly isLast: boolean
  readonly read: PrefetchedResources
}

export class FeedRebuilds {
  readonly #parts: FeedRebuildsParts
  readonly #works = new Map<string, Work>()
  #turns = 0

  constructor(parts: FeedRebuildsParts) {
    this.#parts = parts
  }

  /**
   * Sets the pending rebuilds. Each tenant performs its first one. If that is another object than before, the tenant starts with its first
   * document.
   */
  update(rebuilds: readonly Rebuild[]): void {
    const firsts = new Map<string, Rebuild>()
    for (const rebuild of rebuilds) if (!firsts.has(rebuild.tenant)) firsts.set(rebuild.tenant, rebuild)
    for (const tenant of this.#works.keys()) if (!firsts.has(tenant)) this.#works.delete(tenant)
    for (const [tenant, rebuild] of firsts) {
      const work = this.#works.get(tenant)
      if (work?.rebuild === rebuild) continue
      const tenants = tenant === ALL_TENANTS ? this.#parts.tenantsOf(rebuild.type) : [tenant]
      this.#works.set(tenant, { rebuild, tenants, progress: { rebuild }, turn: work?.turn ?? 0 })
    }
  }

  /** Returns the list with the progress of the rebuilds that have begun. */
  withProgress(rebuilds: readonly Rebuild[]): readonly Rebuild[] {
    return rebuilds.map((each) => {
      const work = this.#works.get(each.tenant)
      return work?.rebuild === each ? work.progress.rebuild : each
    })
  }

  /**
   * Starts to evaluate costly parameters on the next slices, each of at most `limit` versions. Each promise is resolved with true when one
   * more slice is ready or outdated. It is resolved with false if the runner cannot evaluate now. None is rejected. Throws the fault
   * `store-damaged` if the store cannot be read.
   */
  evaluate(limit: number): readonly Promise<boolean>[] {
    const costly = [...this.#works.values()].filter(this.#needsAhead)
    const needy = costly.filter((work) => this.#aheadOf(work) === undefined).toSorted((a, b) => a.turn - b.turn)
    const free = Math.max(0, MOST_AHEAD - (costly.length - needy.length))
    return needy.slice(0, free).map((work) => this.#evaluate(work, limit))
  }

  #evaluate(work: Work, limit: number): Promise<boolean> {
    const [reading, slice] = [this.#readingOf(work), this.#sliceOf(work, limit)]
    const ahead: Ahead = { slice, by: reading, overtaken: new Set() }
    work.ahead = ahead
    const isNeeded = () => this.#works.get(work.rebuild.tenant) === work && this.#aheadOf(work) === ahead
    return this.#parts.prefetch.evaluate(isNeeded, tenantOf(work), slice.versions, reading).then((read) => {
      const isFailed = read === undefined && isNeeded()
      if (isFailed) work.ahead = undefined
      if (read !== undefined) ahead.read = read
      return !isFailed
    })
  }

  /**
   * Returns the tenant to rebuild next: of those whose slice is ready, the one with the oldest turn. Returns undefined if none is ready.
   */
  ready(): string | undefined {
    const isReady = (work: Work): boolean => !this.#needsAhead(work) || this.#aheadOf(work)?.read !== undefined
    const ready = [...this.#works].filter(([, work]) => isReady(work))
    return ready.toSorted(([, a], [, b]) => a.turn - b.turn)[0]?.[0]
  }

  /**
   * Takes the next slice of the tenant's rebuild. `tenant`: result of `ready`. Omits resources of which the feed has indexed a version
   * since the slice was read.
   */
  take(tenant: string, limit: number): PrefetchedSlice {
    const work = this.#works.get(tenant)!
    const ahead = this.#aheadOf(work)
    work.ahead = undefined
    work.turn = ++this.#turns
    const { versions, progress, isLast } = ahead?.slice ?? this.#sliceOf(work, limit)
    const remaining = versions.filter((version) => ahead?.overtaken.has(nameOf(version)) !== true)
    return { rebuild: work.rebuild, versions: remaining, progress, isLast, read: ahead?.read ?? NO_PREFETCHED_RESOURCES }
  }

  /** Whether this rebuild is still the current one of its tenant. False after a new request for its type. */
  isCurrent(rebuild: Rebuild): boolean {
    return this.#works.get(rebuild.tenant)?.rebuild === rebuild
  }

  advance(rebuild: Rebuild, progress: RebuildProgress): void {
    this.#works.get(rebuild.tenant)!.progress = progress
  }

  /**
   * Records that the feed indexes this version. A slice that was read earlier then omits the resource, so that it does not replace the
   * newer document.
   */
  overtake(version: ResourceVersion): void {
    for (const tenant of [version.tenant, ALL_TENANTS]) this.#works.get(tenant)?.ahead?.overtaken.add(nameOf(version))
  }

  readonly #readingOf = (work: Work): SearchContext => this.#parts.reading(tenantOf(work))
  readonly #needsAhead = (work: Work): boolean => isPrefetchNeeded(this.#readingOf(work))
  readonly #aheadOf = (work: Work): Ahead | undefined => (work.ahead?.by === this.#readingOf(work) ? work.ahead : undefined)

  #sliceOf({ rebuild, progress, tenants }: Work, limit: number): RebuildSlice {
    const { index, versionOf, reading } = this.#parts
    if (rebuild.tenant === ALL_TENANTS) return readSharedRebuildSlice(index, progress, limit, versionOf, tenants)
    return readRebuildSlice(index, progress, limit, versionOf, referencePredicateOf(rebuild.type, rebuild.under, reading(rebuild.tenant)))
  }
}

/** Returns the tenant of the next slice. */
const tenantOf = ({ tenants, progress }: Work): string => tenants[progress.within?.tenants ?? 0] ?? ALL_TENANTS
