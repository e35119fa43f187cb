/** Changes values in items by compare-and-set. */
import { changeValue } from '../../../ports/rows/change.ts'
import { pause } from '../retry.ts'
import type { Item, Key, TableClient } from '../table-client.ts'

/** Maximum attempts of a change. An attempt fails if another writer changed the item meanwhile. */
const ATTEMPTS = 30

/** How a value is stored in an item. `version`: names of the attributes that must be unchanged since the read for a write to succeed. */
export type ItemFormat<Value> = {
  readonly version: readonly string[]
  /** Whether each write has a version of its own. A write with a lost response is then recognized by its version. */
  readonly isUnique: boolean
  readonly toAttributes: (value: Value) => Promise<Readonly<Record<string, unknown>>>
  readonly toValue: (item: Item) => Promise<Value>
}

/** Changes the value of an item by the rules of `changeValue`. `next` returns the new value, or undefined to remove the item. */
export const changeItem = <Value>(
  dynamo: TableClient,
  key: Key,
  { version, isUnique, toAttributes, toValue }: ItemFormat<Value>,
  next: (value: Value | undefined) => Value | undefined,
): Promise<Value | undefined> =>
  changeValue(
    {
      async read() {
        const item = await dynamo.get(key)
        return { item, value: item && (await toValue(item)) }
      },
      async write(value: Value | undefined, { item }: { readonly item: Item | undefined; readonly value: Value | undefined }) {
        const condition = conditionOf(version, item)
        if (value === undefined) return (await dynamo.deleteIf({ Key: key, ...condition })).done
        const Item: Item = { ...key, ...(await toAttributes(value)) }
        const outcome = await dynamo.putIf({ Item, ...condition })
        // guard: repeated-change-is-recognised
        return outcome.done || (isUnique && version.every((name) => outcome.met?.[name] === Item[name]))
      },
      pause: pauseChange,
    },
    next,
  )

/** Waits before the next attempt of a change. Throws Error after ATTEMPTS. */
export async function pauseChange(attempt: number): Promise<void> {
  if (attempt >= ATTEMPTS) throw new Error('others kept changing an item')
  await pause(attempt)
}

/** Returns the condition that the item has not changed since it was read, or is still absent. */
function conditionOf(version: readonly string[], item: Item | undefined) {
  if (item === undefined) return { ConditionExpression: 'attribute_not_exists(pk)' }
  return {
    ConditionExpression: version.map((name) => `${name} = :${name}`).join(' AND '),
    ExpressionAttributeValues: Object.fromEntries(version.map((name) => [`:${name}`, item[name]])),
  }
}
