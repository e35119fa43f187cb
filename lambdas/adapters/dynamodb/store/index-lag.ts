/**
 * Index lag: time between a write to the table and its appearance in the table's global secondary index. A sweep notes the lag of
 * heartbeats, which counts for the whole table. Writers note the types whose writes the index throttles, because their partitions lag more
 * than others. Readers of the index apply the greatest lag noted in the last ten minutes.
 */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { MachineFault } from '../../../ports/faults.ts'
import type { TableClient } from '../table-client.ts'
import { encodeTenant } from '../table-keys.ts'
import { REFUSED_WRITES_LAG_MS } from '../time-limits.ts'

const PARTITION = '#LAG'
/** How long a noted lag applies after its instant, in milliseconds: ten minutes, and one minute that a sweep may take to note it. */
const REMEMBERED = 11 * 60_000
const MINUTE = 60_000
const SECONDS = 1_000

const INDEX_OF_TABLE = '*'

type Scope = { readonly tenant: string; readonly type?: string | undefined }

/** Returns the sort key of a note. The instant is padded, because DynamoDB compares sort keys as text. */
const sortOf = (instant: number, of: string): string => `${String(instant).padStart(15, '0')}#${of}`
const ofType = ({ tenant, type = '' }: Scope): string => `${encodeTenant(tenant)}#${type}`

/**
 * Notes a lag in milliseconds of a write at `instant`: the index showed it that late, or does not show it yet. `of`: type with its tenant,
 * or the whole table.
 */
export const noteLag = (dynamo: TableClient, instant: number, lag: number, of = INDEX_OF_TABLE): Promise<unknown> =>
  dynamo.putIf({ Item: { pk: PARTITION, sk: sortOf(instant, of), lag, expires: Math.ceil((instant + 2 * REMEMBERED) / SECONDS) } })

/**
 * Returns the greatest noted lag in milliseconds that applies to a scope: of the whole table, and of the type or of all types of the
 * tenant. 0 if none is noted.
 */
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

/** Returns the greatest noted lag in milliseconds. Throws the fault `writes-hidden` if it is `limit` or more. */
export async function readLagBelow(limit: number, dynamo: TableClient, now: number, scope: Scope): Promise<number> {
  const lag = await readGreatestLag(dynamo, now, scope)
  // guard: great-index-lag-is-refused
  if (lag >= limit) throw new MachineFault('writes-hidden', `the index of the table lags by ${lag} ms`)
  return lag
}

/** Matches the message or reasons of an error by which the index throttled a write. */
const REFUSED_BY_INDEX = /"IndexWrite|global secondary index/i
/** Matches tenant and type in the partition keys of a request. */
const TYPE_OF_KEY = /"pk":"([^"#]+#[^"#]+)#/g

type Throttled = {
  readonly message?: string
  readonly ThrottlingReasons?: unknown
  readonly CancellationReasons?: readonly { readonly Message?: string }[]
}

const isRefusedByIndex = ({ message, ThrottlingReasons, CancellationReasons }: Throttled): boolean =>
  REFUSED_BY_INDEX.test(JSON.stringify([message, ThrottlingReasons, CancellationReasons?.map(({ Message }) => Message)]))

/**
 * Returns a client that notes a lag for each type whose write the index throttled, before it rethrows the error. It notes each type once a
 * minute. A failed note is ignored.
 */
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
        // All writers round to the same minute, so they write one item per type and minute.
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
