/**
 * More writes than one TransactWriteItems takes: stage all of them beside their heads, decide in one conditional write of the
 * transaction's record, then move them in. Readers ask the record, so that nobody sees a part of it.
 */
import { PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { CommitResult, Guard } from '../../ports/resource-store.ts'
import { COMMITTED, type CommitParts, conflict, type Staged } from './commit-parts.ts'
import { asHead, inParallel, pause, retried } from './dynamo.ts'
import { guarded, guardKey, guardPut } from './guards.ts'
import { type HeadItem, primaryKey } from './item.ts'
import { makeRoom, settleAll } from './settle.ts'
import { HEAD, pendingSort } from './table.ts'
import { decide, openRecord } from './transaction-record.ts'

const WIDTH = 64
/** Bytes of a staged body that stay beside the head. */
const LARGEST_BESIDE = 150_000
/** How long a coordinator may take before anybody may abort it: ms. */
const DEADLINE = 30_000
const ATTEMPTS = 6

export async function commitLarge(parts: CommitParts, staged: readonly Staged[], guards: readonly Guard[]): Promise<CommitResult> {
  const held = await bindGuards(parts, guards)
  if (held !== undefined) return held
  const { dynamo, shards, clock } = parts
  const tenant = staged[0]!.write.tenant
  const transaction = clock.newId()
  // One order for all transactions, so that two of them do not wait for each other in a ring.
  const ordered = [...staged].sort((a, b) => (primaryKey(a.write) < primaryKey(b.write) ? -1 : 1))
  const keys = ordered.map(({ write }) => primaryKey(write))
  await openRecord(dynamo, tenant, transaction, keys, clock.now() + DEADLINE)
  const refused = await stageAll(parts, transaction, ordered)
  const state = await decide(dynamo, tenant, transaction, refused === undefined ? 'COMMITTED' : 'ABORTED')
  if (state !== 'PENDING') await settleAll(dynamo, shards, tenant, transaction, state, keys, clock.now())
  if (state === 'COMMITTED') return COMMITTED
  return refused === undefined ? conflict(parts, 0, undefined) : conflict(parts, refused.staged.index, refused.met)
}

/** A guard that was bound for a transaction that then failed is taken over by the next who finds its holder missing. */
async function bindGuards({ dynamo, clock }: CommitParts, guards: readonly Guard[]): Promise<CommitResult | undefined> {
  for (const [index, guard] of guards.entries()) {
    try {
      await retried(() => dynamo.client.send(new PutCommand({ TableName: dynamo.table, ...guardPut(guard, clock.now()) })))
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
      const met = await dynamo.get(guardKey(guard))
      if (met !== undefined) return guarded(index, guards, met)
    }
  }
  return undefined
}

type Refusal = { readonly staged: Staged; readonly met: HeadItem | undefined }

async function stageAll(parts: CommitParts, transaction: string, staged: readonly Staged[]): Promise<Refusal | undefined> {
  let refused: Refusal | undefined
  await inParallel(staged, WIDTH, async (each) => {
    if (refused !== undefined) return
    const met = await stage(parts, transaction, each)
    if (met !== 'staged') refused ??= { staged: each, met }
  })
  return refused
}

/** `staged`, or the head that stands in the way. */
async function stage(parts: CommitParts, transaction: string, staged: Staged): Promise<'staged' | HeadItem | undefined> {
  const { dynamo, shards, clock } = parts
  const { write, content } = staged
  const pk = primaryKey(write)
  const isBeside = (content.z?.length ?? 0) <= LARGEST_BESIDE
  if (!isBeside) await dynamo.put({ pk, sk: pendingSort(transaction), pending: content })
  let met: HeadItem | undefined
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      await retried(() =>
        dynamo.client.send(
          new UpdateCommand({
            TableName: dynamo.table,
            Key: { pk, sk: HEAD },
            UpdateExpression: `SET ptx = :tx${isBeside ? ', pending = :pending' : ''}`,
            ConditionExpression:
              write.expected === 0
                ? 'attribute_not_exists(pk) OR ptx = :tx'
                : 'vid = :expected AND (attribute_not_exists(ptx) OR ptx = :tx)',
            ExpressionAttributeValues: {
              ':tx': transaction,
              ...(isBeside ? { ':pending': content } : {}),
              ...(write.expected === 0 ? {} : { ':expected': write.expected }),
            },
          }),
        ),
      )
      return 'staged'
    } catch (error) {
      if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
    }
    met = asHead(await dynamo.get({ pk, sk: HEAD }))
    if (met?.ptx === undefined && (met?.vid ?? 0) !== write.expected) return met
    if (met?.ptx !== undefined && !(await makeRoom(dynamo, shards, met, clock.now()))) await pause(attempt)
  }
  return met
}
