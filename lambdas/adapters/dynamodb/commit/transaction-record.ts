/**
 * The record of a large transaction: one item whose state decides for everything the transaction staged.
 * PENDING until one conditional write makes it COMMITTED or ABORTED; a record that is missing counts as ABORTED.
 */
import { gunzipSync, gzipSync } from 'node:zlib'
import type { Item, Key, TableClient } from '../table-client.ts'
import { INDEX_NAME, tenantKey } from '../table-keys.ts'

export type TransactionState = 'PENDING' | 'COMMITTED' | 'ABORTED'
export type FinalState = Exclude<TransactionState, 'PENDING'>
export type Transaction = { readonly tenant: string; readonly id: string }

export type TransactionRecord = {
  readonly state: TransactionState
  /** From then on anybody may abort it: ms. */
  readonly deadline: number
  /** When its first attempt began, which is its place in the order of who gives way to whom: ms. */
  readonly since: number
  /** The lowest instant its versions are stamped with. */
  readonly lu: number
  readonly chunks: number
  /** When all it staged was settled for the first time: ms. It may still be findable then. */
  readonly settled?: number
  /** Where those that are not closed are found. */
  readonly gpk?: string
}

/** The sort key of records. */
export const RECORD_SORT_KEY = 'T'

const KEYS_PER_CHUNK = 2_000
const OPEN = 'TXN#open'
/** Seconds a settled record stays for whoever still holds an answer about it. */
const KEPT = 7 * 24 * 60 * 60

const recordKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'TXN', id), sk: RECORD_SORT_KEY })
const chunkKey = (transaction: Transaction, n: number): Key => ({
  pk: recordKey(transaction).pk,
  sk: `M#${String(n).padStart(4, '0')}`,
})
const openKey = ({ tenant, id }: Transaction): Key => ({ pk: tenantKey(tenant, 'OPEN'), sk: id })

/** The sweeper finds it there from the instant on. */
const openPlace = (from: number, id: string): string => `${String(from).padStart(15, '0')}#${id}`

/** Stands, with all keys, before anything is staged. */
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

/** The state it has afterwards: whoever came first decided it. */
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

/** All it staged is settled, but it stays open: the sweeper comes to it again after `until`, ms. */
export const keepRecordOpen = (dynamo: TableClient, transaction: Transaction, now: number, until: number): Promise<unknown> =>
  dynamo.updateIf({
    Key: recordKey(transaction),
    UpdateExpression: 'SET settled = :now, gsk = :gsk',
    ConditionExpression: 'attribute_exists(gpk) AND attribute_not_exists(settled)',
    ExpressionAttributeValues: { ':now': now, ':gsk': openPlace(until, transaction.id) },
  })

/** All it staged is settled: the manifest goes now, the record in a while. */
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
  // Whoever else settled it may close it at the same time: that is as good.
  await dynamo.transact([{ Update: close }, ...gone.map((Key) => ({ Delete: { TableName, Key } }))])
}

export async function manifestOf(dynamo: TableClient, transaction: Transaction, { chunks }: TransactionRecord): Promise<readonly Key[]> {
  const items = await dynamo.getAll(Array.from({ length: chunks }, (_, n) => chunkKey(transaction, n)))
  return items.flatMap((item) => (item === undefined ? [] : keysOf(item)))
}

const keysOf = ({ keys }: Item): readonly Key[] =>
  (JSON.parse(gunzipSync(keys as Uint8Array).toString()) as [string, string][]).map(([pk, sk]) => ({ pk, sk }))

/** Transactions that are not closed, and overdue: their coordinator should be done, or the time for which they were kept is over. */
export async function overdueTransactions(dynamo: TableClient, now: number): Promise<readonly Transaction[]> {
  const found: Key[] = []
  const until = { ':open': OPEN, ':now': String(now).padStart(15, '0') }
  const input = { IndexName: INDEX_NAME, KeyConditionExpression: 'gpk = :open AND gsk < :now', ExpressionAttributeValues: until }
  for await (const { pk, sk } of dynamo.query(input)) found.push({ pk, sk })
  const records = await dynamo.getAll(found)
  return records.flatMap((record) => (record === undefined ? [] : [{ tenant: String(record.tenant), id: String(record.id) }]))
}

/** Large transactions of a tenant that are not closed, with the lowest instant of each. */
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
