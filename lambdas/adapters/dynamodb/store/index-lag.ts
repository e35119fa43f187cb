/**
 * How late the index of the table shows writes. A sweep notes the lag of beats; writers note the types whose writes the index refuses, since such
 * a key lags alone. Readers of the index go by the greatest lag of the last ten minutes.
 */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { WritesHidden } from '../../../ports/faults/writes-hidden.ts'
import type { TableClient } from '../table-client.ts'
import { encodeTenant } from '../table-keys.ts'
import { REFUSED_WRITES_LAG_MS } from '../time-limits.ts'

const PARTITION = '#LAG'
/** Ten minutes after the sweep that noted it, which lasts one: ms. */
const REMEMBERED = 11 * 60_000
const MINUTE = 60_000
const SECONDS = 1_000

const INDEX_OF_TABLE = '*'

type Scope = { readonly tenant: string; readonly type?: string | undefined }

/** Sort keys are compared as texts. */
const sortOf = (instant: number, of: string): string => `${String(instant).padStart(15, '0')}#${of}`
const ofType = ({ tenant, type = '' }: Scope): string => `${encodeTenant(tenant)}#${type}`

/** Notes that the index showed what was written at an instant only after so many ms, or does not show it yet. */
export const noteLag = (dynamo: TableClient, instant: number, lag: number, of = INDEX_OF_TABLE): Promise<unknown> =>
  dynamo.putIf({ Item: { pk: PARTITION, sk: sortOf(instant, of), lag, expires: Math.ceil((instant + 2 * REMEMBERED) / SECONDS) } })

/** Returns the greatest lag that was noted for a type, or for any type of a tenant, in ms. */
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

/** Returns the greatest lag. Throws WritesHidden if it is `limit` or more, in ms. */
export async function readLagBelow(limit: number, dynamo: TableClient, now: number, scope: Scope): Promise<number> {
  const lag = await readGreatestLag(dynamo, now, scope)
  // guard: great-index-lag-is-refused
  if (lag >= limit) throw new WritesHidden(`the index of the table lags by ${lag} ms`)
  return lag
}

/** Within the message or the reasons of an error. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/TroubleshootingThrottling.html */
const REFUSED_BY_INDEX = /"IndexWrite|global secondary index/i
/** Tenant and type, in the partition key of a resource. */
const TYPE_OF_KEY = /"pk":"([^"#]+#[^"#]+)#/g

type Throttled = {
  readonly message?: string
  readonly ThrottlingReasons?: unknown
  readonly CancellationReasons?: readonly { readonly Message?: string }[]
}

const isRefusedByIndex = ({ message, ThrottlingReasons, CancellationReasons }: Throttled): boolean =>
  REFUSED_BY_INDEX.test(JSON.stringify([message, ThrottlingReasons, CancellationReasons?.map(({ Message }) => Message)]))

/** A client that notes refusals by the index, before the write is sent again: for each type once a minute. `note` may fail. */
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
        // A minute has one item for each type, whatever the number of writers.
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
