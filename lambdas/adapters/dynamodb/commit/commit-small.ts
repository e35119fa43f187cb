/** Commits of one write, and of up to a hundred actions. The version before is copied first; a copy too many is harmless. */
import type { CommitResult, Guard } from '../../../ports/store/resource-store.ts'
import { pause } from '../retry.ts'
import type { Item } from '../table-client.ts'
import { HEAD, primaryKey } from '../table-keys.ts'
import { copyItem, type HeadItem, headItem, type Staged } from '../version-item.ts'
import { COMMITTED, type CommitParts, conflictAt, inTime } from './commit-parts.ts'
import { guardItem, guardKey, holderOf, isFree } from './guards.ts'
import { makeRoom } from './settle.ts'

/** `again`: a transaction was in the way, and is settled now or soon. */
type Attempt = CommitResult | 'again'

const ATTEMPTS = 12

/** One plain write for a create, two for what follows a version. */
export const commitOne = (parts: CommitParts, staged: Staged): Promise<CommitResult> =>
  attempts(staged, async () => {
    const stopped = await copyHeads(parts, [staged])
    if (stopped !== undefined) return stopped
    const outcome = await inTime(parts, [staged]).putIf({ Item: headItem(staged), ...isExpected(staged) })
    return outcome.done ? COMMITTED : afterMeeting(parts, staged, outcome.met as HeadItem | undefined)
  })

/** All heads and guards in one TransactWriteItems. */
export const commitSmall = (parts: CommitParts, staged: readonly Staged[], guards: readonly Guard[]): Promise<CommitResult> =>
  attempts(staged[0], async () => {
    const stopped = await copyHeads(parts, staged)
    if (stopped !== undefined) return stopped
    const { dynamo, clock } = parts
    const common = { TableName: dynamo.table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const
    const heads = staged.map((each) => ({ Put: { ...common, Item: headItem(each), ...isExpected(each) } }))
    const bound = guards.map((guard) => ({ Put: { ...common, Item: guardItem(guard, clock.now()), ...isFree(guard) } }))
    const reasons = await inTime(parts, staged).transact([...heads, ...bound], clock.newId())
    if (reasons === 'done') return COMMITTED
    const failed = reasons.findIndex((reason) => reason !== undefined)
    const { met } = reasons[failed]!
    return failed < staged.length
      ? afterMeeting(parts, staged[failed]!, met as HeadItem | undefined)
      : afterMeetingGuard(parts, guards, failed - staged.length, met)
  })

async function attempts(first: Staged | undefined, attempt: () => Promise<Attempt>): Promise<CommitResult> {
  for (let n = 1; n <= ATTEMPTS; n++) {
    const result = await attempt()
    if (result !== 'again') return result
    await pause(n)
  }
  return { kind: 'conflict', index: first?.index ?? 0 }
}

/** Reads the heads that are to be replaced, checks them, and copies them beside themselves. */
async function copyHeads(parts: CommitParts, staged: readonly Staged[]): Promise<Attempt | undefined> {
  const { dynamo } = parts
  const updates = staged.filter(({ write }) => write.expected > 0)
  if (updates.length === 0) return undefined
  const heads = (await dynamo.getAll(updates.map(({ write }) => ({ pk: primaryKey(write), sk: HEAD })))) as (HeadItem | undefined)[]
  for (const [i, each] of updates.entries())
    if (heads[i]?.ptx !== undefined || heads[i]?.v?.vid !== each.write.expected) return afterMeeting(parts, each, heads[i])
  await dynamo.putAll(updates.map(({ write, content }, i) => copyItem(write, heads[i]!, heads[i]!.v!, content.lu)))
  return undefined
}

// guard: commit-waits-for-pending-transaction
const isExpected = ({ write: { expected } }: Staged) =>
  expected === 0
    ? { ConditionExpression: 'attribute_not_exists(pk)' }
    : { ConditionExpression: 'v.vid = :expected AND attribute_not_exists(ptx)', ExpressionAttributeValues: { ':expected': expected } }

async function afterMeeting(parts: CommitParts, staged: Staged, met: HeadItem | undefined): Promise<Attempt> {
  const { dynamo, clock } = parts
  if (met?.ptx === undefined) return conflictAt(dynamo, staged, met)
  await makeRoom(dynamo, staged.write.tenant, met, clock.now())
  return 'again'
}

async function afterMeetingGuard(parts: CommitParts, guards: readonly Guard[], index: number, met: Item | undefined): Promise<Attempt> {
  const { dynamo, clock } = parts
  const guard = guards[index]!
  const item = met ?? (await dynamo.get(guardKey(guard)))
  if (item === undefined) return 'again'
  if (item.ptx === undefined) return { kind: 'guarded', index, holder: holderOf(guard.tenant, item) }
  await makeRoom(dynamo, guard.tenant, item, clock.now())
  return 'again'
}
