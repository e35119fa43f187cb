/**
 * Record of a large transaction. Its state decides for all items that the transaction staged. It is PENDING until one conditional write
 * sets COMMITTED or ABORTED. A missing record means ABORTED.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Item, Key, TableClient } from '../table-client.ts'
import { INDEX_NAME, tenantKey } from '../table-keys.ts'

export type TransactionState = 'PENDING' | 'COMMITTED' | 'ABORTED'
export type FinalState = Exclude<TransactionState, 'PENDING'>
export type Transaction = { readonly tenant: string; readonly id: string }

export type TransactionRecord = {
  readonly state: TransactionState
  /** Instant after which any process may abort the transaction, in milliseconds since 1970. */
  readonly deadline: number
  /** Start of the first attempt of the commit, in milliseconds since 1970. Of two conflicting transactions the younger is aborted. */
  readonly since: number
  /** Earlier of `since` and the earliest timestamp of its versions, in milliseconds since 1970. */
  readonly lu: number
  readonly chunks: number
  /**
   * Instant at which all staged items were first known to be settled, in milliseconds since 1970. Present only if the record stayed open
   * after that.
   */
  readonly settled?: number
  /** Partition key in the table's index. Present until the record is closed. */
  readonly gpk?: string
}

/** Sort key of records. */
export const RECORD_SORT_KEY = 'T'

const KEYS_PER_CHUNK = 2_000
const OPEN = 'TXN#open'
/** How long a closed record is retained, in seconds. A reader may still hold an item that it read while it was staged. */
const KEPT = 7 * 24 * 60 * 60

const recordKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'TXN', id), sk: RECORD_SORT_KEY })
const chunkKey = (transaction: Transaction, n: number): Key => ({
  pk: recordKey(transaction).pk,
  sk: `M#${String(n).padStart(4, '0')}`,
})
const openKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'OPEN'), sk: id })

/** Returns the sort key of the record in the table's index. `from`: instant from which the sweeper finds it, in milliseconds since 1970. */
const openPlace = (from: number, id: string): string => `${String(from).padStart(15, '0')}#${id}`

/**
 * Writes the record and its manifest, which lists all keys to be staged. It runs before any item is staged, so any process can settle them.
 */
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

/** Sets the state of a pending transaction, and returns the state that it then has. The first decision is final. */
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

/**
 * Notes that the transaction was settled, but leaves its record open. The sweeper finds it again after `until`, in milliseconds since 1970.
 * Only the first call has an effect.
 */
export const keepRecordOpen = (dynamo: TableClient, transaction: Transaction, now: number, until: number): Promise<unknown> =>
  dynamo.updateIf({
    Key: recordKey(transaction),
    UpdateExpression: 'SET settled = :now, gsk = :gsk',
    ConditionExpression: 'attribute_exists(gpk) AND attribute_not_exists(settled)',
    ExpressionAttributeValues: { ':now': now, ':gsk': openPlace(until, transaction.id) },
  })

/** Closes the record of a settled transaction: deletes the manifest, and lets the record expire later. */
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
  // The result does not matter: another process that settled the transaction may have closed the record already.
  await dynamo.transact([{ Update: close }, ...gone.map((Key) => ({ Delete: { TableName, Key } }))])
}

export async function manifestOf(dynamo: TableClient, transaction: Transaction, { chunks }: TransactionRecord): Promise<readonly Key[]> {
  const items = await dynamo.getAll(Array.from({ length: chunks }, (_, n) => chunkKey(transaction, n)))
  return items.flatMap((item) => (item === undefined ? [] : keysOf(item)))
}

const keysOf = ({ keys }: Item): readonly Key[] =>
  (JSON.parse(gunzipSync(keys as Uint8Array).toString()) as [string, string][]).map(([pk, sk]) => ({ pk, sk }))

/** Returns the open transactions that the sweeper must settle: their deadline, or the `until` of `keepRecordOpen`, has passed. */
export async function overdueTransactions(dynamo: TableClient, now: number): Promise<readonly Transaction[]> {
  const found: Key[] = []
  const until = { ':open': OPEN, ':now': String(now).padStart(15, '0') }
  const input = { IndexName: INDEX_NAME, KeyConditionExpression: 'gpk = :open AND gsk < :now', ExpressionAttributeValues: until }
  for await (const { pk, sk } of dynamo.query(input)) found.push({ pk, sk })
  const records = await dynamo.getAll(found)
  return records.flatMap((record) => (record === undefined ? [] : [{ tenant: String(record.tenant), id: String(record.id) }]))
}

/** Returns the transactions of a tenant whose records are not closed, with the `lu` of each. */
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
