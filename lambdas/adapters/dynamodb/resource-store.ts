/** ResourceReader and ResourceWriter on DynamoDB: one table, large bodies in a blob store. */
import { type DynamoDBDocumentClient, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { BlobStore } from '../../ports/blob-store.ts'
import { checkDistinct } from '../../ports/check-distinct.ts'
import type { Clock } from '../../ports/clock.ts'
import type {
  CommitResult,
  Guard,
  HistoryPage,
  HistoryPosition,
  HistoryScope,
  HistoryWindow,
  ResourceKey,
  ResourceReader,
  ResourceVersion,
  ResourceWriter,
  ScanPage,
  ScanRequest,
  VersionKey,
  Write,
} from '../../ports/resource-store.ts'
import { commit } from './commit.ts'
import { Dynamo, retried } from './dynamo.ts'
import { History } from './history.ts'
import { Reader } from './reader.ts'
import { scanPage } from './scan.ts'
import { sweep } from './settle.ts'
import type { Shards } from './table.ts'

export type DynamoDbStoreOptions = {
  readonly client: DynamoDBDocumentClient
  readonly table: string
  readonly blobs: BlobStore
  readonly clock: Clock
  readonly shards?: Shards
}

export class DynamoDbResourceStore implements ResourceReader, ResourceWriter {
  readonly #dynamo: Dynamo
  readonly #options: Required<DynamoDbStoreOptions>
  readonly #reader: Reader
  readonly #history: History
  readonly #types = new Set<string>()

  constructor(options: DynamoDbStoreOptions) {
    this.#options = { shards: () => 1, ...options }
    this.#dynamo = new Dynamo(options.client, options.table)
    this.#reader = new Reader(this.#dynamo, options.blobs)
    this.#history = new History(this.#dynamo, this.#reader, this.#options.shards)
  }

  current(keys: readonly ResourceKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.#reader.current(keys)
  }

  versions(keys: readonly VersionKey[]): Promise<readonly (ResourceVersion | undefined)[]> {
    return keys.length === 0 ? Promise.resolve([]) : this.#reader.versions(keys)
  }

  async history(scope: HistoryScope, window: HistoryWindow, after: HistoryPosition | undefined, limit: number): Promise<HistoryPage> {
    const types = scope.type === undefined ? await this.#typesOf(scope.tenant) : [scope.type]
    return this.#history.page(scope, window, after, limit, types)
  }

  scan(request: ScanRequest): Promise<ScanPage> {
    return scanPage(this.#dynamo, this.#reader, this.#options.shards, request)
  }

  async commit(writes: readonly Write[], guards: readonly Guard[]): Promise<CommitResult> {
    checkDistinct(writes, guards)
    await this.#registerTypes(writes)
    const { blobs, clock, shards } = this.#options
    return commit({ dynamo: this.#dynamo, blobs, clock, shards }, writes, guards)
  }

  /** Takes up transactions whose coordinator is gone; how many. */
  sweep(): Promise<number> {
    return sweep(this.#dynamo, this.#options.shards, this.#options.clock.now())
  }

  /** Before the first write of a type: system history asks which types there are. */
  async #registerTypes(writes: readonly Write[]): Promise<void> {
    for (const { tenant, type } of writes) {
      const name = `${tenant}#${type}`
      if (this.#types.has(name)) continue
      await retried(() =>
        this.#dynamo.client.send(new PutCommand({ TableName: this.#dynamo.table, Item: { pk: `${tenant}#CFG`, sk: `T#${type}` } })),
      )
      this.#types.add(name)
    }
  }

  async #typesOf(tenant: string): Promise<readonly string[]> {
    const types: string[] = []
    for await (const { sk } of this.#dynamo.query({
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :t)',
      ExpressionAttributeValues: { ':pk': `${tenant}#CFG`, ':t': 'T#' },
      ConsistentRead: true,
    }))
      types.push(sk.slice(2))
    return types
  }
}
