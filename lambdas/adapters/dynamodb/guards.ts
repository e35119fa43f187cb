/** Guards as items. */
import type { CommitResult, Guard } from '../../ports/resource-store.ts'
import type { Item } from './dynamo.ts'

/** Seconds. */
const GUARD_LIFETIME = 60 * 60

export const guardKey = ({ tenant, guard }: Guard) => ({ pk: `${tenant}#UNQ#${guard}`, sk: 'U' })

/** Binds a guard that is free, already ours, or held by the resource it takes over from. */
export function guardPut(guard: Guard, now: number) {
  const { holder, replaces } = guard
  const mine = '(rtype = :type AND rid = :id)'
  const theirs = replaces === undefined ? '' : ' OR (rtype = :oldType AND rid = :oldId)'
  return {
    Item: { ...guardKey(guard), rtype: holder.type, rid: holder.id, expires: Math.ceil(now / 1000) + GUARD_LIFETIME },
    ConditionExpression: `attribute_not_exists(pk) OR ${mine}${theirs}`,
    ExpressionAttributeValues: {
      ':type': holder.type,
      ':id': holder.id,
      ...(replaces === undefined ? {} : { ':oldType': replaces.type, ':oldId': replaces.id }),
    },
  }
}

export const guarded = (index: number, guards: readonly Guard[], met: Item): CommitResult => ({
  kind: 'guarded',
  index,
  holder: { tenant: guards[index]!.tenant, type: String(met.rtype), id: String(met.rid) },
})
