/**
 * Record of a large transaction. The state of this item decides for all items that the transaction staged. It is PENDING until one
 * conditional write sets COMMITTED or ABORTED. A missing record means ABORTED.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Item, Key, TableClient } from '../table-client.ts'
import { INDEX_NAME, tenantKey } from '../table-keys.ts'

export type TransactionState = 'PENDING' | 'COMMITTED' | 'ABORTED'
export type FinalState = Exclude<TransactionState, 'PENDING'>
export type Transaction = { readonly tenant: string; readonly id: string }

export type TransactionRecord = {
  readonly state: TransactionState
  /** Instant from which any process may abort the transaction, in milliseconds since 1970. */
  readonly deadline: number
  /** Start of the first attempt, in milliseconds since 1970. Of two conflicting transactions the younger is aborted. */
  readonly since: number
  /** Earliest timestamp of its versions. */
  readonly lu: number
  readonly chunks: number
  /** Instant at which all staged items were settled first, in milliseconds since 1970. The record may still be findable then. */
  readonly settled?: number
  /** Index partition of records that are not closed. */
  readonly gpk?: string
}

/** The sort key of records. */
export const RECORD_SORT_KEY = 'T'

const KEYS_PER_CHUNK = 2_000
const OPEN = 'TXN#open'
/** How long a settled record is retained, in seconds. Readers may still hold items that refer to it. */
const KEPT = 7 * 24 * 60 * 60

const recordKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'TXN', id), sk: RECORD_SORT_KEY })
const chunkKey = (transaction: Transaction, n: number): Key => ({
  pk: recordKey(transaction).pk,
  sk: `M#${String(n).padStart(4, '0')}`,
})
const openKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'OPEN'), sk: id })

/** Returns the index sort key under which the sweeper finds the record from the instant `from` on. */
const openPlace = (from: number, id: string): string => `${String(from).padStart(15, '0')}#${id}`

/** Writes the record with all keys, before any item is staged. */
export async function openRecord(
  dynamo: TableClient,
  transaction: Transaction,
  keys: readonly Key[],
  times: Pick<TransactionRecord, 'deadline' | 'since' | 'lu'>,
): Promise<void> {
  const chunks = Math.ceil(keys.length / KEYS_PER_CHUNK)
  const manifest = Array.from({ length: chunks }, (_, n) => {
    const some = keys.slice(n * KEYS_PER_CHUNK, (n + 1) * KEYS_PER_CHUNK)
    return { ...chunkKey(transaction, n), keys: gzipSync(JSON.stringify(some.map(({ pk, sk }) => [pk, sk]))) }
  })
  const { tenant, id } = transaction
  const gsk = openPlace(times.deadline, id)
  const record = { ...recordKey(transaction), state: 'PENDING', ...times, chunks, gpk: OPEN, gsk, tenant, id }
  const items = [record, { ...openKey(transaction), lu: times.lu }, ...manifest]
  const result = await dynamo.transact(
    items.map((Item) => ({ Put: { TableName: dynamo.table, Item } })),
    id,
  )
  if (result !== 'done') throw new Error('the record of a transaction could not be written')
}

export async function readRecord(dynamo: TableClient, transaction: Transaction): Promise<TransactionRecord> {
  const item = await dynamo.get(recordKey(transaction))
  return item === undefined ? MISSING : (item as unknown as TransactionRecord)
}

const MISSING: TransactionRecord = { state: 'ABORTED', deadline: 0, since: 0, lu: 0, chunks: 0 }

/** Decides the transaction and returns its state. The first decision is final. */
export async function decideTransaction(dynamo: TableClient, transaction: Transaction, state: FinalState): Promise<FinalState> {
  const outcome = await dynamo.updateIf({
    Key: recordKey(transaction),
    UpdateExpression: 'SET #state = :to',
    ConditionExpression: '#state = :pending',
    ExpressionAttributeNames: { '#state': 'state' },
    ExpressionAttributeValues: { ':to': state, ':pending': 'PENDING' },
  })
  return outcome.done ? state : ((outcome.met?.state ?? 'ABORTED') as FinalState)
}

/** Marks the record as settled but leaves it open. The sweeper returns to it after `until`, in milliseconds since 1970. */
export const keepRecordOpen = (dynamo: TableClient, transaction: Transaction, now: number, until: number): Promise<unknown> =>
  dynamo.updateIf({
    Key: recordKey(transaction),
    UpdateExpression: 'SET settled = :now, gsk = :gsk',
    ConditionExpression: 'attribute_exists(gpk) AND attribute_not_exists(settled)',
    ExpressionAttributeValues: { ':now': now, ':gsk': openPlace(until, transaction.id) },
  })

/** Closes the record of a settled transaction: deletes the manifest now and lets the record expire later. */
export async function closeRecord(
  dynamo: TableClient,
  transaction: Transaction,
  { chunks }: TransactionRecord,
  now: number,
): Promise<void> {
  const TableName = dynamo.table
  const gone = [openKey(transaction), ...Array.from({ length: chunks }, (_, n) => chunkKey(transaction, n))]
  const close = {
    TableName,
    Key: recordKey(transaction),
    UpdateExpression: 'SET expires = :expires REMOVE gpk, gsk',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':expires': Math.ceil(now / 1000) + KEPT },
  }
  // Another process that settled the transaction may close it at the same time. The effect is the same.
  await dynamo.transact([{ Update: close }, ...gone.map((Key) => ({ Delete: { TableName, Key } }))])
}

export async function manifestOf(dynamo: TableClient, transaction: Transaction, { chunks }: TransactionRecord): Promise<readonly Key[]> {
  const items = await dynamo.getAll(Array.from({ length: chunks }, (_, n) => chunkKey(transaction, n)))
  return items.flatMap((item) => (item === undefined ? [] : keysOf(item)))
}

const keysOf = ({ keys }: Item): readonly Key[] =>
  (JSON.parse(gunzipSync(keys as Uint8Array).toString()) as [string, string][]).map(([pk, sk]) => ({ pk, sk }))

/** Returns the open transactions whose deadline, or time to stay findable, has passed. */
export async function overdueTransactions(dynamo: TableClient, now: number): Promise<readonly Transaction[]> {
  const found: Key[] = []
  const until = { ':open': OPEN, ':now': String(now).padStart(15, '0') }
  const input = { IndexName: INDEX_NAME, KeyConditionExpression: 'gpk = :open AND gsk < :now', ExpressionAttributeValues: until }
  for await (const { pk, sk } of dynamo.query(input)) found.push({ pk, sk })
  const records = await dynamo.getAll(found)
  return records.flatMap((record) => (record === undefined ? [] : [{ tenant: String(record.tenant), id: String(record.id) }]))
}

/** Returns the large transactions of a tenant that are not closed, with the earliest timestamp of each. */
export async function openTransactions(dynamo: TableClient, tenant: string): Promise<readonly (Transaction & { readonly lu: number })[]> {
  const found: (Transaction & { readonly lu: number })[] = []
  for await (const { sk, lu } of dynamo.query({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': tenantKey(tenant, 'OPEN') },
    ConsistentRead: true,
  }))
    found.push({ tenant, id: sk, lu: lu as number })
  return found
}
