/** Key of 32 random bytes that all functions of a deployment share. The migration creates it. The table is encrypted. */
import { randomBytes } from 'node:crypto'
import type { TableClient } from '../table-client.ts'

const KEY = { pk: 'SEAL', sk: 'S' }
const BYTES = 32

export async function readSecretKey(dynamo: TableClient): Promise<Uint8Array> {
  const item = await dynamo.get(KEY)
  if (item === undefined) throw new Error('the deployment has no key for seals: it has not been migrated')
  return item.key as Uint8Array
}

/** Creates the key unless it exists. */
export const makeSecretKey = (dynamo: TableClient): Promise<unknown> =>
  dynamo.putIf({ Item: { ...KEY, key: randomBytes(BYTES) }, ConditionExpression: 'attribute_not_exists(pk)' })
