/** Settles what a transaction staged: forward when it was committed, back when it was not. Every step may be repeated by anybody. */
import { DeleteCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { asHead, type Dynamo, inParallel, retried } from './dynamo.ts'
import { type Content, copyItem, type HeadItem, headItem, keyOf, ownContent } from './item.ts'
import { HEAD, pendingSort, type Shards } from './table.ts'
import { closeRecord, decide, manifestOf, overdue, readRecord } from './transaction-record.ts'

const WIDTH = 64
const KEPT = 7 * 24 * 60 * 60

/** The staged version of a head. */
export async function pendingOf(dynamo: Dynamo, head: HeadItem): Promise<Content | undefined> {
  if (head.ptx === undefined) return undefined
  return head.pending ?? ((await dynamo.get({ pk: head.pk, sk: pendingSort(head.ptx) }))?.pending as Content | undefined)
}

/** Makes room at a head another transaction has staged: false while that transaction is still alive. */
export async function makeRoom(dynamo: Dynamo, shards: Shards, head: HeadItem, now: number): Promise<boolean> {
  const { ptx, pk } = head
  if (ptx === undefined) return true
  const { tenant } = keyOf(pk)
  const record = await readRecord(dynamo, tenant, ptx)
  const state = record.state === 'PENDING' && now > record.deadline ? await decide(dynamo, tenant, ptx, 'ABORTED') : record.state
  if (state === 'PENDING') return false
  await (state === 'COMMITTED' ? rollForward(dynamo, shards, pk, ptx) : rollBack(dynamo, pk, ptx))
  return true
}

/** The copy of the old version first, then the new version in one conditional write: a crash between them leaves a harmless copy. */
export async function rollForward(dynamo: Dynamo, shards: Shards, pk: string, transaction: string): Promise<void> {
  const head = asHead(await dynamo.get({ pk, sk: HEAD }))
  if (head?.ptx !== transaction) return
  const pending = await pendingOf(dynamo, head)
  if (pending === undefined) throw new Error('a committed transaction lost what it staged')
  const before = ownContent(head)
  if (before !== undefined) await dynamo.put(copyItem(keyOf(pk), before, pending.lu, head.gpk))
  await unlessSettled(() =>
    dynamo.client.send(
      new PutCommand({
        TableName: dynamo.table,
        Item: headItem(keyOf(pk), pending, shards),
        ConditionExpression: 'ptx = :tx',
        ExpressionAttributeValues: { ':tx': transaction },
      }),
    ),
  )
  if (head.pending === undefined) await removePending(dynamo, pk, transaction)
}

export async function rollBack(dynamo: Dynamo, pk: string, transaction: string): Promise<void> {
  const head = asHead(await dynamo.get({ pk, sk: HEAD }))
  if (head?.ptx === transaction) {
    const condition = {
      TableName: dynamo.table,
      Key: { pk, sk: HEAD },
      ConditionExpression: 'ptx = :tx',
      ExpressionAttributeValues: { ':tx': transaction },
    }
    await unlessSettled(() =>
      dynamo.client.send(
        head.vid === undefined
          ? new DeleteCommand(condition)
          : new UpdateCommand({ ...condition, UpdateExpression: 'REMOVE ptx, pending' }),
      ),
    )
  }
  await removePending(dynamo, pk, transaction)
}

const removePending = (dynamo: Dynamo, pk: string, transaction: string): Promise<unknown> =>
  retried(() => dynamo.client.send(new DeleteCommand({ TableName: dynamo.table, Key: { pk, sk: pendingSort(transaction) } })))

/** Somebody else may have settled it in the meantime: that is as good. */
async function unlessSettled(work: () => Promise<unknown>): Promise<void> {
  try {
    await retried(work)
  } catch (error) {
    if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
  }
}

/** Settles all a decided transaction staged, then closes its record. `now`: ms. */
export async function settleAll(
  dynamo: Dynamo,
  shards: Shards,
  tenant: string,
  transaction: string,
  state: 'COMMITTED' | 'ABORTED',
  keys: readonly string[],
  now: number,
): Promise<void> {
  await inParallel(keys, WIDTH, (pk) =>
    state === 'COMMITTED' ? rollForward(dynamo, shards, pk, transaction) : rollBack(dynamo, pk, transaction),
  )
  await closeRecord(dynamo, tenant, transaction, Math.ceil(now / 1000) + KEPT)
}

/** Takes up the transactions whose coordinator is gone. Runs on a schedule; how many it settled. */
export async function sweep(dynamo: Dynamo, shards: Shards, now: number): Promise<number> {
  const abandoned = await overdue(dynamo, now)
  for (const { tenant, transaction } of abandoned) {
    const state = await decide(dynamo, tenant, transaction, 'ABORTED')
    if (state === 'PENDING') continue
    await settleAll(dynamo, shards, tenant, transaction, state, await manifestOf(dynamo, tenant, transaction), now)
  }
  return abandoned.length
}
