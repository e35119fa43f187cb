/** An index that follows a store: how far it has come, what SearchParameters define in it, and which types are made again. */
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { IndexDocument } from '../ports/search/search-index.ts'
import type { Change, ChangeFeed } from '../ports/store/change-feed.ts'
import { nameOf } from '../ports/store/newest-versions.ts'
import type { ResourceVersion, VersionKey } from '../ports/store/resource-store.ts'
import { isWatched } from '../search/custom-evaluation.ts'
import type { Reading, ReadingOf } from '../search/search-context.ts'
import {
  addRebuild,
  addRebuildUnder,
  built,
  type Definitions,
  defined,
  definedFromTheFirst,
  NO_DEFINITIONS,
  poisonedBy,
  type Rebuild,
  tried,
} from './custom-definitions.ts'
import { documentInPieces, type FollowingIndex, indexChanges, type OnPoison, positionOf } from './feed-indexing.ts'
import { NOTHING_READ, type ReadAhead, readAhead } from './parameter-prefetch.ts'
import { type Progress, type RebuiltIndex, type Slice, sliceAfter } from './rebuild.ts'
import { referringUnder } from './references-under.ts'
import { Readings } from './tenant-search-contexts.ts'

export type FollowerParts = {
  readonly feed: ChangeFeed & { readonly version: (key: VersionKey) => ResourceVersion | undefined }
  readonly index: FollowingIndex & RebuiltIndex
  /** How texts are read, without what SearchParameters define. */
  readonly reading: Reading
  /** What was current of SearchParameters when the follower was made: an index without documents is made with it from the first on. */
  readonly defining?: readonly ResourceVersion[]
  readonly expressions: ExpressionRunner
  readonly onPoison: OnPoison
  /** Versions after which the index commits. */
  readonly commitEvery: number
  /** Told what is different now. */
  readonly onChange: (changed: Partial<Definitions>) => void
}

/** What is known of what comes next, read by these definitions. */
type Read<Next> = Next & { readonly by: Definitions['definitions']; readonly read: ReadAhead }

const NONE: ReadonlySet<string> = new Set()

export class Follower {
  readonly #parts: FollowerParts
  #position: number
  #committed: number
  #definitions: Definitions
  /** Of SearchParameters: what came before means nothing any more. */
  readonly #newest: ReadonlyMap<string, number>
  /** What the index keeps of them. */
  #kept: Definitions
  readonly #readings: Readings
  readonly #reading: ReadingOf = (tenant) => this.#readings.of(this.#definitions, tenant)
  #progress: Progress | undefined
  #isAheadNeeded: boolean
  #next: Read<{ readonly position: number; readonly changes: readonly Change[] }> | undefined
  #nextSlice: Read<{ readonly slice: Slice; readonly overtaken: Set<string> }> | undefined
  /** What is done in pieces, and not done yet: nothing else is, and nothing is committed. */
  #begun: Generator<undefined, void> | undefined

  constructor(parts: FollowerParts) {
    this.#parts = parts
    this.#position = positionOf(parts.index)
    this.#committed = this.#position
    const { defining = [] } = parts
    this.#kept = keptIn(parts.index)
    this.#definitions = this.#position === 0 ? definedFromTheFirst(defining) : this.#kept
    this.#newest = new Map(defining.map((version) => [nameOf(version), version.versionId]))
    this.#readings = new Readings(parts.reading, 'documents')
    this.#isAheadNeeded = isSomeWatched(this.#definitions)
  }

  /** Up to which it has everything. */
  get position(): number {
    return this.#position
  }

  get definitions(): Definitions {
    return this.#definitions
  }

  /** The types that are made again, the first as far as it has come. */
  get rebuilds(): readonly Rebuild[] {
    const { rebuilds } = this.#definitions
    return this.#progress === undefined ? rebuilds : [this.#progress.rebuild, ...rebuilds.slice(1)]
  }

  /** Until this is done there is nothing to follow with; undefined: there is. Never fails for what it evaluates. */
  beforeFollow(limit: number): Promise<void> | undefined {
    if (!this.#isAheadNeeded || this.#begun !== undefined || this.#aheadOfFollow !== undefined) return undefined
    const [position, by] = [this.#position, this.#definitions.definitions]
    const changes = this.#parts.feed.changes(position, limit)
    const versions = changes.map(({ version }) => version)
    return readAhead(versions, this.#reading, this.#parts.expressions).then((read) => {
      this.#next = { position, by, changes, read }
    })
  }

  get #aheadOfFollow() {
    return this.#next?.position === this.#position && this.#next.by === this.#definitions.definitions ? this.#next : undefined
  }

  /** As beforeFollow. */
  beforeRebuild(limit: number): Promise<void> | undefined {
    const [first] = this.#definitions.rebuilds
    if (!this.#isAheadNeeded || this.#begun !== undefined || first === undefined || this.#aheadOfRebuild !== undefined) return undefined
    const slice = this.#sliceAfter(first, limit)
    const ahead = { slice, by: this.#definitions.definitions, read: NOTHING_READ, overtaken: new Set<string>() }
    this.#nextSlice = ahead
    return readAhead(slice.versions, this.#reading, this.#parts.expressions).then((read) => {
      if (this.#nextSlice === ahead) this.#nextSlice = { ...ahead, read }
    })
  }

  get #aheadOfRebuild() {
    return this.#nextSlice?.by === this.#definitions.definitions ? this.#nextSlice : undefined
  }

  #sliceAfter(first: Rebuild, limit: number): Slice {
    const { feed, index } = this.#parts
    const where = referringUnder(first.type, first.under, this.#reading(first.tenant))
    return sliceAfter(index, this.#progress ?? { rebuild: first }, limit, (key) => feed.version(key), where)
  }

  /** Takes up to `limit` versions from the feed, or a step towards that or towards a commit. False: there was neither. */
  follow(limit: number): boolean {
    if (this.#goesOn()) return true
    if (this.#position - this.#committed >= this.#parts.commitEvery) {
      this.commitStep()
      return true
    }
    const before = this.#position
    this.#begun = this.#following(limit)
    this.#goesOn()
    return this.#begun !== undefined || this.#position > before
  }

  *#following(limit: number): Generator<undefined, void> {
    const { feed, index } = this.#parts
    this.#position = yield* indexChanges(feed, index, this.#position, {
      limit,
      ahead: this.#aheadOfFollow,
      reading: this.#reading,
      onPoison: (version, error) => this.#poisoned(version, error),
      onVersion: (version) => this.#met(version),
    })
    this.#next = undefined
    this.#keep()
  }

  /** A piece of what was begun, or of writing what it left in memory. False: nothing was. */
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

  /** Makes up to `limit` documents again, of the first type that is to be, or goes on with that. */
  rebuild(limit: number): void {
    const [first] = this.#definitions.rebuilds
    if (first === undefined || this.#goesOn()) return
    this.#begun = this.#rebuilding(first, limit)
    this.#goesOn()
  }

  *#rebuilding(first: Rebuild, limit: number): Generator<undefined, void> {
    const { index, onChange } = this.#parts
    const { slice, read, overtaken } = this.#aheadOfRebuild ?? {
      slice: this.#sliceAfter(first, limit),
      read: NOTHING_READ,
      overtaken: NONE,
    }
    this.#nextSlice = undefined
    const versions = slice.versions.filter((version) => !overtaken.has(nameOf(version)))
    const documents: IndexDocument[] = []
    for (const version of versions) {
      this.#become(tried(this.#definitions, version))
      const reading = this.#reading(version.tenant)
      documents.push(yield* documentInPieces(version, reading, (each, error) => this.#poisoned(each, error), read.get(version)))
    }
    yield* index.applying(documents, { again: true })
    // Asked for anew meanwhile, it begins anew.
    // guard: follower-notices-new-rebuild
    if (this.#definitions.rebuilds[0] !== first) return
    this.#progress = slice.progress
    const isDone = this.#progress.after === undefined
    if (isDone) this.#become(built(this.#definitions, first))
    this.#keep()
    if (isDone) this.commit()
    else onChange({ rebuilds: this.rebuilds })
  }

  /** The types are made again from the first document on. */
  requestRebuild(tenant: string, types: readonly string[]): void {
    this.#become(addRebuild(this.#definitions, tenant, types))
    this.#keep()
  }

  /** Indexes documents of the type again that refer to something below the base URL. */
  requestRebuildUnder(tenant: string, type: string, base: string): void {
    this.#become(addRebuildUnder(this.#definitions, tenant, type, base))
    this.#keep()
  }

  commit(): void {
    this.#parts.index.commit()
    this.#committed = this.#position
  }

  /** A step towards a commit. True: that was it, or it waits for what was begun. */
  commitStep(): boolean {
    if (this.#begun !== undefined) return true
    if (!this.#parts.index.prepareCommit()) return false
    this.commit()
    return true
  }

  #met(version: ResourceVersion): void {
    this.#become(tried(this.#definitions, version))
    this.#nextSlice?.overtaken.add(nameOf(version))
    if (version.type === 'SearchParameter' && version.versionId >= (this.#newest.get(nameOf(version)) ?? 0))
      this.#become(defined(this.#definitions, version))
  }

  #poisoned(version: ResourceVersion, error: unknown): void {
    this.#become(poisonedBy(this.#definitions, version, error instanceof Error ? error.name : typeof error))
    this.#parts.onPoison(version, error)
  }

  #become(next: Definitions): void {
    const before = this.#definitions
    this.#definitions = next
    if (next.rebuilds[0] !== before.rebuilds[0]) {
      this.#progress = undefined
      this.#nextSlice = undefined
    }
    if (next.definitions !== before.definitions) this.#isAheadNeeded = isSomeWatched(next)
  }

  /** What SearchParameters define is part of the index: kept in one transaction with its documents, what is different now alone. */
  #keep(): void {
    const [now, before] = [this.#definitions, this.#kept]
    if (now === before) return
    this.#kept = now
    const { index, onChange } = this.#parts
    const changed = PARTS.filter((part) => now[part] !== before[part])
    for (const part of changed) index.setNote(part, JSON.stringify({ [part]: now[part] }))
    onChange(Object.fromEntries(changed.map((part) => [part, part === 'rebuilds' ? this.rebuilds : now[part]])))
  }
}

const PARTS = ['definitions', 'rebuilds', 'poisoned'] as const

/** Until each part had a note of its own, the first had all of them. */
const keptIn = (index: FollowingIndex): Definitions =>
  Object.assign({}, NO_DEFINITIONS, ...PARTS.map((part) => JSON.parse(String(index.note(part) ?? '{}')))) as Definitions

const isSomeWatched = ({ definitions }: Definitions): boolean => definitions.some(({ mapping }) => isWatched(mapping))
