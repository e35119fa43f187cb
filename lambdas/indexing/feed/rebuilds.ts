/** Indexes documents again while an index follows its store. Each tenant has one type at a time in work, and tenants take turns. */
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { nameOf } from '../../ports/store/newest-versions.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import type { Reading, ReadingOf } from '../../search/search-context.ts'
import type { Rebuild } from '../custom-definitions.ts'
import { isAheadNeeded, MOST_AHEAD, NOTHING_READ, type ReadAhead, readAhead } from '../parameter-prefetch.ts'
import { type Progress, type RebuiltIndex, type Slice, sliceAfter } from '../rebuild.ts'
import { referringUnder } from '../references-under.ts'

export type FeedRebuildsParts = {
  readonly index: RebuiltIndex
  readonly versionOf: (key: VersionKey) => ResourceVersion | undefined
  readonly reading: ReadingOf
  readonly expressions: ExpressionRunner
}

/** A slice with parameters evaluated ahead. `read`: absent until the evaluation has ended; `overtaken`: resources that the feed indexed since. */
type Ahead = { readonly slice: Slice; readonly by: Reading; read?: ReadAhead; readonly overtaken: Set<string> }

/** The rebuild that a tenant has in work. `turn`: the number of its last turn, 0 before the first. */
type Work = { readonly rebuild: Rebuild; progress: Progress; turn: number; ahead?: Ahead | undefined }

/** Versions to index again. `progress`: of the rebuild after them; `read`: their resources whose parameters were evaluated ahead. */
export type RebuildSlice = {
  readonly rebuild: Rebuild
  readonly versions: readonly ResourceVersion[]
  readonly progress: Progress
  readonly read: ReadAhead
}

export class FeedRebuilds {
  readonly #parts: FeedRebuildsParts
  readonly #works = new Map<string, Work>()
  #turns = 0

  constructor(parts: FeedRebuildsParts) {
    this.#parts = parts
  }

  /** Takes the current list of rebuilds. A tenant works on the first of its own. If that is another one than before, it starts from the beginning. */
  update(rebuilds: readonly Rebuild[]): void {
    const firsts = new Map<string, Rebuild>()
    for (const rebuild of rebuilds) if (!firsts.has(rebuild.tenant)) firsts.set(rebuild.tenant, rebuild)
    for (const tenant of this.#works.keys()) if (!firsts.has(tenant)) this.#works.delete(tenant)
    for (const [tenant, rebuild] of firsts) {
      const work = this.#works.get(tenant)
      if (work?.rebuild !== rebuild) this.#works.set(tenant, { rebuild, progress: { rebuild }, turn: work?.turn ?? 0 })
    }
  }

  /** Returns the list with the progress of those in work. */
  withProgress(rebuilds: readonly Rebuild[]): readonly Rebuild[] {
    return rebuilds.map((each) => {
      const work = this.#works.get(each.tenant)
      return work?.rebuild === each ? work.progress.rebuild : each
    })
  }

  /**
   * Starts to evaluate slices of at most `limit` versions. Each promise is resolved when one more slice is ready, and none is rejected. Throws
   * Damaged if the store cannot be read.
   */
  evaluate(limit: number): readonly Promise<void>[] {
    const costly = [...this.#works.values()].filter(this.#needsAhead)
    const needy = costly.filter((work) => this.#aheadOf(work) === undefined).toSorted((a, b) => a.turn - b.turn)
    const free = Math.max(0, MOST_AHEAD - (costly.length - needy.length))
    return needy.slice(0, free).map((work) => this.#evaluate(work, limit))
  }

  #evaluate(work: Work, limit: number): Promise<void> {
    const [reading, slice] = [this.#readingOf(work), this.#sliceOf(work, limit)]
    const ahead: Ahead = { slice, by: reading, overtaken: new Set() }
    work.ahead = ahead
    return readAhead(slice.versions, () => reading, this.#parts.expressions).then((read) => {
      ahead.read = read
    })
  }

  /** Returns the tenant with the oldest turn whose next slice can be taken, or undefined if every rebuild waits for an evaluation. */
  ready(): string | undefined {
    const isReady = (work: Work): boolean => !this.#needsAhead(work) || this.#aheadOf(work)?.read !== undefined
    const ready = [...this.#works].filter(([, work]) => isReady(work))
    return ready.toSorted(([, a], [, b]) => a.turn - b.turn)[0]?.[0]
  }

  /** Takes the next slice of a tenant that is ready. */
  take(tenant: string, limit: number): RebuildSlice {
    const work = this.#works.get(tenant)!
    const ahead = this.#aheadOf(work)
    work.ahead = undefined
    work.turn = ++this.#turns
    const { versions, progress } = ahead?.slice ?? this.#sliceOf(work, limit)
    const remaining = versions.filter((version) => ahead?.overtaken.has(nameOf(version)) !== true)
    return { rebuild: work.rebuild, versions: remaining, progress, read: ahead?.read ?? NOTHING_READ }
  }

  /** Whether the rebuild is still the one its tenant has in work. */
  isCurrent(rebuild: Rebuild): boolean {
    return this.#works.get(rebuild.tenant)?.rebuild === rebuild
  }

  advance(rebuild: Rebuild, progress: Progress): void {
    this.#works.get(rebuild.tenant)!.progress = progress
  }

  /** Notes that the feed indexes this version. A slice that was read before must not replace its document. */
  overtake(version: ResourceVersion): void {
    this.#works.get(version.tenant)?.ahead?.overtaken.add(nameOf(version))
  }

  readonly #readingOf = ({ rebuild }: Work): Reading => this.#parts.reading(rebuild.tenant)
  readonly #needsAhead = (work: Work): boolean => isAheadNeeded(this.#readingOf(work))
  readonly #aheadOf = (work: Work): Ahead | undefined => (work.ahead?.by === this.#readingOf(work) ? work.ahead : undefined)

  #sliceOf({ rebuild, progress }: Work, limit: number): Slice {
    const { index, versionOf, reading } = this.#parts
    return sliceAfter(index, progress, limit, versionOf, referringUnder(rebuild.type, rebuild.under, reading(rebuild.tenant)))
  }
}
