/**
 * Commits more than one TransactWriteItems accepts. The coordinator first writes a transaction record. It stages each new version in the
 * head item, beside the current version. One conditional write of the record decides the commit. Then each staged version becomes current.
 * Readers consult the record, so they never see a part of a commit.
 */
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import { MachineFault } from '../../../ports/faults.ts'
import type { CommitResult, UniquenessGuard } from '../../../ports/store/resource-store.ts'
import { pause } from '../retry.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { HEAD_SORT_KEY, primaryKey } from '../table-keys.ts'
import { copyItem, type HeadItem, headIndexKeys, type StagedWrite } from '../version-item.ts'
import { COMMITTED_RESULT, type CommitParts, checkConflict, withStampDeadline } from './commit-parts.ts'
import { freeCondition, guardKey, holderAttributes, holderOf } from './guards.ts'
import { MAX_PARALLEL_ITEMS, settleBlockingItem, settleItems } from './settle.ts'
import { decideTransaction, openRecord, type Transaction } from './transaction-record.ts'

const ATTEMPTS = 8

/** Head item or guard to stage. */
type Stage = {
  readonly key: Key
  readonly update: Parameters<TableClient['updateIf']>[0]
  /**
   * Runs after the item was staged and before the transaction is decided. `old`: the item, which still holds the version to be replaced.
   */
  readonly staged: (old: Item | undefined) => Promise<void>
  readonly refused: (met: Item | undefined) => Promise<CommitResult>
}

export async function commitLarge(
  parts: CommitParts,
  staged: readonly StagedWrite[],
  guards: readonly UniquenessGuard[],
): Promise<CommitResult> {
  const since = parts.clock.now()
  for (let n = 1; n <= ATTEMPTS; n++) {
    const result = await attempt(parts, staged, guards, since)
    if (result !== 'again') return result
    await pause(n)
  }
  return { kind: 'conflict', index: 0 }
}

async function attempt(
  parts: CommitParts,
  staged: readonly StagedWrite[],
  guards: readonly UniquenessGuard[],
  since: number,
): Promise<CommitResult | 'again'> {
  const { dynamo, clock } = parts
  const tenant = staged[0]?.write.tenant ?? guards[0]!.tenant
  const transaction = { tenant, id: clock.newId(), since }
  const stages = [...staged.map((each) => stageOf(parts, transaction, each)), ...guards.map((_, i) => guardStageOf(transaction, guards, i))]
  const ordered = stages.toSorted((a, b) => (a.key.pk < b.key.pk ? -1 : 1))
  const keys = ordered.map(({ key }) => key)
  const lu = Math.min(since, ...staged.map(({ content }) => content.lu))
  const deadline = clock.now() + parts.transactionTime
  await openRecord(withStampDeadline(parts, staged), transaction, keys, { since, lu, deadline })
  const stopped = await stageAll(parts, { ...transaction, deadline }, ordered)
  const state = await decideTransaction(dynamo, transaction, stopped === undefined ? 'COMMITTED' : 'ABORTED')
  // The transaction is decided and any process can settle it. So the caller gets the decision even if settling fails here.
  const mayStage = stopped instanceof Error
  await settleItems(dynamo, transaction, state, keys, { now: () => clock.now(), mayStage }).catch(() => undefined)
  if (state === 'COMMITTED') return COMMITTED_RESULT
  if (stopped instanceof Error) throw stopped
  return stopped ?? 'again'
}

/**
 * Stages all items. Returns undefined if the transaction can be committed, otherwise the reason. All calls have ended when it returns,
 * unless it returns an Error: a call without a response may still take effect.
 */
async function stageAll(
  parts: CommitParts,
  transaction: Transaction & { readonly since: number; readonly deadline: number },
  stages: readonly Stage[],
): Promise<CommitResult | 'again' | Error | undefined> {
  let stopped: CommitResult | 'again' | undefined
  try {
    await forEachInParallel(stages, MAX_PARALLEL_ITEMS, async (stage) => {
      if (stopped !== undefined) return
      // guard: transaction-deadline
      if (parts.clock.now() > transaction.deadline) throw new MachineFault('overloaded', 'a transaction could not be staged in time')
      const refusal = await stageOne(parts, transaction, stage)
      stopped ??= refusal
    })
    return stopped
  } catch (error) {
    return error as Error
  }
}

const TRIES = 4

async function stageOne(
  { dynamo, clock }: CommitParts,
  transaction: Transaction & { readonly since: number },
  { update, staged, refused }: Stage,
): Promise<CommitResult | 'again' | undefined> {
  for (let n = 0; n < TRIES; n++) {
    const outcome = await dynamo.updateIf(update)
    if (outcome.done) return void (await staged(outcome.old))
    const { met } = outcome
    // This transaction has already staged the item, and only the response was lost.
    if (met?.ptx === transaction.id) return void (await staged(met))
    if (met?.ptx === undefined) return refused(met)
    if (!(await settleBlockingItem(dynamo, transaction.tenant, met, clock.now(), transaction))) return 'again'
  }
  return 'again'
}

function stageOf(parts: CommitParts, { id }: Transaction, each: StagedWrite): Stage {
  const { write, content, shard } = each
  const key = { pk: primaryKey(write), sk: HEAD_SORT_KEY }
  const { gpk, gsk } = headIndexKeys(write, content, shard)
  const isNew = write.expected === 0
  return {
    key,
    update: {
      Key: key,
      UpdateExpression: 'SET ptx = :tx, p = :p, pgpk = :gpk, pgsk = :gsk',
      ConditionExpression: isNew ? 'attribute_not_exists(pk)' : 'v.vid = :expected AND attribute_not_exists(ptx)',
      ExpressionAttributeValues: {
        ...{ ':tx': id, ':p': content, ':gpk': gpk, ':gsk': gsk },
        ...(isNew ? {} : { ':expected': write.expected }),
      },
    },
    async staged(old) {
      const head = old as HeadItem | undefined
      if (!isNew) await parts.dynamo.putAll([copyItem(write, head!, head!.v!, content.lu)])
    },
    refused: (met) => checkConflict(parts.dynamo, each, met as HeadItem | undefined),
  }
}

function guardStageOf({ id }: Transaction, guards: readonly UniquenessGuard[], index: number): Stage {
  const guard = guards[index]!
  const { ConditionExpression, ExpressionAttributeValues } = freeCondition(guard)
  return {
    key: guardKey(guard),
    update: {
      Key: guardKey(guard),
      // A guard must not expire while it is staged: the transaction may still be undecided.
      UpdateExpression: 'SET ptx = :tx, p = :p REMOVE expires',
      ConditionExpression,
      ExpressionAttributeValues: { ...ExpressionAttributeValues, ':tx': id, ':p': holderAttributes(guard) },
    },
    staged: async () => {},
    refused: async (met) => ({ kind: 'guarded', index, holder: holderOf(guard.tenant, met!) }),
  }
}
