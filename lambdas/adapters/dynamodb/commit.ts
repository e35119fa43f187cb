/** Commits of one, of up to a hundred, and of many writes. The conditional write of a head is what commits it. */
import { PutCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { CommitResult, Guard, Write } from '../../ports/resource-store.ts'
import { commitLarge } from './commit-large.ts'
import { COMMITTED, type CommitParts, conflict, type Staged } from './commit-parts.ts'
import { asHead, type Item, isPassing, pause, retried } from './dynamo.ts'
import { guarded, guardKey, guardPut } from './guards.ts'
import { contentOf, copyItem, type HeadItem, headItem, ownContent, primaryKey } from './item.ts'
import { makeRoom } from './settle.ts'
import { HEAD } from './table.ts'

/** Actions of one TransactWriteItems, and the bytes it takes, with room for keys. */
const MOST_ACTIONS = 100
const MOST_BYTES = 3_500_000
const ATTEMPTS = 12

export async function commit(parts: CommitParts, writes: readonly Write[], guards: readonly Guard[]): Promise<CommitResult> {
  const staged = await Promise.all(writes.map(async (write, index) => ({ write, index, content: await contentOf(write, parts.blobs) })))
  const bytes = staged.reduce((sum, { content }) => sum + (content.z?.length ?? 0) + 500, 0)
  if (staged.length + guards.length > MOST_ACTIONS || bytes > MOST_BYTES) return commitLarge(parts, staged, guards)
  return staged.length === 1 && guards.length === 0 ? commitOne(parts, staged[0]!) : commitSmall(parts, staged, guards)
}

/** Two plain writes at the most: a copy of the version that is replaced, then the head, if it is still that version. */
async function commitOne(parts: CommitParts, staged: Staged): Promise<CommitResult> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const prepared = await prepare(parts, [staged])
    if (prepared.kind === 'wait') await pause(attempt)
    else if (prepared.kind === 'conflict') return prepared.result
    else {
      const met = await putHead(parts, staged)
      if (met === 'written') return COMMITTED
      if (met !== 'again') return conflict(parts, staged.index, met)
    }
  }
  return conflict(parts, staged.index, undefined)
}

type Prepared = { readonly kind: 'ready' } | { readonly kind: 'conflict'; readonly result: CommitResult } | { readonly kind: 'wait' }

/** Reads the heads that are to be replaced, checks them, and copies them beside themselves. */
async function prepare(parts: CommitParts, staged: readonly Staged[]): Promise<Prepared> {
  const { dynamo, clock, shards } = parts
  const updates = staged.filter(({ write }) => write.expected > 0)
  const found = await dynamo.getAll(updates.map(({ write }) => ({ pk: primaryKey(write), sk: HEAD })))
  const heads = new Map(updates.map((each, i) => [each, asHead(found[i])]))
  for (const head of heads.values())
    if (head?.ptx !== undefined) return (await makeRoom(dynamo, shards, head, clock.now())) ? prepare(parts, staged) : WAIT
  const wrong = updates.find((each) => (heads.get(each)?.vid ?? 0) !== each.write.expected)
  if (wrong !== undefined) return { kind: 'conflict', result: await conflict(parts, wrong.index, heads.get(wrong)) }
  const copies = updates.map((each) => copyItem(each.write, ownContent(heads.get(each)!)!, each.content.lu, heads.get(each)!.gpk))
  if (copies.length === 1) await dynamo.put(copies[0]!)
  else await dynamo.putAll(copies)
  return { kind: 'ready' }
}

const WAIT: Prepared = { kind: 'wait' }

/** The condition under which a head may be replaced. */
const condition = ({ write: { expected } }: Staged) =>
  expected === 0
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : { ConditionExpression: 'vid = :expected AND attribute_not_exists(ptx)', ExpressionAttributeValues: { ':expected': expected } }

/** `again`: a transaction is in the way, which is settled now or soon. Otherwise what it met. */
async function putHead(parts: CommitParts, staged: Staged): Promise<'written' | 'again' | HeadItem | undefined> {
  const { dynamo, shards, clock } = parts
  try {
    await retried(() =>
      dynamo.client.send(
        new PutCommand({
          TableName: dynamo.table,
          Item: headItem(staged.write, staged.content, shards),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          ...condition(staged),
        }),
      ),
    )
    return 'written'
  } catch (error) {
    if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
    const met = asHead(await dynamo.get({ pk: primaryKey(staged.write), sk: HEAD }))
    // The write took effect, its answer was lost, and the SDK or we repeated it.
    if (isOurs(met, staged)) return 'written'
    if (met?.ptx === undefined) return met
    if (!(await makeRoom(dynamo, shards, met, clock.now()))) await pause(1)
    return 'again'
  }
}

const isOurs = (met: HeadItem | undefined, { content }: Staged): boolean =>
  met?.vid === content.vid && met.lu === content.lu && met.blob === content.blob && sameBytes(met.z, content.z)

const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0

/** Up to a hundred heads and guards in one TransactWriteItems. */
async function commitSmall(parts: CommitParts, staged: readonly Staged[], guards: readonly Guard[]): Promise<CommitResult> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const prepared = await prepare(parts, staged)
    if (prepared.kind === 'conflict') return prepared.result
    if (prepared.kind === 'ready') {
      const result = await transact(parts, staged, guards)
      if (result !== 'again') return result
    }
    await pause(attempt)
  }
  return conflict(parts, staged[0]?.index ?? 0, undefined)
}

type Reason = { readonly Code?: string; readonly Item?: Item }

async function transact(parts: CommitParts, staged: readonly Staged[], guards: readonly Guard[]): Promise<CommitResult | 'again'> {
  const { dynamo, shards, clock } = parts
  const ALL_OLD = { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
  const heads = staged.map((each) => ({
    Put: { TableName: dynamo.table, Item: headItem(each.write, each.content, shards), ...ALL_OLD, ...condition(each) },
  }))
  const bound = guards.map((guard) => ({ Put: { TableName: dynamo.table, ...guardPut(guard, clock.now()), ...ALL_OLD } }))
  // One token for all repetitions: what took effect once does not take effect twice.
  const ClientRequestToken = clock.newId()
  try {
    await retried(() => dynamo.client.send(new TransactWriteCommand({ TransactItems: [...heads, ...bound], ClientRequestToken })))
    return COMMITTED
  } catch (error) {
    const reasons = (error as { readonly CancellationReasons?: readonly Reason[] }).CancellationReasons
    if (reasons === undefined) {
      if (isPassing(error)) return 'again'
      throw error
    }
    return verdict(parts, staged, guards, reasons)
  }
}

async function verdict(
  parts: CommitParts,
  staged: readonly Staged[],
  guards: readonly Guard[],
  reasons: readonly Reason[],
): Promise<CommitResult | 'again'> {
  const failed = reasons.findIndex(({ Code }) => Code === 'ConditionalCheckFailed')
  if (failed === -1) return 'again'
  if (failed >= staged.length) {
    const met = await parts.dynamo.get(guardKey(guards[failed - staged.length]!))
    if (met === undefined) return 'again'
    return guarded(failed - staged.length, guards, met)
  }
  const each = staged[failed]!
  const met = asHead(await parts.dynamo.get({ pk: primaryKey(each.write), sk: HEAD }))
  if (met?.ptx === undefined) return conflict(parts, each.index, met)
  await makeRoom(parts.dynamo, parts.shards, met, parts.clock.now())
  return 'again'
}
