/**
 * Revocations as items that expire. The partition key is REVOKED# and a digest of the revocation key. Attributes: b, the instant `before`;
 * ms, the instant `until`.
 */
import { createHash } from 'node:crypto'
import type { Revocation, RevocationKey, RevocationReader, Revocations } from '../../../ports/rows/revocations.ts'
import type { Item, Key, TableClient } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'
import { changeItem } from './changed-item.ts'

type Instants = { readonly b: number; readonly ms: number }

/** Creates a reader of revocations. Functions that only verify tokens import it alone, so their code cannot write revocations. */
export const revocationReader = (dynamo: TableClient, now: () => number): RevocationReader => ({
  async revoked(marks) {
    const items = await dynamo.getAll(marks.map(keyOf))
    const time = now()
    return new Map(
      marks.flatMap((mark, i) => {
        const found = items[i] as (Item & Instants) | undefined
        return found === undefined || found.ms <= time ? [] : [[mark, found.b] as const]
      }),
    )
  },
})

export class DynamoDbRevocations implements Revocations {
  readonly #dynamo: TableClient
  readonly revoked: Revocations['revoked']

  constructor(dynamo: TableClient, now: () => number) {
    this.#dynamo = dynamo
    this.revoked = revocationReader(dynamo, now).revoked
  }

  async revoke({ mark, before, until }: Revocation): Promise<void> {
    await changeItem<Instants>(this.#dynamo, keyOf(mark), FORMAT, (known = { b: before, ms: 0 }) => {
      const { b, ms } = known
      return b >= before && ms >= until ? known : { b: Math.max(before, b), ms: Math.max(until, ms) }
    })
  }

  /** Does nothing: DynamoDB deletes expired items itself. */
  async sweep(): Promise<void> {}
}

const FORMAT = {
  version: ['b', 'ms'],
  isUnique: false,
  toAttributes: async ({ b, ms }: Instants) => ({ b, ms, [EXPIRY_ATTRIBUTE]: Math.ceil(ms / 1000) }),
  toValue: async ({ b, ms }: Item) => ({ b: b as number, ms: ms as number }),
}

const keyOf = (mark: RevocationKey): Key => ({ pk: `REVOKED#${createHash('sha256').update(mark).digest('base64url')}`, sk: 'S' })
