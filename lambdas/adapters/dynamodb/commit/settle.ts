/** Settles what a transaction staged: forward when it was committed, back when it was not. Every step may be repeated by anybody. */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY } from '../table-keys.ts'
import { MAX_STAMP_AGE_MS, MIN_HISTORY_LAG_MS } from '../time-limits.ts'
import { guardExpiry } from './guards.ts'
import {
  closeRecord,
  decideTransaction,
  type FinalState,
  keepRecordOpen,
  manifestOf,
  overdueTransactions,
  readRecord,
  type Transaction,
  type TransactionRecord,
} from './transaction-record.ts'

export const MAX_PARALLEL_ITEMS = 64

/**
 * Makes room at an item another transaction has staged: false while that transaction is alive. `older`: of two living transactions
 * the one that began later gives way, so that one of any two goes on.
 */
export async function settleBlockingItem(
  dynamo: TableClient,
  tenant: string,
  met: Item,
  now: number,
  older?: { readonly since: number; readonly id: string },
): Promise<boolean> {
  const other: Transaction = { tenant, id: String(met.ptx) }
  const record = await readRecord(dynamo, other)
  const mayGo = record.state === 'PENDING' && (now > record.deadline || (older !== undefined && isBefore(older, { ...other, ...record })))
  const state = mayGo ? await decideTransaction(dynamo, other, 'ABORTED') : record.state
  if (state === 'PENDING') return false
  await settleItem(dynamo, other, state, met, now)
  return true
}

type Begun = { readonly since: number; readonly id: string }
const isBefore = (a: Begun, b: Begun): boolean => a.since < b.since || (a.since === b.since && a.id < b.id)

/**
 * Settles all a decided transaction staged, then closes its record, or leaves that to the sweeper: while its coordinator `mayStage` more, and
 * where so much time has passed since its stamps that it must stay findable until everybody has heard of it.
 */
export async function settleItems(
  dynamo: TableClient,
  transaction: Transaction,
  state: FinalState,
  keys: readonly Key[],
  { now, mayStage }: { readonly now: () => number; readonly mayStage: boolean },
): Promise<void> {
  const record = await readRecord(dynamo, transaction)
  const isSettled = state === 'COMMITTED' && record.settled !== undefined
  if (!isSettled)
    await forEachInParallel(keys, MAX_PARALLEL_ITEMS, async (key) => void (await settleItem(dynamo, transaction, state, key, now())))
  const until = state === 'COMMITTED' ? heardOf(record, now()) : mayStage ? record.deadline + STILL_STAGING : 0
  await (now() < until ? keepRecordOpen(dynamo, transaction, now(), until) : closeRecord(dynamo, transaction, record, now()))
}

/** After its deadline a coordinator begins nothing more, but what it began may take effect: ms. */
const STILL_STAGING = 60_000
/** What was stamped this long ago may be missed by who asks what is new once the index of the table shows it: ms. */
const LATE = MIN_HISTORY_LAG_MS - 3_000
/** An index that follows the table may be so far behind: longer than conditional interactions put up with, ms. */
const FOLLOWED = 6 * 60_000

/** When everybody has heard of a committed transaction that was settled by now. */
function heardOf({ since, lu, settled }: TransactionRecord, now: number): number {
  // What was stamped long before it was sent is nothing new, and nobody waits for it.
  const stamped = lu < since - MAX_STAMP_AGE_MS ? since : lu
  const at = settled ?? now
  return at - stamped < LATE ? at : at + FOLLOWED
}

/** For the function that follows the table's stream, at a record that has been decided. False: it is still open. */
export async function settleTransaction(dynamo: TableClient, transaction: Transaction, now: () => number): Promise<boolean> {
  const record = await readRecord(dynamo, transaction)
  if (record.gpk === undefined) return true
  const state =
    record.state === 'PENDING' && now() > record.deadline ? await decideTransaction(dynamo, transaction, 'ABORTED') : record.state
  if (state === 'PENDING') return false
  await settleItems(dynamo, transaction, state, await manifestOf(dynamo, transaction, record), { now, mayStage: true })
  return true
}

/**
 * For the function on a schedule: takes up the transactions whose coordinator is gone. How many it settled. One that cannot be settled keeps
 * none of the others: AggregateError when all have been tried.
 */
export async function sweepTransactions(dynamo: TableClient, now: () => number): Promise<number> {
  const abandoned = await overdueTransactions(dynamo, now())
  const failures: unknown[] = []
  await forEachInParallel(abandoned, TRANSACTIONS_AT_ONCE, (transaction) =>
    settleTransaction(dynamo, transaction, now).then(
      () => undefined,
      (error) => void failures.push(error),
    ),
  )
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${abandoned.length} transactions could not be settled`)
  return abandoned.length
}

const TRANSACTIONS_AT_ONCE = 4

const settleItem = (dynamo: TableClient, transaction: Transaction, state: FinalState, { pk, sk }: Key, now: number): Promise<unknown> =>
  state === 'COMMITTED' ? moveIn(dynamo, transaction, { pk, sk }, now) : takeBack(dynamo, transaction, { pk, sk }, now)

/** The copy of the version before was written before the transaction was committed: only the head is left. */
const moveIn = (dynamo: TableClient, { id }: Transaction, Key: Key, now: number): Promise<unknown> =>
  dynamo.updateIf({
    Key,
    ConditionExpression: 'ptx = :tx',
    ...(Key.sk === HEAD_SORT_KEY
      ? {
          UpdateExpression: 'SET v = p, gpk = pgpk, gsk = pgsk REMOVE ptx, p, pgpk, pgsk',
          ExpressionAttributeValues: { ':tx': id },
        }
      : {
          UpdateExpression: 'SET v = p, expires = :expires REMOVE ptx, p',
          ExpressionAttributeValues: { ':tx': id, ':expires': guardExpiry(now) },
        }),
  })

async function takeBack(dynamo: TableClient, { id }: Transaction, Key: Key, now: number): Promise<void> {
  const removed = await dynamo.deleteIf({
    Key,
    ConditionExpression: 'ptx = :tx AND attribute_not_exists(v)',
    ExpressionAttributeValues: { ':tx': id },
  })
  if (removed.done || removed.met?.ptx !== id) return
  await dynamo.updateIf({
    Key,
    ConditionExpression: 'ptx = :tx',
    ...(Key.sk === HEAD_SORT_KEY
      ? { UpdateExpression: 'REMOVE ptx, p, pgpk, pgsk', ExpressionAttributeValues: { ':tx': id } }
      : {
          UpdateExpression: 'SET expires = :expires REMOVE ptx, p',
          ExpressionAttributeValues: { ':tx': id, ':expires': guardExpiry(now) },
        }),
  })
}
