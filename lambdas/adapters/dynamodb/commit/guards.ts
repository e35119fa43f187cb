/** Converts uniqueness guards to items and back. */
import { createHash } from 'node:crypto'
import type { HeldGuard, ResourceKey, UniquenessGuard } from '../../../ports/store/resource-store.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE, tenantKey } from '../table-keys.ts'

/** Lifetime of a guard in seconds. The port promises at least one hour. */
const LIFETIME = 2 * 60 * 60

export const guardKey = ({ tenant, guard }: UniquenessGuard): Key => ({
  pk: tenantKey(tenant, 'UNQ', createHash('sha256').update(guard).digest('base64url')),
  sk: 'U',
})

export const guardExpiry = (now: number): number => Math.ceil(now / 1000) + LIFETIME

export const holderAttributes = ({ holder }: UniquenessGuard) => ({ rtype: holder.type, rid: holder.id })

export const guardItem = (guard: UniquenessGuard, now: number): Item => ({
  ...guardKey(guard),
  v: holderAttributes(guard),
  [EXPIRY_ATTRIBUTE]: guardExpiry(now),
})

/** Returns the condition that no transaction has staged the guard, and that the guard is absent or held by `holder` or `replaces`. */
export function freeCondition({ holder, replaces }: UniquenessGuard) {
  const by = (name: string): string => `(v.rtype = :${name}Type AND v.rid = :${name}Id)`
  const values = (name: string, { type, id }: ResourceKey) => ({ [`:${name}Type`]: type, [`:${name}Id`]: id })
  const free = ['attribute_not_exists(v)', by('holder'), ...(replaces === undefined ? [] : [by('old')])].join(' OR ')
  return {
    ConditionExpression: `attribute_not_exists(ptx) AND (${free})`,
    ExpressionAttributeValues: { ...values('holder', holder), ...(replaces === undefined ? {} : values('old', replaces)) },
  }
}

export function holderOf(tenant: string, item: Item): ResourceKey {
  const { rtype, rid } = item.v as ReturnType<typeof holderAttributes>
  return { tenant, type: rtype, id: rid }
}

/** Returns those of the guards that other resources hold. Leaves out guards that a transaction has staged. */
export async function heldGuards(dynamo: TableClient, guards: readonly UniquenessGuard[]): Promise<readonly HeldGuard[]> {
  const items = await dynamo.getAll(guards.map(guardKey))
  return guards.flatMap((guard, index) => {
    const item = items[index]
    if (item?.v === undefined || item.ptx !== undefined) return []
    const holder = holderOf(guard.tenant, item)
    return isSame(holder, guard.holder) || isSame(holder, guard.replaces) ? [] : [{ index, holder }]
  })
}

const isSame = (a: ResourceKey, b: ResourceKey | undefined): boolean => a.type === b?.type && a.id === b.id
