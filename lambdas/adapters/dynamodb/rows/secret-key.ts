/**
 * Secret key of 32 random bytes, by which all functions of a deployment seal and open texts. The migration creates it. Encryption of the
 * table protects it.
 */
import { randomBytes } from 'node:crypto'
import type { TableClient } from '../table-client.ts'

const KEY = { pk: 'SEAL', sk: 'S' }
const BYTES = 32

export async function readSecretKey(dynamo: TableClient): Promise<Uint8Array> {
  const item = await dynamo.get(KEY)
  if (item === undefined) throw new Error('the deployment has no key for seals: it has not been migrated')
  return item.key as Uint8Array
}

/** Creates the key. Does nothing if it exists. */
export const makeSecretKey = (dynamo: TableClient): Promise<unknown> =>
  dynamo.putIf({ Item: { ...KEY, key: randomBytes(BYTES) }, ConditionExpression: 'attribute_not_exists(pk)' })
