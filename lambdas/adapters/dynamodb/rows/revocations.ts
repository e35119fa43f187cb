/**
 * Revocations as items that expire, under REVOKED# and a digest of the revocation key: b, the instant `before`; ms, the instant `until`.
 */
import { createHash } from 'node:crypto'
import type { Revocation, RevocationKey, Revocations } from '../../../ports/rows/revocations.ts'
import { pause } from '../retry.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'

const ATTEMPTS = 30

type Instants = { readonly b: number; readonly ms: number }

export class DynamoDbRevocations implements Revocations {
  readonly #dynamo: TableClient
  readonly #now: () => number

  constructor(dynamo: TableClient, now: () => number) {
    this.#dynamo = dynamo
    this.#now = now
  }

  async revoked(marks: readonly RevocationKey[]): Promise<ReadonlyMap<RevocationKey, number>> {
    const items = await this.#dynamo.getAll(marks.map(keyOf))
    const now = this.#now()
    return new Map(
      marks.flatMap((mark, i) => {
        const found = items[i] as (Item & Instants) | undefined
        return found === undefined || found.ms <= now ? [] : [[mark, found.b] as const]
      }),
    )
  }

  async revoke({ mark, before, until }: Revocation): Promise<void> {
    const key = keyOf(mark)
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const known = (await this.#dynamo.get(key)) as (Item & Instants) | undefined
      const next = { b: Math.max(before, known?.b ?? before), ms: Math.max(until, known?.ms ?? until) }
      if (known?.b === next.b && known.ms === next.ms) return
      if (await this.#replace(key, known, next)) return
      await pause(attempt)
    }
    throw new Error('others kept changing a revocation')
  }

  /** Does nothing: the table deletes expired items itself. */
  async sweep(): Promise<void> {}

  async #replace(key: Key, known: Instants | undefined, next: Instants): Promise<boolean> {
    const condition =
      known === undefined
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : { ConditionExpression: 'b = :b AND ms = :ms', ExpressionAttributeValues: { ':b': known.b, ':ms': known.ms } }
    const { done } = await this.#dynamo.putIf({ Item: { ...key, ...next, [EXPIRY_ATTRIBUTE]: Math.ceil(next.ms / 1000) }, ...condition })
    return done
  }
}

const keyOf = (mark: RevocationKey): Key => ({ pk: `REVOKED#${createHash('sha256').update(mark).digest('base64url')}`, sk: 'S' })
