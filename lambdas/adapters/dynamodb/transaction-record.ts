/**
 * The record of a large transaction: one item whose state decides for everything the transaction staged.
 * PENDING until one conditional write makes it COMMITTED or ABORTED; a record that is missing counts as ABORTED.
 */
import { UpdateCommand } from '@aws-sdk/lib-dynamodb'
import { type Dynamo, retried } from './dynamo.ts'

export type State = 'PENDING' | 'COMMITTED' | 'ABORTED'
export type TransactionRecord = { readonly state: State; readonly deadline: number }

const KEYS_PER_MANIFEST = 1_000
const OPEN = 'TXN#open'

export const recordKey = (tenant: string, transaction: string) => ({ pk: `${tenant}#TXN#${transaction}`, sk: 'T' })

/** The record and its manifest stand before anything is staged. */
export async function openRecord(
  dynamo: Dynamo,
  tenant: string,
  transaction: string,
  keys: readonly string[],
  deadline: number,
): Promise<void> {
  const { pk, sk } = recordKey(tenant, transaction)
  const chunks = Array.from({ length: Math.ceil(keys.length / KEYS_PER_MANIFEST) }, (_, i) =>
    keys.slice(i * KEYS_PER_MANIFEST, (i + 1) * KEYS_PER_MANIFEST),
  )
  await dynamo.putAll(chunks.map((keys, i) => ({ pk, sk: `M#${String(i + 1).padStart(4, '0')}`, keys })))
  await dynamo.put({ pk, sk, state: 'PENDING', deadline, gpk: OPEN, gsk: `${String(deadline).padStart(15, '0')}#${tenant}#${transaction}` })
}

export async function readRecord(dynamo: Dynamo, tenant: string, transaction: string): Promise<TransactionRecord> {
  const item = await dynamo.get(recordKey(tenant, transaction))
  return item === undefined ? { state: 'ABORTED', deadline: 0 } : { state: item.state as State, deadline: item.deadline as number }
}

/** The state the record has afterwards: whoever came first decided it. */
export async function decide(dynamo: Dynamo, tenant: string, transaction: string, state: 'COMMITTED' | 'ABORTED'): Promise<State> {
  try {
    await retried(() =>
      dynamo.client.send(
        new UpdateCommand({
          TableName: dynamo.table,
          Key: recordKey(tenant, transaction),
          UpdateExpression: 'SET #state = :to',
          ConditionExpression: '#state = :pending',
          ExpressionAttributeNames: { '#state': 'state' },
          ExpressionAttributeValues: { ':to': state, ':pending': 'PENDING' },
        }),
      ),
    )
    return state
  } catch (error) {
    if ((error as Error).name !== 'ConditionalCheckFailedException') throw error
    // The write may have been ours, its answer lost and repeated.
    return (await readRecord(dynamo, tenant, transaction)).state
  }
}

/** All it staged is settled: the record may go, in a while, for whoever still holds an answer about it. */
export async function closeRecord(dynamo: Dynamo, tenant: string, transaction: string, expires: number): Promise<void> {
  await retried(() =>
    dynamo.client.send(
      new UpdateCommand({
        TableName: dynamo.table,
        Key: recordKey(tenant, transaction),
        UpdateExpression: 'SET expires = :expires REMOVE gpk, gsk',
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':expires': expires },
      }),
    ),
  )
}

/** Transactions that are still open and whose deadline lies before `now`. */
export async function overdue(dynamo: Dynamo, now: number): Promise<readonly { readonly tenant: string; readonly transaction: string }[]> {
  const found = []
  for await (const { gsk } of dynamo.query({
    IndexName: 'gsi1',
    KeyConditionExpression: 'gpk = :open AND gsk < :now',
    ExpressionAttributeValues: { ':open': OPEN, ':now': String(now).padStart(15, '0') },
  })) {
    const [, tenant = '', transaction = ''] = String(gsk).split('#')
    found.push({ tenant, transaction })
  }
  return found
}

export async function manifestOf(dynamo: Dynamo, tenant: string, transaction: string): Promise<readonly string[]> {
  const keys: string[] = []
  for await (const { keys: some } of dynamo.query({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :m)',
    ExpressionAttributeValues: { ':pk': recordKey(tenant, transaction).pk, ':m': 'M#' },
    ConsistentRead: true,
  }))
    keys.push(...(some as string[]))
  return keys
}
