/** Reads heads and versions. A head with a staged version is resolved through the record of its transaction; readers never write. */
import type { BlobStore } from '../../ports/blob-store.ts'
import type { ResourceKey, ResourceVersion, VersionKey } from '../../ports/resource-store.ts'
import { asHead, type Dynamo } from './dynamo.ts'
import { type Content, type HeadItem, keyOf, ownContent, primaryKey, versionOf } from './item.ts'
import { pendingOf } from './settle.ts'
import { HEAD, versionSort } from './table.ts'
import { readRecord, type State } from './transaction-record.ts'

export class Reader {
  readonly #dynamo: Dynamo
  readonly #blobs: BlobStore

  constructor(dynamo: Dynamo, blobs: BlobStore) {
    this.#dynamo = dynamo
    this.#blobs = blobs
  }

  async current(keys: readonly ResourceKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    const items = await this.#dynamo.getAll(keys.map((key) => ({ pk: primaryKey(key), sk: HEAD })))
    const states = this.#states()
    return Promise.all(items.map(async (item, i) => this.#version(keys[i]!, (await this.#contents(asHead(item), states))[0])))
  }

  async versions(keys: readonly VersionKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    const wanted = keys.flatMap((key) => [
      { pk: primaryKey(key), sk: HEAD },
      { pk: primaryKey(key), sk: versionSort(key.versionId) },
    ])
    const items = await this.#dynamo.getAll(wanted)
    const states = this.#states()
    return Promise.all(
      keys.map(async (key, i) => {
        const copy = asHead(items[2 * i + 1])
        const contents = [...(await this.#contents(asHead(items[2 * i]), states)), ...(copy === undefined ? [] : [ownContent(copy)])]
        return this.#version(
          key,
          contents.find((content) => content?.vid === key.versionId),
        )
      }),
    )
  }

  /** All versions of one resource, newest first. */
  async all(key: ResourceKey): Promise<readonly ResourceVersion[]> {
    const contents = new Map<number, Content>()
    const states = this.#states()
    for await (const item of this.#dynamo.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': primaryKey(key) },
      ConsistentRead: true,
    })) {
      const found =
        item.sk === HEAD ? await this.#contents(asHead(item), states) : item.sk.startsWith('V#') ? [ownContent(item as HeadItem)] : []
      for (const content of found) if (content !== undefined) contents.set(content.vid, content)
    }
    const newestFirst = [...contents.values()].sort((a, b) => b.vid - a.vid)
    return Promise.all(newestFirst.map((content) => versionOf(key, content, this.#blobs)))
  }

  /** What a head stands for, the current version first: with a committed transaction the staged version, then the one before. */
  async #contents(
    head: HeadItem | undefined,
    states: (tenant: string, transaction: string) => Promise<State>,
  ): Promise<readonly (Content | undefined)[]> {
    if (head === undefined) return []
    const own = ownContent(head)
    if (head.ptx === undefined || (await states(keyOf(head.pk).tenant, head.ptx)) !== 'COMMITTED') return [own]
    const pending = await pendingOf(this.#dynamo, head)
    // Settled between two reads: the head says it now.
    if (pending === undefined) return this.#contents(asHead(await this.#dynamo.get(head)), states)
    return [pending, own]
  }

  /** The states of transactions, each asked once: one answer agrees with itself. */
  #states(): (tenant: string, transaction: string) => Promise<State> {
    const known = new Map<string, Promise<State>>()
    return (tenant, transaction) => {
      const state = known.get(transaction) ?? readRecord(this.#dynamo, tenant, transaction).then(({ state }) => state)
      known.set(transaction, state)
      return state
    }
  }

  async #version(key: ResourceKey, content: Content | undefined): Promise<ResourceVersion | undefined> {
    return content === undefined ? undefined : versionOf(key, content, this.#blobs)
  }
}
