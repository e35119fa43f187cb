/**
 * The lines in which an index follows a feed. Each line has a position. Most tenants share one line. A tenant has a line of its own if its
 * parameters may take long, so that others do not wait for it, or if its search waits, so that it does not wait for others.
 */
import type { FollowingIndex } from './indexing.ts'

/** Positions of an index in a feed. `all`: of the shared line; `apart`: of the lines of single tenants. */
export type FeedPositions = { readonly all: number; readonly apart: ReadonlyMap<string, number> }

const NOBODY: FeedPositions['apart'] = new Map()

export const FEED_START: FeedPositions = { all: 0, apart: NOBODY }

/** Returns the position up to which the versions of a tenant are indexed. Without a tenant: those of all tenants. */
export const positionOf = ({ all, apart }: FeedPositions, tenant?: string): number =>
  tenant === undefined ? Math.min(all, ...apart.values()) : (apart.get(tenant) ?? all)

/** Returns the position after which no version of any tenant is indexed. */
export const furthestOf = ({ all, apart }: FeedPositions): number => Math.max(all, ...apart.values())

/** The tenant of a line of its own, or undefined for the shared line. */
export type FeedLine = string | undefined

/** `wanted`: the last position that a search waits for; `turn`: the number of its last turn, 0 before the first. */
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
    if (this.#apart.size === 0) return { all: this.#all, apart: NOBODY }
    return { all: this.#all, apart: new Map([...this.#apart].map(([tenant, { position }]) => [tenant, position])) }
  }

  /** Tenants that have a line of their own. */
  get tenants(): readonly string[] {
    return [...this.#apart.keys()]
  }

  positionOf(line: FeedLine): number {
    return (line === undefined ? undefined : this.#apart.get(line)?.position) ?? this.#all
  }

  /** Gives a tenant a line of its own, which starts where the shared line is. A line that exists keeps its position. */
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

  /** Moves the lines of tenants without versions between two positions of the shared line, as that line moves. `tenants`: those with versions. */
  carry(from: number, to: number, tenants: readonly string[]): void {
    const stay = new Set(tenants)
    for (const [tenant, line] of this.#apart) {
      const isOnTheWay = line.position >= from && line.position < to
      // A line for which a search waits is further with its next part, which may be evaluated already.
      const isWanted = line.wanted > line.position
      if (isOnTheWay && !isWanted && !stay.has(tenant)) line.position = to
    }
  }

  /** Ends the lines whose position is that of the shared line, except those of tenants that `isKept` accepts, and lines for which a search waits. */
  join(isKept: (tenant: string) => boolean): void {
    for (const [tenant, { position, wanted }] of this.#apart)
      if (position === this.#all && position >= wanted && !isKept(tenant)) this.#apart.delete(tenant)
  }

  /** Returns the lines that have work, the one with the oldest turn first. `end`: the position that the shared line is to reach. */
  due(end: number): readonly FeedLine[] {
    const due: { readonly line: FeedLine; readonly turn: number }[] = []
    if (this.#all < end) due.push({ line: undefined, turn: this.#turnOfAll })
    for (const [line, { position, wanted, turn }] of this.#apart) if (position < Math.max(wanted, this.#all)) due.push({ line, turn })
    return due.toSorted((a, b) => a.turn - b.turn).map(({ line }) => line)
  }
}

/** Name of the note on the lowest position. An earlier version of the server reads only this note, so it continues where no version is missing. */
const SHARED = 'position'
/** Name of the note on the positions of all lines. */
const APART = 'apart'
const NONE = JSON.stringify({ all: 0, apart: [] })
/** An earlier version of the server takes an index at 0 for one without documents. No version has a position between 0 and 1. */
const BEFORE_FIRST = 0.5

/** Returns the positions that an index has noted. */
export function readPositions(index: Pick<FollowingIndex, 'note'>): FeedPositions {
  const position = Math.floor(Number(index.note(SHARED) ?? 0))
  const { all, apart } = JSON.parse(String(index.note(APART) ?? NONE)) as { all: number; apart: [string, number][] }
  // An earlier version of the server may have followed further since.
  return { all: Math.max(position, all), apart: new Map(apart.map(([tenant, at]) => [tenant, Math.max(position, at)])) }
}

/** Notes the positions of an index, as part of its transaction. */
export function writePositions(index: Pick<FollowingIndex, 'note' | 'setNote'>, positions: FeedPositions): void {
  index.setNote(SHARED, Math.max(positionOf(positions), Math.min(furthestOf(positions), BEFORE_FIRST)))
  const { all, apart } = positions
  const text = apart.size === 0 ? NONE : JSON.stringify({ all, apart: [...apart] })
  if (text !== (index.note(APART) ?? NONE)) index.setNote(APART, text)
}
