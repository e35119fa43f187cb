/**
 * Client of one DynamoDB table. Reads by key are consistent, unprocessed parts of batches are repeated, and failed conditions are returned
 * as values.
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb'
import {
  BatchGetCommand,
  BatchWriteCommand,
  type BatchWriteCommandInput,
  DeleteCommand,
  type DeleteCommandInput,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { forEachChunk } from '../../ports/execution/parallel.ts'
import { MachineFault } from '../../ports/faults.ts'
import { toPlainItem } from './attributes.ts'
import { pause, throwUnanswered, withRetries } from './retry.ts'

export type Key = { readonly pk: string; readonly sk: string }
export type Item = Key & Readonly<Record<string, unknown>>

/**
 * `attempts`: maximum attempts of a call that DynamoDB rejects or does not answer. `patience`: maximum duration of one attempt in
 * milliseconds.
 */
export type CallLimits = { readonly attempts: number; readonly patience: number }

/** `end`: instant from which no call is sent, in milliseconds since 1970. It is checked before every attempt. */
export type Deadline = { readonly end: number; readonly now: () => number }

/** `old`: item before a successful update. `met`: item on which the condition failed, if it exists; nothing was written. */
export type WriteOutcome = { readonly done: true; readonly old?: Item } | { readonly done: false; readonly met?: Item }

/**
 * Result of one action of a cancelled transaction: undefined if its condition held. `met`: item on which the condition failed, if it
 * exists.
 */
export type CancellationReason = undefined | { readonly met?: Item }
export type TransactionActions = NonNullable<TransactWriteCommandInput['TransactItems']>

type Conditional<Input> = Omit<Input, 'TableName' | 'ReturnValuesOnConditionCheckFailure' | 'ReturnValues'>

type Options = { readonly abortSignal: AbortSignal }
type WriteRequest = NonNullable<BatchWriteCommandInput['RequestItems']>[string][number]

export const NO_DEADLINE: Deadline = { end: Number.POSITIVE_INFINITY, now: () => 0 }
const ALL_OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
const GET_BATCH = 100
const WRITE_BATCH = 25
const PASSING_REASONS = new Set(['TransactionConflict', 'ThrottlingError', 'ProvisionedThroughputExceeded'])

export class TableClient {
  readonly #client: DynamoDBDocumentClient
  readonly table: string
  readonly #limits: CallLimits
  readonly #ends: Deadline

  constructor(client: DynamoDBDocumentClient, table: string, limits: CallLimits, ends: Deadline = NO_DEADLINE) {
    this.#client = client
    this.table = table
    this.#limits = limits
    this.#ends = ends
  }

  /**
   * Returns a client that sends nothing from `end` on (milliseconds since 1970), or from the deadline of this client if that is earlier. A
   * call that was not sent or was always rejected then throws `overloaded`: nothing was done.
   */
  until(end: number, now: () => number): TableClient {
    return new TableClient(this.#client, this.table, this.#limits, { end: Math.min(end, this.#ends.end), now })
  }

  async get(key: Key): Promise<Item | undefined> {
    const { pk, sk } = key
    const { Item: item } = await this.#read((options) =>
      this.#client.send(new GetCommand({ TableName: this.table, Key: { pk, sk }, ConsistentRead: true }), options),
    )
    return item as Item | undefined
  }

  /** Returns the items in the order of the keys, undefined for missing ones. Keys may repeat. */
  async getAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    if (keys.length === 1) return [await this.get(keys[0]!)]
    const found = new Map<string, Item>()
    const distinct = [...new Map(keys.map((key) => [nameOf(key), key])).values()]
    await forEachChunk(distinct, GET_BATCH, (chunk) => this.#getBatch(chunk, found))
    return keys.map((key) => found.get(nameOf(key)))
  }

  /** Writes the items without conditions. Several items are not one transaction. */
  async putAll(items: readonly Item[]): Promise<void> {
    if (items.length === 1) await this.putIf({ Item: items[0]! })
    else await this.#writeAll(items.map((Item) => ({ PutRequest: { Item } })))
  }

  /** Deletes the items by key. Missing ones are ignored. Several items are not one transaction. */
  async deleteAll(keys: readonly Key[]): Promise<void> {
    await this.#writeAll(keys.map(({ pk, sk }) => ({ DeleteRequest: { Key: { pk, sk } } })))
  }

  putIf(input: Conditional<PutCommandInput>): Promise<WriteOutcome> {
    const command = () => new PutCommand({ TableName: this.table, ...input, ...ALL_OLD })
    return this.#conditional((options) => this.#client.send(command(), options).then(() => undefined))
  }

  updateIf(input: Conditional<UpdateCommandInput>): Promise<WriteOutcome> {
    const command = () => new UpdateCommand({ TableName: this.table, ...input, ...ALL_OLD, ReturnValues: 'ALL_OLD' })
    return this.#conditional((options) => this.#client.send(command(), options).then(({ Attributes }) => Attributes))
  }

  deleteIf(input: Conditional<DeleteCommandInput>): Promise<WriteOutcome> {
    const command = () => new DeleteCommand({ TableName: this.table, ...input, ...ALL_OLD })
    return this.#conditional((options) => this.#client.send(command(), options).then(() => undefined))
  }

  /** Executes all actions or none. Returns one result per action if a condition failed. `token`: makes a repeated call idempotent. */
  async transact(actions: TransactionActions, token?: string): Promise<'done' | readonly CancellationReason[]> {
    const command = () => new TransactWriteCommand({ TransactItems: actions, ClientRequestToken: token })
    return this.#try(async (options) => {
      try {
        await this.#client.send(command(), options)
        return 'done'
      } catch (error) {
        return reasonsOf(error)
      }
    })
  }

  /** Yields the items of all pages. */
  async *query(input: Omit<QueryCommandInput, 'TableName'>): AsyncGenerator<Item> {
    let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey']
    do {
      const page = await this.#read((options) =>
        this.#client.send(new QueryCommand({ TableName: this.table, ...input, ExclusiveStartKey }), options),
      )
      yield* (page.Items ?? []) as Item[]
      ExclusiveStartKey = page.LastEvaluatedKey
    } while (ExclusiveStartKey !== undefined)
  }

  /** Yields the number of items of each page. `last`: key at which the page ends, absent on the last page. */
  async *count(
    input: Omit<QueryCommandInput, 'TableName'>,
  ): AsyncGenerator<{ readonly count: number; readonly last?: Readonly<Record<string, unknown>> }> {
    let ExclusiveStartKey: QueryCommandInput['ExclusiveStartKey']
    do {
      const page = await this.#read((options) =>
        this.#client.send(new QueryCommand({ TableName: this.table, ...input, Select: 'COUNT', ExclusiveStartKey }), options),
      )
      ExclusiveStartKey = page.LastEvaluatedKey
      yield { count: page.Count ?? 0, ...(ExclusiveStartKey === undefined ? {} : { last: ExclusiveStartKey }) }
    } while (ExclusiveStartKey !== undefined)
  }

  async #getBatch(chunk: readonly Key[], found: Map<string, Item>): Promise<void> {
    let left = chunk.map(({ pk, sk }) => ({ pk, sk }))
    for (let attempt = 0; left.length > 0; attempt++) {
      if (attempt > 0) await pause(attempt)
      const RequestItems = { [this.table]: { Keys: left, ConsistentRead: true } }
      const { Responses, UnprocessedKeys } = await this.#read((options) =>
        this.#client.send(new BatchGetCommand({ RequestItems }), options),
      )
      for (const item of (Responses?.[this.table] ?? []) as Item[]) found.set(nameOf(item), item)
      left = (UnprocessedKeys?.[this.table]?.Keys ?? []) as typeof left
    }
  }

  #writeAll(requests: readonly WriteRequest[]): Promise<void> {
    return forEachChunk(requests, WRITE_BATCH, async (chunk) => {
      let left = chunk
      for (let attempt = 0; left.length > 0; attempt++) {
        if (attempt > 0) await pause(attempt)
        const RequestItems = { [this.table]: [...left] }
        const { UnprocessedItems } = await this.#try((options) => this.#client.send(new BatchWriteCommand({ RequestItems }), options))
        left = UnprocessedItems?.[this.table] ?? []
      }
    })
  }

  async #conditional(write: (options: Options) => Promise<Record<string, unknown> | undefined>): Promise<WriteOutcome> {
    try {
      const old = await this.#try(write)
      return old === undefined ? { done: true } : { done: true, old: old as Item }
    } catch (error) {
      const { name, Item } = error as Error & { readonly Item?: Readonly<Record<string, AttributeValue>> }
      if (name !== 'ConditionalCheckFailedException') throw error
      return Item === undefined ? { done: false } : { done: false, met: toPlainItem(Item) as Item }
    }
  }

  #read<Output>(call: (options: Options) => Promise<Output>): Promise<Output> {
    return this.#try(call).catch(throwUnanswered)
  }

  #try<Output>(call: (options: Options) => Promise<Output>): Promise<Output> {
    const { attempts, patience } = this.#limits
    const { end, now } = this.#ends
    return withRetries(
      attempts,
      () => call({ abortSignal: AbortSignal.timeout(patience) }),
      () => now() >= end,
    )
  }
}

type Cancellation = { readonly Code?: string; readonly Item?: Readonly<Record<string, AttributeValue>> }

/**
 * Returns one result per action of a transaction that a failed condition cancelled. Throws the fault `refused` if all other reasons are
 * temporary (PASSING_REASONS), otherwise the error itself.
 */
function reasonsOf(error: unknown): readonly CancellationReason[] {
  const { CancellationReasons: reasons = [] } = error as { readonly CancellationReasons?: readonly Cancellation[] }
  if (reasons.some(({ Code }) => Code === 'ConditionalCheckFailed'))
    return reasons.map(({ Code, Item }) =>
      Code !== 'ConditionalCheckFailed' ? undefined : Item === undefined ? {} : { met: toPlainItem(Item) as Item },
    )
  const passes = reasons.length > 0 && reasons.every(({ Code = 'None' }) => Code === 'None' || PASSING_REASONS.has(Code))
  throw passes ? new MachineFault('refused', 'the transaction was cancelled', { cause: error }) : error
}

const nameOf = ({ pk, sk }: Key): string => `${pk}\n${sk}`
