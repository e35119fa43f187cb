/** An index that follows a store: how far it has come, what SearchParameters define in it, and which types are made again. */
import type { ChangeFeed } from '../ports/change-feed.ts'
import type { ResourceVersion, VersionKey } from '../ports/resource-store.ts'
import { isPrepared, prepared } from '../search/own-evaluation.ts'
import type { Reading } from '../search/reading.ts'
import { addRebuild, built, type Definitions, defined, NO_DEFINITIONS, poisonedBy, type Rebuild, tried } from './custom-definitions.ts'
import { type FollowingIndex, indexChanges, type OnPoison, positionOf } from './index-changes.ts'
import { readingOfDocuments } from './reading-now.ts'
import { type Progress, type RebuiltIndex, rebuildSlice } from './rebuild.ts'

export type FollowerParts = {
  readonly feed: ChangeFeed & { readonly version: (key: VersionKey) => ResourceVersion | undefined }
  readonly index: FollowingIndex & RebuiltIndex
  /** How texts are read, without what SearchParameters define. */
  readonly reading: Reading
  readonly onPoison: OnPoison
  /** Versions after which the index commits. */
  readonly commitEvery: number
  /** Told what is different now. */
  readonly onChange: (changed: Partial<Definitions>) => void
}

export class Follower {
  readonly #parts: FollowerParts
  #position: number
  #committed: number
  #definitions: Definitions
  /** What the index keeps of them. */
  #kept: Definitions
  #reading: Reading
  #progress: Progress | undefined
  #isReady: boolean

  constructor(parts: FollowerParts) {
    this.#parts = parts
    this.#position = positionOf(parts.index)
    this.#committed = this.#position
    this.#definitions = { ...NO_DEFINITIONS, ...JSON.parse(String(parts.index.note('definitions') ?? '{}')) }
    this.#kept = this.#definitions
    this.#reading = readingOfDocuments(parts.reading, this.#definitions)
    this.#isReady = isPrepared(this.#reading.custom)
  }

  /** False: it goes no further until it is prepared for what somebody has defined. */
  get isReady(): boolean {
    return this.#isReady
  }

  /** What cannot be prepared fails when it is needed, version by version. */
  async prepare(): Promise<void> {
    await prepared(this.#reading.custom).catch(() => undefined)
    this.#isReady = true
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

  /** Takes up to `limit` versions from the feed, or a step towards a commit. False: there was neither. */
  follow(limit: number): boolean {
    const { feed, index, commitEvery } = this.#parts
    if (this.#position - this.#committed >= commitEvery) {
      this.commitStep()
      return true
    }
    const before = this.#position
    this.#position = indexChanges(feed, index, before, {
      limit,
      reading: () => this.#reading,
      onPoison: (version, error) => this.#poisoned(version, error),
      onVersion: (version) => this.#met(version),
      isReady: () => this.#isReady,
    })
    this.#keep()
    return this.#position > before
  }

  /** Makes up to `limit` documents again, of the first type that is to be. */
  rebuild(limit: number): void {
    const [first] = this.#definitions.rebuilds
    if (first === undefined) return
    const { feed, index, onChange } = this.#parts
    this.#progress = rebuildSlice(index, this.#progress ?? { rebuild: first }, {
      limit,
      reading: this.#reading,
      onPoison: (version, error) => this.#poisoned(version, error),
      versionOf: (key) => this.#again(feed.version(key)),
    })
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

  commit(): void {
    this.#parts.index.commit()
    this.#committed = this.#position
  }

  /** A step towards a commit. True: that was it. */
  commitStep(): boolean {
    if (!this.#parts.index.prepareCommit()) return false
    this.commit()
    return true
  }

  #met(version: ResourceVersion): void {
    this.#become(tried(this.#definitions, version))
    if (version.type === 'SearchParameter') this.#become(defined(this.#definitions, version))
  }

  #again(version: ResourceVersion | undefined): ResourceVersion | undefined {
    if (version !== undefined) this.#become(tried(this.#definitions, version))
    return version
  }

  #poisoned(version: ResourceVersion, error: unknown): void {
    this.#become(poisonedBy(this.#definitions, version, error instanceof Error ? error.name : typeof error))
    this.#parts.onPoison(version, error)
  }

  #become(next: Definitions): void {
    const before = this.#definitions
    this.#definitions = next
    if (next.rebuilds[0] !== before.rebuilds[0]) this.#progress = undefined
    if (next.definitions === before.definitions) return
    this.#reading = readingOfDocuments(this.#parts.reading, next)
    this.#isReady = isPrepared(this.#reading.custom)
  }

  /** What SearchParameters define is part of the index: kept in one transaction with its documents. */
  #keep(): void {
    const [now, before] = [this.#definitions, this.#kept]
    if (now === before) return
    this.#kept = now
    this.#parts.index.setNote('definitions', JSON.stringify(now))
    this.#parts.onChange({
      ...(now.definitions === before.definitions ? {} : { definitions: now.definitions }),
      ...(now.rebuilds === before.rebuilds ? {} : { rebuilds: this.rebuilds }),
      ...(now.poisoned === before.poisoned ? {} : { poisoned: now.poisoned }),
    })
  }
}
