/** Reads the next part of the feed for each line. Before the part of a tenant with costly parameters is taken, these are evaluated. */
import type { ChangeFeed, FeedPart } from '../../ports/store/change-feed.ts'
import type { SearchContext, SearchContextOf } from '../../search/search-context.ts'
import {
  isPrefetchNeeded,
  MOST_AHEAD,
  NO_PREFETCHED_RESOURCES,
  type ParameterPrefetch,
  type PrefetchedResources,
} from '../parameter-prefetch.ts'
import type { PrefetchedPart } from './indexing.ts'
import type { FeedLine, FeedLines } from './lines.ts'

export type FeedPartReaderParts = {
  readonly feed: ChangeFeed
  readonly lines: FeedLines
  readonly reading: SearchContextOf
  readonly prefetch: ParameterPrefetch
}

/**
 * A part whose costly parameters are evaluated in advance. It begins after `position`. `by`: search context of the evaluation. `read`:
 * absent until the evaluation has ended.
 */
type Ahead = { readonly part: FeedPart; readonly position: number; readonly by: SearchContext; read?: PrefetchedResources }

export class FeedPartReader {
  readonly #parts: FeedPartReaderParts
  readonly #ahead = new Map<string, Ahead>()

  constructor(parts: FeedPartReaderParts) {
    this.#parts = parts
  }

  /**
   * Starts to evaluate the next part of these lines, if their tenants have costly parameters. A part has at most `limit` versions. Each
   * promise is resolved with true when one more part is ready or outdated. It is resolved with false if the runner cannot evaluate now. None
   * is rejected. Throws the fault `store-damaged` if the feed cannot be read.
   */
  evaluate(due: readonly FeedLine[], limit: number): readonly Promise<boolean>[] {
    for (const tenant of this.#ahead.keys()) if (this.#aheadOf(tenant) === undefined) this.#ahead.delete(tenant)
    const needy = due.filter((line) => line !== undefined && this.isCostly(line) && !this.#ahead.has(line))
    return needy.slice(0, Math.max(0, MOST_AHEAD - this.#ahead.size)).map((line) => this.#evaluate(line!, limit))
  }

  #evaluate(tenant: string, limit: number): Promise<boolean> {
    const { feed, lines, reading, prefetch } = this.#parts
    const [position, by] = [lines.positionOf(tenant), reading(tenant)]
    const ahead: Ahead = { position, by, part: feed.changesOf({ only: tenant }, position, limit) }
    this.#ahead.set(tenant, ahead)
    const versions = ahead.part.changes.map(({ version }) => version)
    const isNeeded = () => this.#aheadOf(tenant) === ahead
    return prefetch.evaluate(isNeeded, tenant, versions, by).then((read) => {
      const isFailed = read === undefined && isNeeded()
      if (isFailed) this.#ahead.delete(tenant)
      if (read !== undefined) ahead.read = read
      return !isFailed
    })
  }

  /** Whether the tenant has costly parameters. */
  isCostly(tenant: string): boolean {
    return isPrefetchNeeded(this.#parts.reading(tenant))
  }

  /** Whether the next part of the line can be taken now. False until the costly parameters on it are evaluated. */
  isReady(line: FeedLine): boolean {
    return line === undefined || !this.isCostly(line) || this.#aheadOf(line)?.read !== undefined
  }

  /**
   * Takes the next part of a line. `isReady` must be true for the line. `limit`: maximum versions of a part that was not evaluated in
   * advance.
   */
  take(line: FeedLine, limit: number): PrefetchedPart {
    const ahead = line === undefined ? undefined : this.#aheadOf(line)
    if (ahead?.read === undefined) return { ...this.#next(line, limit), read: NO_PREFETCHED_RESOURCES }
    this.#ahead.delete(line!)
    return { ...ahead.part, read: ahead.read }
  }

  /**
   * Records that the line has indexed the feed up to the position. If it is the shared line, separate lines without versions in the same
   * span advance too.
   */
  advance(line: FeedLine, position: number): void {
    const { feed, lines } = this.#parts
    if (line !== undefined || lines.tenants.length === 0) return lines.advance(line, position)
    const from = lines.positionOf(line)
    const tenants = feed.tenantsIn(from, position)
    lines.advance(line, position)
    lines.carry(from, position, tenants)
  }

  #next(line: FeedLine, limit: number): FeedPart {
    const { feed, lines } = this.#parts
    const position = lines.positionOf(line)
    if (line !== undefined) return feed.changesOf({ only: line }, position, limit)
    if (lines.tenants.length > 0) return feed.changesOf({ except: lines.tenants }, position, limit)
    const changes = feed.changes(position, limit)
    return { changes, upTo: changes.at(-1)?.position ?? position }
  }

  /**
   * Returns the part evaluated in advance. Returns undefined if there is none, if the line has another position, or if the search context
   * has changed since.
   */
  #aheadOf(tenant: string): Ahead | undefined {
    const ahead = this.#ahead.get(tenant)
    const { lines, reading } = this.#parts
    return ahead?.position === lines.positionOf(tenant) && ahead.by === reading(tenant) ? ahead : undefined
  }
}
