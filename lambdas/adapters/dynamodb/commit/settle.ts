/**
 * Settles the staged items of a decided transaction: makes them current if it was committed, discards them if it was aborted. Every step
 * can be repeated, by any process.
 */
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
 * Settles an item that another transaction has staged. It first aborts that transaction if its deadline has passed, or if it is younger
 * than `older`. Returns false if that transaction is still undecided. `older`: calling transaction. Aborting the younger of two lets one of
 * them proceed.
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
 * Settles all items of a decided transaction, then closes its record. In two cases the record stays open and the sweeper returns to it. The
 * coordinator of an aborted transaction may still stage items (`mayStage`). Or a committed one was settled more than LATE after its
 * timestamps, and readers must find its record a while longer.
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

/** How long a call that a coordinator sent before its deadline may still take effect after it, in milliseconds. */
const STILL_STAGING = 60_000
/** Minimum milliseconds from a timestamp to its settling, above which a history with `since` may have passed the timestamp already. */
const LATE = MIN_HISTORY_LAG_MS - 3_000
/** Assumed maximum lag of a search index behind the table, in milliseconds. Conditional interactions accept less. */
const FOLLOWED = 6 * 60_000

/** Returns the instant until which readers of recent writes must find the record of a committed transaction, in milliseconds since 1970. */
function heardOf({ since, lu, settled }: TransactionRecord, now: number): number {
  // No history reader waits for timestamps that were too old to be sent. For such a transaction its start counts instead.
  const stamped = lu < since - MAX_STAMP_AGE_MS ? since : lu
  const at = settled ?? now
  return at - stamped < LATE ? at : at + FOLLOWED
}

/** Settles a transaction that is decided, or aborts it first if it is overdue. Returns false if it is still pending. */
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
 * Settles the open transactions whose deadline has passed. Returns their number. A failure does not stop the others: it throws
 * AggregateError after all have been tried.
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

/**
 * Makes the staged version of a head, or the staged holder of a guard, the current one. The copy of the previous version was written before
 * the commit.
 */
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
