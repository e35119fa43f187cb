/** Settles what a transaction staged: forward when it was committed, back when it was not. Every step may be repeated by anybody. */
import type { Dynamo, Item, Key } from './dynamo.ts'
import { guardExpiry } from './guards.ts'
import { inParallel } from './parallel.ts'
import { HEAD } from './table.ts'
import { closeRecord, type Decided, decide, manifestOf, overdue, readRecord, type Transaction } from './transaction-record.ts'

export const WIDTH = 64

/**
 * Makes room at an item another transaction has staged: false while that transaction is alive. `older`: of two living transactions
 * the one that began later gives way, so that one of any two goes on.
 */
export async function makeRoom(
  dynamo: Dynamo,
  tenant: string,
  met: Item,
  now: number,
  older?: { readonly since: number; readonly id: string },
): Promise<boolean> {
  const other: Transaction = { tenant, id: String(met.ptx) }
  const record = await readRecord(dynamo, other)
  const mayGo = record.state === 'PENDING' && (now > record.deadline || (older !== undefined && isBefore(older, { ...other, ...record })))
  const state = mayGo ? await decide(dynamo, other, 'ABORTED') : record.state
  if (state === 'PENDING') return false
  await settleItem(dynamo, other, state, met, now)
  return true
}

type Begun = { readonly since: number; readonly id: string }
const isBefore = (a: Begun, b: Begun): boolean => a.since < b.since || (a.since === b.since && a.id < b.id)

/** Settles all a decided transaction staged, then closes its record. */
export async function settleAll(
  dynamo: Dynamo,
  transaction: Transaction,
  state: Decided,
  keys: readonly Key[],
  now: number,
): Promise<void> {
  await inParallel(keys, WIDTH, async (key) => void (await settleItem(dynamo, transaction, state, key, now)))
  await closeRecord(dynamo, transaction, await readRecord(dynamo, transaction), now)
}

/** For the function that follows the table's stream, at a record that has been decided. False: it is still open. */
export async function settleTransaction(dynamo: Dynamo, transaction: Transaction, now: number): Promise<boolean> {
  const record = await readRecord(dynamo, transaction)
  if (record.gpk === undefined) return true
  const state = record.state === 'PENDING' && now > record.deadline ? await decide(dynamo, transaction, 'ABORTED') : record.state
  if (state === 'PENDING') return false
  await settleAll(dynamo, transaction, state, await manifestOf(dynamo, transaction, record), now)
  return true
}

/** For the function on a schedule: takes up the transactions whose coordinator is gone. How many it settled. */
export async function sweepTransactions(dynamo: Dynamo, now: number): Promise<number> {
  const abandoned = await overdue(dynamo, now)
  for (const transaction of abandoned) await settleTransaction(dynamo, transaction, now)
  return abandoned.length
}

const settleItem = (dynamo: Dynamo, transaction: Transaction, state: Decided, { pk, sk }: Key, now: number): Promise<unknown> =>
  state === 'COMMITTED' ? moveIn(dynamo, transaction, { pk, sk }, now) : takeBack(dynamo, transaction, { pk, sk }, now)

/** The copy of the version before was written before the transaction was committed: only the head is left. */
const moveIn = (dynamo: Dynamo, { id }: Transaction, Key: Key, now: number): Promise<unknown> =>
  dynamo.updateIf({
    Key,
    ConditionExpression: 'ptx = :tx',
    ...(Key.sk === HEAD
      ? {
          UpdateExpression: 'SET v = p, gpk = pgpk, gsk = pgsk REMOVE ptx, p, pgpk, pgsk',
          ExpressionAttributeValues: { ':tx': id },
        }
      : {
          UpdateExpression: 'SET v = p, expires = :expires REMOVE ptx, p',
          ExpressionAttributeValues: { ':tx': id, ':expires': guardExpiry(now) },
        }),
  })

async function takeBack(dynamo: Dynamo, { id }: Transaction, Key: Key, now: number): Promise<void> {
  const removed = await dynamo.deleteIf({
    Key,
    ConditionExpression: 'ptx = :tx AND attribute_not_exists(v)',
    ExpressionAttributeValues: { ':tx': id },
  })
  if (removed.done || removed.met?.ptx !== id) return
  await dynamo.updateIf({
    Key,
    ConditionExpression: 'ptx = :tx',
    ...(Key.sk === HEAD
      ? { UpdateExpression: 'REMOVE ptx, p, pgpk, pgsk', ExpressionAttributeValues: { ':tx': id } }
      : {
          UpdateExpression: 'SET expires = :expires REMOVE ptx, p',
          ExpressionAttributeValues: { ':tx': id, ':expires': guardExpiry(now) },
        }),
  })
}
