/**
 * Lag between a write to the table and its appearance in the table's index. A sweep notes the lag of heartbeats. Writers note the types
 * whose writes the index rejects, because such a key lags alone. Readers of the index apply the greatest lag of the last ten minutes.
 */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { MachineFault } from '../../../ports/faults.ts'
import type { TableClient } from '../table-client.ts'
import { encodeTenant } from '../table-keys.ts'
import { REFUSED_WRITES_LAG_MS } from '../time-limits.ts'

const PARTITION = '#LAG'
/** How long a noted lag applies, in milliseconds: ten minutes after the sweep that noted it, which takes up to one minute. */
const REMEMBERED = 11 * 60_000
const MINUTE = 60_000
const SECONDS = 1_000

const INDEX_OF_TABLE = '*'

type Scope = { readonly tenant: string; readonly type?: string | undefined }

/** Pads the instant, because DynamoDB compares sort keys as text. */
const sortOf = (instant: number, of: string): string => `${String(instant).padStart(15, '0')}#${of}`
const ofType = ({ tenant, type = '' }: Scope): string => `${encodeTenant(tenant)}#${type}`

/** Notes a lag in milliseconds: the index showed a write of this instant that late, or does not show it yet. */
export const noteLag = (dynamo: TableClient, instant: number, lag: number, of = INDEX_OF_TABLE): Promise<unknown> =>
  dynamo.putIf({ Item: { pk: PARTITION, sk: sortOf(instant, of), lag, expires: Math.ceil((instant + 2 * REMEMBERED) / SECONDS) } })

/** Returns the greatest lag that was noted for a type, or for any type of a tenant, in milliseconds. */
export async function readGreatestLag(dynamo: TableClient, now: number, scope: Scope): Promise<number> {
  let greatest = 0
  for await (const { sk, lag } of dynamo.query({
    KeyConditionExpression: 'pk = :pk AND sk > :from',
    ExpressionAttributeValues: { ':pk': PARTITION, ':from': sortOf(now - REMEMBERED, '') },
    ConsistentRead: true,
  })) {
    const of = sk.slice(sk.indexOf('#') + 1)
    const isOfScope = scope.type === undefined ? of.startsWith(ofType(scope)) : of === ofType(scope)
    if (of === INDEX_OF_TABLE || isOfScope) greatest = Math.max(greatest, lag as number)
  }
  return greatest
}

/** Returns the greatest lag in milliseconds. Throws the fault `writes-hidden` if it is `limit` or more. */
export async function readLagBelow(limit: number, dynamo: TableClient, now: number, scope: Scope): Promise<number> {
  const lag = await readGreatestLag(dynamo, now, scope)
  // guard: great-index-lag-is-refused
  if (lag >= limit) throw new MachineFault('writes-hidden', `the index of the table lags by ${lag} ms`)
  return lag
}

/**
 * Pattern in the message or the reasons of an error.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TroubleshootingThrottling.html
 */
const REFUSED_BY_INDEX = /"IndexWrite|global secondary index/i
/** Pattern of tenant and type in the partition key of a resource. */
const TYPE_OF_KEY = /"pk":"([^"#]+#[^"#]+)#/g

type Throttled = {
  readonly message?: string
  readonly ThrottlingReasons?: unknown
  readonly CancellationReasons?: readonly { readonly Message?: string }[]
}

const isRefusedByIndex = ({ message, ThrottlingReasons, CancellationReasons }: Throttled): boolean =>
  REFUSED_BY_INDEX.test(JSON.stringify([message, ThrottlingReasons, CancellationReasons?.map(({ Message }) => Message)]))

/** Returns a client that notes writes rejected by the index before they are retried, once a minute for each type. `note` may fail. */
export function withRefusalNotes(
  client: DynamoDBDocumentClient,
  note: (instant: number, lag: number, of: string) => Promise<unknown>,
  now: () => number,
): DynamoDBDocumentClient {
  const noted = new Map<string, number>()
  const send = async (command: { readonly input: object }, ...rest: readonly unknown[]): Promise<unknown> => {
    try {
      return await client.send(command as never, ...(rest as []))
    } catch (error) {
      if (isRefusedByIndex(error as Throttled)) {
        // One item per type and minute, regardless of the number of writers.
        const minute = Math.ceil(now() / MINUTE) * MINUTE
        for (const [, of = ''] of JSON.stringify(command.input).matchAll(TYPE_OF_KEY)) {
          if (noted.get(of) === minute) continue
          noted.set(of, minute)
          // guard: index-throttling-counts-as-lag
          await note(minute, REFUSED_WRITES_LAG_MS, of).catch(() => noted.delete(of))
        }
      }
      throw error
    }
  }
  return { send } as unknown as DynamoDBDocumentClient
}
