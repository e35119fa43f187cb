/**
 * Follows the change feed of a store and indexes its versions. Manages the index's positions in the feed, custom parameters and rebuilds.
 */
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { ALL_TENANTS } from '../all-tenants.ts'
import {
  activated,
  addRebuild,
  addReferenceRebuild,
  type Definitions,
  finishRebuild,
  initialDefinitionsOf,
  type Rebuild,
  withoutUnindexable,
  withSearchParameter,
  withUnindexable,
} from '../custom-definitions.ts'
import { isBuiltFor, rebuildPackageParameters, withPackageParameters } from '../package-parameters.ts'
import { TenantSearchContexts } from '../tenant-search-contexts.ts'
import type { FeedFollowerParts } from './follower-parts.ts'
import { buildDocumentInPieces, indexChanges } from './indexing.ts'
import { type FeedLine, FeedLines, type FeedPositions, furthestOf, positionOf, readPositions, writePositions } from './lines.ts'
import { FeedPartReader } from './parts.ts'
import { FeedRebuilds } from './rebuilds.ts'
import { lacksPackageValues, notePackageValues, readDefinitions, writeDefinitions } from './stored-definitions.ts'

/**
 * Maximum backlog, in positions, with which a search waits in the shared line, because the line indexes that many quickly. A tenant with a
 * larger backlog gets its own line.
 */
const FAR = 256

export class FeedFollower {
  readonly #parts: FeedFollowerParts
  readonly #lines: FeedLines
  #uncommitted = 0
  #definitions: Definitions
  /** Version number of each SearchParameter when the follower started. Earlier versions in the feed do not change the definitions. */
  readonly #newest: ReadonlyMap<string, number>
  /** Definitions as last stored in the index. */
  #kept: Definitions
  readonly #readings: TenantSearchContexts
  readonly #reading: SearchContextOf = (tenant) => this.#readings.of(this.#definitions, tenant)
  readonly #rebuilds: FeedRebuilds
  readonly #next: FeedPartReader
  /** Positions that searches wait for, by tenant, until the next `follow` passes them to the lines. */
  readonly #hastened = new Map<string, number>()
  /** Work that runs in pieces and has begun. Until it ends, no other work starts and nothing is committed. */
  #begun: Generator<undefined, void> | undefined

  constructor(parts: FeedFollowerParts) {
    this.#parts = parts
    const { defining = [], feed, index, prefetch } = parts
    this.#lines = new FeedLines(readPositions(index))
    this.#kept = readDefinitions(index)
    this.#definitions = furthestOf(this.positions) === 0 ? initialDefinitionsOf(defining) : this.#kept
    this.#newest = new Map(defining.map((version) => [nameOf(version), version.versionId]))
    this.#readings = new TenantSearchContexts(parts.reading, 'documents')
    this.#next = new FeedPartReader({ feed, prefetch, lines: this.#lines, reading: this.#reading })
    this.#rebuilds = new FeedRebuilds({
      ...{ index, prefetch, reading: this.#reading, versionOf: (key) => feed.version(key) },
      tenantsOf: (type) => feed.tenantsOf(type).filter((tenant) => !isBuiltFor(this.#definitions, tenant, type)),
    })
    // A release without parameters of packages indexes documents without their values.
    // guard: packages-are-built-after-a-rollback
    if (lacksPackageValues(index, furthestOf(this.positions))) this.#definitions = rebuildPackageParameters(this.#definitions)
    this.#rebuilds.update(this.#definitions.rebuilds)
    this.#separateCostly()
  }

  /** Position up to which the versions of every tenant are indexed: the lowest of all lines. */
  get position(): number {
    return positionOf(this.#lines.positions)
  }

  get positions(): FeedPositions {
    return this.#lines.positions
  }

  get definitions(): Definitions {
    return this.#definitions
  }

  /** The pending rebuilds, with current progress. */
  get rebuilds(): readonly Rebuild[] {
    return this.#rebuilds.withProgress(this.#definitions.rebuilds)
  }

  /**
   * Prepares the tenant's line for a search that waits for `position`. If the tenant is more than FAR positions behind, and other tenants
   * have written, `follow` gives it its own line. A line that is already separate continues up to `position`.
   */
  hasten(tenant: string, position: number): void {
    const isApart = this.#lines.tenants.includes(tenant)
    const isFar = position - this.#lines.positionOf(tenant) > FAR
    if (!isApart && !(isFar && this.#parts.feed.hasOthersThan(tenant))) return
    this.#hastened.set(tenant, Math.max(position, this.#hastened.get(tenant) ?? 0))
  }

  /**
   * Starts to evaluate costly parameters on the next parts of the feed and the next slices of rebuilds, each of at most `limit` versions.
   * Each promise is resolved with true when one of these is ready or outdated, so that the caller continues. It is resolved with false if the
   * runner cannot evaluate now: the next call starts the evaluation again. None is rejected. Throws the fault `store-damaged` if the store
   * cannot be read. `end`: see `follow`.
   */
  evaluate(limit: number, end = Number.POSITIVE_INFINITY): readonly Promise<boolean>[] {
    // Evaluate nothing while work is in progress, because it determines where the next part or slice starts.
    if (this.#begun !== undefined) return []
    return [...this.#next.evaluate(this.#lines.due(end), limit), ...this.#rebuilds.evaluate(limit)]
  }

  /** Whether `follow` has work now. `end`: see `follow`. */
  canFollow(end: number): boolean {
    return this.#begun !== undefined || this.#lines.due(end).some((line) => this.#next.isReady(line))
  }

  /**
   * Does one piece of work: indexes up to `limit` versions of one line (see lines.ts), or takes one step of a commit. Returns false if no
   * work is ready. `end`: position that the shared line is to reach.
   */
  follow(limit: number, end = Number.POSITIVE_INFINITY): boolean {
    if (this.#goesOn()) return true
    if (this.#uncommitted >= this.#parts.commitEvery) {
      this.commitStep()
      return true
    }
    for (const [tenant, wanted] of this.#hastened) this.#lines.separate(tenant, wanted)
    this.#hastened.clear()
    return this.#lines.due(end).some((line) => this.#next.isReady(line) && this.#followLine(line, limit))
  }

  #followLine(line: FeedLine, limit: number): boolean {
    const before = this.#lines.positionOf(line)
    this.#begun = this.#following(line, limit)
    this.#goesOn()
    return this.#begun !== undefined || this.#lines.positionOf(line) > before
  }

  *#following(line: FeedLine, limit: number): Generator<undefined, void> {
    const { index } = this.#parts
    const position = yield* indexChanges(index, this.#next.take(line, limit), {
      reading: this.#reading,
      onPoison: (version, error) => this.#poisoned(version, error),
      onVersion: (version) => this.#met(version),
    })
    this.#next.advance(line, position)
    this.#arrangeLines()
    this.#keep()
  }

  /** Gives each tenant with costly parameters its own line, so that the shared line does not wait for their evaluation. */
  #separateCostly(): void {
    const tenants = new Set(this.#definitions.definitions.map(({ tenant }) => tenant))
    tenants.delete(ALL_TENANTS)
    for (const tenant of tenants) if (this.#next.isCostly(tenant)) this.#lines.separate(tenant)
  }

  #arrangeLines(): void {
    this.#separateCostly()
    this.#lines.join((tenant) => this.#next.isCostly(tenant))
    writePositions(this.#parts.index, this.#lines.positions)
    notePackageValues(this.#parts.index, furthestOf(this.positions))
  }

  /**
   * Continues the work in progress by one piece. If the memory of the index is full, takes one step towards a commit instead. Returns false
   * if no work is in progress.
   */
  #goesOn(): boolean {
    const begun = this.#begun
    if (begun === undefined) return false
    if (this.#parts.index.isFull) {
      this.#parts.index.prepareCommit()
      return true
    }
    this.#begun = undefined
    if (begun.next().done !== true) this.#begun = begun
    return true
  }

  /** Whether `rebuild` has work now. */
  canRebuild(): boolean {
    return this.#begun !== undefined || this.#rebuilds.ready() !== undefined
  }

  /** Continues the work in progress by one piece. Without such work, starts to rebuild the next slice of up to `limit` documents. */
  rebuild(limit: number): void {
    const tenant = this.#rebuilds.ready()
    if (this.#goesOn() || tenant === undefined) return
    this.#begun = this.#rebuilding(tenant, limit)
    this.#goesOn()
  }

  *#rebuilding(tenant: string, limit: number): Generator<undefined, void> {
    const { index, onChange } = this.#parts
    const { rebuild, versions, progress, isLast, read } = this.#rebuilds.take(tenant, limit)
    const documents: IndexDocument[] = []
    for (const version of versions) {
      this.#become(withoutUnindexable(this.#definitions, version))
      const reading = this.#reading(version.tenant)
      documents.push(yield* buildDocumentInPieces(version, reading, (each, error) => this.#poisoned(each, error), read.get(version)))
    }
    yield* index.applying(documents, { again: true })
    // If the rebuild was requested again meanwhile, it starts from the beginning, so ignore this progress.
    // guard: follower-notices-new-rebuild
    if (!this.#rebuilds.isCurrent(rebuild)) return
    this.#rebuilds.advance(rebuild, progress)
    if (isLast) {
      this.#become(finishRebuild(this.#definitions, rebuild))
      this.#arrangeLines()
    }
    this.#keep()
    if (isLast) this.commit()
    else onChange({ rebuilds: this.rebuilds })
  }

  /** Requests a rebuild of the tenant's documents of these types, from the first document. */
  requestRebuild(tenant: string, types: readonly string[]): void {
    this.#become(addRebuild(this.#definitions, tenant, types))
    this.#keep()
  }

  /**
   * Replaces the parameters of packages. An index without documents uses them from its first document on. `at`: now, in ms since 1970.
   */
  setPackageParameters(wanted: readonly CustomMapping[], at: number): void {
    const next = withPackageParameters(this.#definitions, wanted, at)
    this.#become(furthestOf(this.positions) === 0 ? activated(next) : next)
    this.#keep()
  }

  /** Requests a rebuild of the tenant's documents of the type with references below the base URL. */
  requestRebuildUnder(tenant: string, type: string, base: string): void {
    this.#become(addReferenceRebuild(this.#definitions, tenant, type, base))
    this.#keep()
  }

  commit(): void {
    this.#parts.index.commit()
    this.#uncommitted = 0
  }

  /**
   * Takes one step towards a commit. Returns true after the commit. Also returns true without a step if work in progress must end first.
   */
  commitStep(): boolean {
    if (this.#begun !== undefined) return true
    if (!this.#parts.index.prepareCommit()) return false
    this.commit()
    return true
  }

  #met(version: ResourceVersion): void {
    this.#uncommitted++
    this.#become(withoutUnindexable(this.#definitions, version))
    this.#rebuilds.overtake(version)
    if (version.type === 'SearchParameter' && version.versionId >= (this.#newest.get(nameOf(version)) ?? 0))
      this.#become(withSearchParameter(this.#definitions, version))
  }

  #poisoned(version: ResourceVersion, error: unknown): void {
    this.#become(withUnindexable(this.#definitions, version, error instanceof Error ? error.name : typeof error))
    this.#parts.onPoison(version, error)
  }

  #become(next: Definitions): void {
    const before = this.#definitions
    this.#definitions = next
    if (next.rebuilds !== before.rebuilds) this.#rebuilds.update(next.rebuilds)
  }

  /** Writes the changed parts of the definitions to the index, in the transaction of its documents, and reports them. */
  #keep(): void {
    const [now, before] = [this.#definitions, this.#kept]
    if (now === before) return
    this.#kept = now
    const { index, onChange } = this.#parts
    const changed = writeDefinitions(index, now, before)
    onChange(Object.fromEntries(changed.map((part) => [part, part === 'rebuilds' ? this.rebuilds : now[part]])))
  }
}
