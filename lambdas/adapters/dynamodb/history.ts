/** Histories: of one resource from its own items, of types from the index, merged. */
import type { Clock } from '../../ports/clock.ts'
import type {
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceVersion,
  VersionKey,
} from '../../ports/resource-store.ts'
import type { Dynamo } from './dynamo.ts'
import type { Content } from './item.ts'
import type { Reader } from './reader.ts'
import { currentAt } from './superseded.ts'
import { behind, instantPlace, place } from './table.ts'
import { openTransactions, readRecord } from './transaction-record.ts'
import { distinct, type Entry, type Range, readSources, type Source } from './windows.ts'

/** Bytes after which a page ends early. */
export const PAGE_WEIGHT = 16_000_000
/** How far histories since an instant stay behind, so that what the index shows later has a later instant: ms. */
const LAG = 2_000
const SMALLEST_READING = 16

export class History {
  readonly #dynamo: Dynamo
  readonly #reader: Reader
  readonly #clock: Clock

  constructor(dynamo: Dynamo, reader: Reader, clock: Clock) {
    this.#dynamo = dynamo
    this.#reader = reader
    this.#clock = clock
  }

  async ofResource(key: ResourceKey, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    const found: Found[] = []
    for await (const content of this.#reader.past(key, window, after?.versionId)) {
      found.push({ key: { ...key, versionId: content.vid }, content })
      if (found.length > limit) break
    }
    return this.#pageOf(found.slice(0, limit), found.length > limit)
  }

  /** Ends before the oldest transaction that is on its way in, so that no part of one is seen. */
  async ofTypes(
    scope: HistoryScope,
    sources: readonly Source[],
    window: HistoryWindow,
    after: HistoryPosition | undefined,
    limit: number,
  ): Promise<HistoryPage> {
    let end = await this.#end(scope.tenant, window)
    for (;;) {
      const entries = await this.#entries(sources, { ...window, before: end }, after, limit + 1)
      const shown = entries.slice(0, limit)
      const contents = await this.#reader.contentsAt(shown)
      const again = Math.min(end, await this.#end(scope.tenant, window))
      if (again === end) return this.#pageOf(foundOf(shown, contents), entries.length > limit)
      end = again
    }
  }

  async #end(tenant: string, { since, before = Number.MAX_SAFE_INTEGER }: HistoryWindow): Promise<number> {
    const open = await openTransactions(this.#dynamo, tenant)
    const records = await Promise.all(
      open.map(async ({ id, lu }) => ({ lu, state: (await readRecord(this.#dynamo, { tenant, id })).state })),
    )
    // What may still be committed matters only to who asks for what is new, and would not look back.
    const inTheWay = records.filter(({ state }) => state === 'COMMITTED' || (since !== undefined && state === 'PENDING'))
    const settled = since === undefined ? Number.MAX_SAFE_INTEGER : this.#clock.now() - LAG
    return Math.min(before, settled, ...inTheWay.map(({ lu }) => lu))
  }

  async #entries(
    sources: readonly Source[],
    window: HistoryWindow & { readonly before: number },
    after: HistoryPosition | undefined,
    wanted: number,
  ): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    let from = after
    let size = sources.length === 1 ? wanted : Math.max(SMALLEST_READING, Math.ceil((2 * wanted) / Math.max(1, sources.length)))
    for (; ; size *= 2) {
      const window_ = await this.#window(sources, window, from, size)
      entries.push(...window_.entries)
      if (entries.length >= wanted || window_.end === undefined) return entries.slice(0, wanted)
      from = window_.end
    }
  }

  /** The entries after a position, as far as all sources were read. No `end`: to the end. */
  async #window(
    sources: readonly Source[],
    window: HistoryWindow & { readonly before: number },
    after: HistoryPosition | undefined,
    size: number,
  ): Promise<{ readonly entries: readonly Entry[]; readonly end?: HistoryPosition }> {
    const ranges = new Map(sources.map((source) => [source, rangeOf(source, window, after)]))
    const heads = await readSources(this.#dynamo, 'c', ranges, size)
    const past = await readSources(this.#dynamo, 'h', ranges, size)
    const all = [...heads.values(), ...past.values()]
    const ends = all.flatMap(({ entries, isAll }) => (isAll ? [] : [entries.at(-1)!])).sort(byPosition)
    const [end] = ends
    const within = all.flatMap(({ entries }) => entries).filter((entry) => end === undefined || byPosition(entry, end) <= 0)
    const entries = distinct(within).toSorted(byPosition)
    const kept = window.currentAt === undefined ? entries : await currentAt(this.#reader, entries, window.currentAt)
    return { entries: kept, ...(end === undefined ? {} : { end }) }
  }

  /** As many as a page may weigh. */
  async #pageOf(found: readonly Found[], isMore: boolean): Promise<HistoryPage> {
    const versions: ResourceVersion[] = []
    for (let weight = 0; versions.length < found.length && weight < PAGE_WEIGHT; ) {
      const some = found.slice(versions.length, versions.length + BODIES)
      const read = await Promise.all(some.map(({ key, content }) => this.#reader.version(key, content)))
      versions.push(...read)
      weight += read.reduce((sum, { body }) => sum + body.length, 0)
    }
    return { versions, more: isMore || found.length > versions.length }
  }
}

/** Bodies read at once. */
const BODIES = 10

type Found = { readonly key: VersionKey; readonly content: Content }

const foundOf = (entries: readonly Entry[], contents: readonly (Content | undefined)[]): readonly Found[] =>
  entries.flatMap((key, i) => (contents[i] === undefined ? [] : [{ key, content: contents[i] }]))

/** Sources whose type stands before the position's have given all of its instant, those after it nothing of it. */
function rangeOf(
  { type }: Source,
  { since = 0, before }: HistoryWindow & { readonly before: number },
  after: HistoryPosition | undefined,
): Range {
  const first = instantPlace(before - 1)
  const to = behind(instantPlace(since))
  if (after === undefined || after.lastUpdated >= before) return { from: first, to }
  const instant = instantPlace(after.lastUpdated)
  if (type > after.type) return { from: instant, to }
  if (type < after.type) return { from: behind(instant), to }
  return { from: behind(place(after.lastUpdated, after.id, after.versionId)), to }
}

const text = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** The order of HistoryPosition. */
const byPosition = (a: HistoryPosition, b: HistoryPosition): number =>
  b.lastUpdated - a.lastUpdated || text(a.type, b.type) || text(a.id, b.id) || b.versionId - a.versionId
