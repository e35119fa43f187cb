/** The table behind the document client: consistent reads, batches that are seen through, retries with jitter. */
import { setTimeout as wait } from 'node:timers/promises'
import {
  BatchGetCommand,
  BatchWriteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  type QueryCommandInput,
} from '@aws-sdk/lib-dynamodb'
import type { HeadItem } from './item.ts'

export type Key = { readonly pk: string; readonly sk: string }
export type Item = Key & Readonly<Record<string, unknown>>
/** What a conditional write met instead: nothing was written. */
export type Refused = { readonly met?: Item }

const GET_BATCH = 100
const WRITE_BATCH = 25
const ATTEMPTS = 10

const PASSING = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'InternalServerError',
  'TransactionConflictException',
  'TransactionInProgressException',
  'TimeoutError',
  'ECONNRESET',
])

export class Dynamo {
  readonly client: DynamoDBDocumentClient
  readonly table: string

  constructor(client: DynamoDBDocumentClient, table: string) {
    this.client = client
    this.table = table
  }

  async get(key: Key): Promise<Item | undefined> {
    const { Item: item } = await retried(() => this.client.send(new GetCommand({ TableName: this.table, Key: key, ConsistentRead: true })))
    return item as Item | undefined
  }

  /** In the order of the keys, which may repeat. */
  async getAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    if (keys.length === 1) return [await this.get(keys[0]!)]
    const found = new Map<string, Item>()
    const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()]
    await inChunks(distinct, GET_BATCH, (chunk) => this.#getBatch(chunk, found))
    return keys.map((key) => found.get(nameOf(key)))
  }

  async #getBatch(chunk: readonly Key[], found: Map<string, Item>): Promise<void> {
    let left: readonly Key[] = chunk
    for (let attempt = 0; left.length > 0; attempt++) {
      if (attempt > 0) await pause(attempt)
      const { Responses, UnprocessedKeys } = await retried(() =>
        this.client.send(
          new BatchGetCommand({ RequestItems: { [this.table]: { Keys: left.map(({ pk, sk }) => ({ pk, sk })), ConsistentRead: true } } }),
        ),
      )
      for (const item of (Responses?.[this.table] ?? []) as Item[]) found.set(nameOf(item), item)
      left = (UnprocessedKeys?.[this.table]?.Keys ?? []) as Key[]
    }
  }

  /** Plain writes without conditions. */
  async putAll(items: readonly object[]): Promise<void> {
    await inChunks(items, WRITE_BATCH, async (chunk) => {
      let left = chunk.map((Item) => ({ PutRequest: { Item: Item as Record<string, unknown> } }))
      for (let attempt = 0; left.length > 0; attempt++) {
        if (attempt > 0) await pause(attempt)
        const { UnprocessedItems } = await retried(() => this.client.send(new BatchWriteCommand({ RequestItems: { [this.table]: left } })))
        left = (UnprocessedItems?.[this.table] ?? []) as typeof left
      }
    })
  }

  async put(item: object): Promise<void> {
    await retried(() => this.client.send(new PutCommand({ TableName: this.table, Item: item as Record<string, unknown> })))
  }

  /** All pages, one after the other. */
  async *query(input: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item> {
    let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey']
    do {
      const { Items = [], LastEvaluatedKey } = await retried(() =>
        this.client.send(new QueryCommand({ TableName: this.table, ...input, ExclusiveStartKey })),
      )
      yield* Items as Item[]
      ExclusiveStartKey = LastEvaluatedKey
    } while (ExclusiveStartKey !== undefined)
  }
}

export const asHead = (item: Item | undefined): HeadItem | undefined => item as HeadItem | undefined

/** Again, when the service said that it passes. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isPassing(error) || attempt === ATTEMPTS) throw error
      await pause(attempt)
    }
  }
}

export const isPassing = (error: unknown): boolean =>
  PASSING.has((error as Error).name) || PASSING.has((error as NodeJS.ErrnoException).code ?? '')

/** Longer from attempt to attempt, and never the same for two. */
export const pause = (attempt: number): Promise<void> =>
  wait(Math.min(25 * 2 ** attempt, 1_000) * (0.5 + crypto.getRandomValues(new Uint8Array(1))[0]! / 512))

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`

export async function inChunks<T>(items: readonly T[], size: number, work: (chunk: readonly T[]) => Promise<void>): Promise<void> {
  const chunks = Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size))
  await inParallel(chunks, 16, work)
}

export async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
