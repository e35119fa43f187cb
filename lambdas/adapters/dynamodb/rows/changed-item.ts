/** Values in items that are changed by compare-and-set. */
import { changeValue } from '../../../ports/rows/change.ts'
import { pause } from '../retry.ts'
import type { Item, Key, TableClient } from '../table-client.ts'

/** Maximum attempts of a change. */
const ATTEMPTS = 30

/** Attributes of a value. `version`: names of those that a write expects to be unchanged. */
export type ItemFormat<Value> = {
  readonly version: readonly string[]
  /** Whether no two writes have the same version. A write whose response was lost then recognizes itself. */
  readonly isUnique: boolean
  readonly toAttributes: (value: Value) => Promise<Readonly<Record<string, unknown>>>
  readonly toValue: (item: Item) => Promise<Value>
}

/** Changes the value of an item with the rules of `changeValue`. */
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

/** Waits before the next attempt of a change. Throws Error after the last one. */
export async function pauseChange(attempt: number): Promise<void> {
  if (attempt >= ATTEMPTS) throw new Error('others kept changing an item')
  await pause(attempt)
}

/** Returns the condition that the item is unchanged, or still absent. */
function conditionOf(version: readonly string[], item: Item | undefined) {
  if (item === undefined) return { ConditionExpression: 'attribute_not_exists(pk)' }
  return {
    ConditionExpression: version.map((name) => `${name} = :${name}`).join(' AND '),
    ExpressionAttributeValues: Object.fromEntries(version.map((name) => [`:${name}`, item[name]])),
  }
}
