/** Reads current and superseded versions. The transaction record decides whether a staged version is current. Readers never write. */
import type { BlobStore } from '../../../ports/blobs/blob-store.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import { isFault } from '../../../ports/faults.ts'
import type { DamagedVersion, HistoryWindow, ResourceKey, ResourceVersion, VersionKey } from '../../../ports/store/resource-store.ts'
import { readRecord, type TransactionState } from '../commit/transaction-record.ts'
import type { TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, primaryKey, versionSortKey } from '../table-keys.ts'
import { type CopyItem, type HeadItem, type VersionContent, versionOf } from '../version-item.ts'

/** Versions in a head item. `before`: the previous version, while the staged version is current but not yet moved. */
export type ResolvedHead = {
  readonly current: VersionContent
  readonly before?: VersionContent
  /** Present while the current version is committed but still in the staged attributes. */
  readonly isMoving?: true
}

/** `isHead`: whether the version was the current one when it was read. */
export type LocatedContent = { readonly content: VersionContent; readonly isHead: boolean }

/** Maximum age in milliseconds of a timestamp whose commit may have happened between two reads, including clock differences. */
const RECENT = 60_000
const READINGS = 6

export class VersionReader {
  readonly #dynamo: TableClient
  readonly #blobs: BlobStore
  readonly #clock: Clock

  constructor(dynamo: TableClient, blobs: BlobStore, clock: Clock) {
    this.#dynamo = dynamo
    this.#blobs = blobs
    this.#clock = clock
  }

  async current(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return unpacked(await this.#currentContents(keys), room, (content, i) => this.version(keys[i]!, content))
  }

  /** Returns current versions, and a DamagedVersion for each whose body cannot be read. */
  async currentOrDamage(keys: readonly ResourceKey[], room?: number): Promise<readonly (ResourceVersion | DamagedVersion | undefined)[]> {
    return unpacked(await this.#currentContents(keys), room, (content, i) => this.versionOrDamage(keys[i]!, content))
  }

  async versions(keys: readonly VersionKey[], room?: number): Promise<readonly (ResourceVersion | undefined)[]> {
    return unpacked(await this.contents(keys), room, (content, i) => this.version(keys[i]!, content))
  }

  /**
   * Returns versions by number. It reads the head items first, because most requested versions are current. A version superseded before or
   * during the read is in a copy.
   */
  async contents(keys: readonly VersionKey[]): Promise<readonly (VersionContent | undefined)[]> {
    const heads = await this.heads(keys)
    const found = keys.map((key, i) => inHead(heads[i], key.versionId))
    const past = keys.flatMap((key, i) => (found[i] === undefined && (heads[i]?.current.vid ?? 0) > key.versionId ? [i] : []))
    const copies = await this.#dynamo.getAll(past.map((i) => ({ pk: primaryKey(keys[i]!), sk: versionSortKey(keys[i]!.versionId) })))
    for (const [n, i] of past.entries()) found[i] = (copies[n] as CopyItem | undefined)?.v
    return found
  }

  /**
   * Returns versions, and whether each is current. `isHead`: where the index located it, in the head item or in a copy. A version
   * superseded since is found in its copy.
   */
  async placed(keys: readonly (VersionKey & { readonly isHead: boolean })[]): Promise<readonly (LocatedContent | undefined)[]> {
    const items = await this.#dynamo.getAll(
      keys.map((key) => ({ pk: primaryKey(key), sk: key.isHead ? HEAD_SORT_KEY : versionSortKey(key.versionId) })),
    )
    const heads = await this.#resolve(
      keys,
      items.map((item, i) => (keys[i]!.isHead ? (item as HeadItem) : undefined)),
    )
    const found = keys.map((key, i) => (key.isHead ? inHead(heads[i], key.versionId) : (items[i] as CopyItem | undefined)?.v))
    const missed = keys.flatMap((_, i) => (found[i] === undefined ? [i] : []))
    const others = await this.contents(missed.map((i) => keys[i]!))
    for (const [n, i] of missed.entries()) found[i] = others[n]
    return found.map((content, i) => content && { content, isHead: content === heads[i]?.current })
  }

  async heads(keys: readonly ResourceKey[]): Promise<readonly (ResolvedHead | undefined)[]> {
    const items = await this.#dynamo.getAll(keys.map((key) => ({ pk: primaryKey(key), sk: HEAD_SORT_KEY })))
    return this.#resolve(keys, items as readonly (HeadItem | undefined)[])
  }

  /** Yields the versions of one resource in a window, newest first. `below`: only versions with lower numbers. */
  async *past(key: ResourceKey, { since = 0, before = Number.POSITIVE_INFINITY, currentAt }: HistoryWindow, below?: number) {
    const [head] = await this.heads([key])
    let successor: VersionContent | undefined
    for await (const content of this.#contentsOf(key, head, below)) {
      if (content.lu < since) return
      const wasSuperseded = currentAt !== undefined && successor !== undefined && successor.lu <= currentAt
      const isBelow = below === undefined || content.vid < below
      successor = content
      if (isBelow && content.lu < before && !wasSuperseded) yield content
      if (currentAt !== undefined && content.lu <= currentAt) return
    }
  }

  version(key: ResourceKey, content: VersionContent): Promise<ResourceVersion> {
    return versionOf(key, content, this.#blobs)
  }

  async versionOrDamage(key: ResourceKey, content: VersionContent): Promise<ResourceVersion | DamagedVersion> {
    try {
      return await this.version(key, content)
    } catch (damage) {
      if (!isFault(damage, 'store-damaged')) throw damage
      const { tenant, type, id } = key
      return { tenant, type, id, versionId: content.vid, deleted: content.del === true, damage }
    }
  }

  /**
   * Yields versions from number `below` down. Number `below` itself is included: its timestamp tells when the first wanted version was
   * superseded.
   */
  async *#contentsOf(key: ResourceKey, head: ResolvedHead | undefined, below = Number.POSITIVE_INFINITY): AsyncGenerator<VersionContent> {
    if (head === undefined) return
    for (const content of [head.current, head.before]) if (content !== undefined && content.vid <= below) yield content
    const last = Math.min((head.before ?? head.current).vid - 1, below)
    if (last < 1) return
    for await (const item of this.#dynamo.query({
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: { ':pk': primaryKey(key), ':first': versionSortKey(1), ':last': versionSortKey(last) },
      ScanIndexForward: false,
      ConsistentRead: true,
      Limit: PAGE,
    }))
      yield (item as CopyItem).v
  }

  /**
   * Returns head items that existed at the same moment. If a commit may have happened during the read, it repeats the read until two
   * results agree. After READINGS reads it returns the last result.
   */
  async #headsOfOneMoment(keys: readonly ResourceKey[]): Promise<readonly (ResolvedHead | undefined)[]> {
    let heads = await this.heads(keys)
    for (let n = 1; n < READINGS && keys.length > 1 && this.#mayBeTorn(heads); n++) {
      const again = await this.heads(keys)
      const agree = again.every((head, i) => head?.current.vid === heads[i]?.current.vid)
      heads = again
      if (agree) break
    }
    return heads
  }

  #mayBeTorn(heads: readonly (ResolvedHead | undefined)[]): boolean {
    const recently = this.#clock.now() - RECENT
    return heads.some((head) => head !== undefined && (head.isMoving === true || head.current.lu >= recently))
  }

  /** Reads each transaction record once, so that all items of a transaction resolve alike. */
  async #resolve(keys: readonly ResourceKey[], items: readonly (HeadItem | undefined)[]): Promise<readonly (ResolvedHead | undefined)[]> {
    const states = new Map<string, Promise<TransactionState>>()
    const stateOf = (tenant: string, id: string): Promise<TransactionState> => {
      const state = states.get(id) ?? readRecord(this.#dynamo, { tenant, id }).then(({ state }) => state)
      states.set(id, state)
      return state
    }
    const resolved = items.map(async (item, i): Promise<ResolvedHead | undefined> => {
      const isCommitted = item?.ptx !== undefined && (await stateOf(keys[i]!.tenant, item.ptx)) === 'COMMITTED'
      if (isCommitted) return { current: item.p!, isMoving: true, ...(item.v === undefined ? {} : { before: item.v }) }
      return item?.v === undefined ? undefined : { current: item.v }
    })
    return Promise.all(resolved)
  }

  async #currentContents(keys: readonly ResourceKey[]): Promise<readonly (VersionContent | undefined)[]> {
    return (await this.#headsOfOneMoment(keys)).map((head) => head?.current)
  }
}

/**
 * Versions unpacked in parallel if `room` is limited. Large bodies are in the blob store, and reading them one by one costs a round trip
 * each.
 */
const UNPACKED_AT_ONCE = 8

/**
 * Unpacks versions in order, and stops after the body with which all exceed `room` bytes. The result is then shorter than `contents`.
 * Packed items are small, but the unpacked bodies may be very large.
 */
async function unpacked<Found extends ResourceVersion | DamagedVersion>(
  contents: readonly (VersionContent | undefined)[],
  room = Number.POSITIVE_INFINITY,
  unpack: (content: VersionContent, index: number) => Promise<Found>,
): Promise<readonly (Found | undefined)[]> {
  const atOnce = room === Number.POSITIVE_INFINITY ? contents.length : UNPACKED_AT_ONCE
  const found: (Found | undefined)[] = []
  for (let at = 0, left = room; at < contents.length && left > 0; at += atOnce) {
    const some = contents.slice(at, at + atOnce).map((content, i) => content && unpack(content, at + i))
    for (const version of await Promise.all(some)) {
      if (left > 0) found.push(version)
      if (version !== undefined && 'body' in version) left -= version.body.length
    }
  }
  return found
}

const PAGE = 100

function inHead(head: ResolvedHead | undefined, versionId: number): VersionContent | undefined {
  return [head?.current, head?.before].find((content) => content?.vid === versionId)
}
