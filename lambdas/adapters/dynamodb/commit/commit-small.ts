/**
 * Commits one write, or up to `mostActions` writes and guards in one TransactWriteItems. It first copies each version to be superseded. If
 * the commit then fails, the copy is harmless.
 */
import type { CommitResult, UniquenessGuard } from '../../../ports/store/resource-store.ts'
import { pause } from '../retry.ts'
import type { Item } from '../table-client.ts'
import { HEAD_SORT_KEY, primaryKey } from '../table-keys.ts'
import { copyItem, type HeadItem, headItem, type StagedWrite } from '../version-item.ts'
import { COMMITTED_RESULT, type CommitParts, checkConflict, withStampDeadline } from './commit-parts.ts'
import { freeCondition, guardItem, guardKey, holderOf } from './guards.ts'
import { settleBlockingItem } from './settle.ts'

/** `again`: a large transaction had staged an item, so the commit is attempted again. */
type Attempt = CommitResult | 'again'

const ATTEMPTS = 12

/** Commits one write without guards: a put for a create; for any other write also a put of the copy before it. */
export const commitOne = (parts: CommitParts, staged: StagedWrite): Promise<CommitResult> =>
  attempts(staged, async () => {
    const stopped = await copyHeads(parts, [staged])
    if (stopped !== undefined) return stopped
    const outcome = await withStampDeadline(parts, [staged]).putIf({ Item: headItem(staged), ...isExpected(staged) })
    return outcome.done ? COMMITTED_RESULT : afterMeeting(parts, staged, outcome.met as HeadItem | undefined)
  })

/** Commits all head items and guards in one TransactWriteItems, after copies of the superseded versions. */
export const commitSmall = (
  parts: CommitParts,
  staged: readonly StagedWrite[],
  guards: readonly UniquenessGuard[],
): Promise<CommitResult> =>
  attempts(staged[0], async () => {
    const stopped = await copyHeads(parts, staged)
    if (stopped !== undefined) return stopped
    const { dynamo, clock } = parts
    const common = { TableName: dynamo.table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
    const heads = staged.map((each) => ({ Put: { ...common, Item: headItem(each), ...isExpected(each) } }))
    const bound = guards.map((guard) => ({ Put: { ...common, Item: guardItem(guard, clock.now()), ...freeCondition(guard) } }))
    const reasons = await withStampDeadline(parts, staged).transact([...heads, ...bound], clock.newId())
    if (reasons === 'done') return COMMITTED_RESULT
    const failed = reasons.findIndex((reason) => reason !== undefined)
    const { met } = reasons[failed]!
    return failed < staged.length
      ? afterMeeting(parts, staged[failed]!, met as HeadItem | undefined)
      : afterMeetingGuard(parts, guards, failed - staged.length, met)
  })

async function attempts(first: StagedWrite | undefined, attempt: () => Promise<Attempt>): Promise<CommitResult> {
  for (let n = 1; n <= ATTEMPTS; n++) {
    const result = await attempt()
    if (result !== 'again') return result
    await pause(n)
  }
  return { kind: 'conflict', index: first?.index ?? 0 }
}

/**
 * Copies the versions that the commit supersedes. Returns undefined if all are the expected ones. Otherwise it copies nothing and returns
 * the outcome.
 */
async function copyHeads(parts: CommitParts, staged: readonly StagedWrite[]): Promise<Attempt | undefined> {
  const { dynamo } = parts
  const updates = staged.filter(({ write }) => write.expected > 0)
  if (updates.length === 0) return undefined
  const heads = (await dynamo.getAll(updates.map(({ write }) => ({ pk: primaryKey(write), sk: HEAD_SORT_KEY })))) as (
    | HeadItem
    | undefined
  )[]
  for (const [i, each] of updates.entries())
    if (heads[i]?.ptx !== undefined || heads[i]?.v?.vid !== each.write.expected) return afterMeeting(parts, each, heads[i])
  await dynamo.putAll(updates.map(({ write, content }, i) => copyItem(write, heads[i]!, heads[i]!.v!, content.lu)))
  return undefined
}

// guard: commit-waits-for-pending-transaction
const isExpected = ({ write: { expected } }: StagedWrite) =>
  expected === 0
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : { ConditionExpression: 'v.vid = :expected AND attribute_not_exists(ptx)', ExpressionAttributeValues: { ':expected': expected } }

async function afterMeeting(parts: CommitParts, staged: StagedWrite, met: HeadItem | undefined): Promise<Attempt> {
  const { dynamo, clock } = parts
  if (met?.ptx === undefined) return checkConflict(dynamo, staged, met)
  await settleBlockingItem(dynamo, staged.write.tenant, met, clock.now())
  return 'again'
}

async function afterMeetingGuard(
  parts: CommitParts,
  guards: readonly UniquenessGuard[],
  index: number,
  met: Item | undefined,
): Promise<Attempt> {
  const { dynamo, clock } = parts
  const guard = guards[index]!
  const item = met ?? (await dynamo.get(guardKey(guard)))
  if (item === undefined) return 'again'
  if (item.ptx === undefined) return { kind: 'guarded', index, holder: holderOf(guard.tenant, item) }
  await settleBlockingItem(dynamo, guard.tenant, item, clock.now())
  return 'again'
}
