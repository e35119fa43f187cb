/**
 * Lines in which an index follows the change feed. Each line has its own position in the feed. Most tenants share one line. A tenant with
 * costly parameters has its own line, so that others do not wait for it. A tenant with a waiting search may have its own line too, so that
 * it does not wait for others.
 */
import type { FollowingIndex } from './indexing.ts'

/** Positions of an index in a feed. `all`: position of the shared line. `apart`: positions of the separate lines, by tenant. */
export type FeedPositions = { readonly all: number; readonly apart: ReadonlyMap<string, number> }

const NO_LINES: FeedPositions['apart'] = new Map()

export const FEED_START: FeedPositions = { all: 0, apart: NO_LINES }

/**
 * Returns the position up to which the versions of a tenant are indexed. Without a tenant, returns the lowest position of all lines, up to
 * which every version is indexed.
 */
export const positionOf = ({ all, apart }: FeedPositions, tenant?: string): number =>
  tenant === undefined ? Math.min(all, ...apart.values()) : (apart.get(tenant) ?? all)

/** Returns the highest position of all lines. No version after it is indexed. */
export const furthestOf = ({ all, apart }: FeedPositions): number => Math.max(all, ...apart.values())

/** Names a line: the tenant of a separate line, or undefined for the shared line. */
export type FeedLine = string | undefined

/**
 * Line of a single tenant. `position`: up to which its versions are indexed. `wanted`: highest position that a search waits for. `turn`:
 * number of the step in which the line last advanced, counted over all lines; 0 before the first.
 */
type OwnLine = { position: number; wanted: number; turn: number }

export class FeedLines {
  #all: number
  readonly #apart: Map<string, OwnLine>
  #turns = 0
  #turnOfAll = 0

  constructor({ all, apart }: FeedPositions) {
    this.#all = all
    this.#apart = new Map([...apart].map(([tenant, position]) => [tenant, { position, wanted: 0, turn: 0 }]))
  }

  get positions(): FeedPositions {
    if (this.#apart.size === 0) return { all: this.#all, apart: NO_LINES }
    return { all: this.#all, apart: new Map([...this.#apart].map(([tenant, { position }]) => [tenant, position])) }
  }

  /** Tenants that have their own line. */
  get tenants(): readonly string[] {
    return [...this.#apart.keys()]
  }

  positionOf(line: FeedLine): number {
    return (line === undefined ? undefined : this.#apart.get(line)?.position) ?? this.#all
  }

  /**
   * Gives a tenant its own line, which starts at the position of the shared line. An existing line keeps its position. `wanted`: position
   * that a search waits for.
   */
  separate(tenant: string, wanted = 0): void {
    const line = this.#apart.get(tenant) ?? { position: this.#all, wanted, turn: 0 }
    line.wanted = Math.max(line.wanted, wanted)
    this.#apart.set(tenant, line)
  }

  advance(line: FeedLine, position: number): void {
    const own = line === undefined ? undefined : this.#apart.get(line)
    this.#turns++
    if (own === undefined) [this.#all, this.#turnOfAll] = [position, this.#turns]
    else [own.position, own.turn] = [position, this.#turns]
  }

  /**
   * Moves separate lines from positions between `from` and `to` to `to`. Leaves lines of `tenants`, because these have versions there. The
   * shared line has advanced from `from` to `to`.
   */
  carry(from: number, to: number, tenants: readonly string[]): void {
    const stay = new Set(tenants)
    for (const [tenant, line] of this.#apart) {
      const isOnTheWay = line.position >= from && line.position < to
      // A line that a search waits for advances with its own next part, which may already be evaluated.
      const isWanted = line.wanted > line.position
      if (isOnTheWay && !isWanted && !stay.has(tenant)) line.position = to
    }
  }

  /**
   * Ends separate lines that are at the position of the shared line. Keeps the lines of tenants that `isKept` accepts, and lines that have
   * not reached the position that a search waits for.
   */
  join(isKept: (tenant: string) => boolean): void {
    for (const [tenant, { position, wanted }] of this.#apart)
      if (position === this.#all && position >= wanted && !isKept(tenant)) this.#apart.delete(tenant)
  }

  /** Returns the lines that have work. The line whose last turn is oldest comes first. `end`: position that the shared line is to reach. */
  due(end: number): readonly FeedLine[] {
    const due: { readonly line: FeedLine; readonly turn: number }[] = []
    if (this.#all < end) due.push({ line: undefined, turn: this.#turnOfAll })
    for (const [line, { position, wanted, turn }] of this.#apart) if (position < Math.max(wanted, this.#all)) due.push({ line, turn })
    return due.toSorted((a, b) => a.turn - b.turn).map(({ line }) => line)
  }
}

/**
 * Name of the note with the lowest position of all lines. An earlier version of the server reads only this note, and so misses no version.
 */
const SHARED = 'position'
/** Name of the note with the position of each line. */
const APART = 'apart'
const NONE = JSON.stringify({ all: 0, apart: [] })
/**
 * Lowest position that is noted for an index with documents. An earlier version of the server treats 0 as an index without documents. No
 * version has a position between 0 and 1, so the reader rounds it down.
 */
const BEFORE_FIRST = 0.5

/** Returns the positions that the index has stored in its notes. */
export function readPositions(index: Pick<FollowingIndex, 'note'>): FeedPositions {
  const position = Math.floor(Number(index.note(SHARED) ?? 0))
  const { all, apart } = JSON.parse(String(index.note(APART) ?? NONE)) as { all: number; apart: [string, number][] }
  // An earlier version of the server advances only the note SHARED, so take the higher position.
  return { all: Math.max(position, all), apart: new Map(apart.map(([tenant, at]) => [tenant, Math.max(position, at)])) }
}

/** Stores the positions in notes of the index, in the transaction of its documents. */
export function writePositions(index: Pick<FollowingIndex, 'note' | 'setNote'>, positions: FeedPositions): void {
  index.setNote(SHARED, Math.max(positionOf(positions), Math.min(furthestOf(positions), BEFORE_FIRST)))
  const { all, apart } = positions
  const text = apart.size === 0 ? NONE : JSON.stringify({ all, apart: [...apart] })
  if (text !== (index.note(APART) ?? NONE)) index.setNote(APART, text)
}
