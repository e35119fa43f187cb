/** IdentifierRows as items of the resource table. All rows of one value of a type are in one partition, whatever their system. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../../ports/execution/clock.ts'
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { IdentifierCriterion, IdentifierEntry, IdentifierRow, IdentifierRows } from '../../../ports/store/identifier-rows.ts'
import type { Identifier, ResourceKey, ResourceWriter } from '../../../ports/store/resource-store.ts'
import type { Item, TableClient } from '../table-client.ts'
import { tenantKey } from '../table-keys.ts'

/** Maximum requests of one call that are sent at the same time. */
const AT_ONCE = 20

/** Returns a writer that adds the rows of new identifiers before each commit. The rows of a failed commit remain. */
export const writerWithRows = (writer: ResourceWriter, rows: Pick<IdentifierRows, 'add'>): ResourceWriter => ({
  async commit(writes, guards) {
    // guard: identifier-rows-before-commit
    await rows.add(writes)
    return writer.commit(writes, guards)
  },
})

export class DynamoDbIdentifierRows implements IdentifierRows {
  readonly #dynamo: TableClient
  readonly #clock: Clock

  /** `dynamo`: table of the resources, which also contains the rows. */
  constructor(dynamo: TableClient, clock: Clock) {
    this.#dynamo = dynamo
    this.#clock = clock
  }

  async add(entries: readonly IdentifierEntry[]): Promise<void> {
    const now = this.#clock.now()
    const items = entries.flatMap((each) => (each.identifiers ?? []).map((identifier) => itemOf(each, identifier, now)))
    const distinct = [...new Map(items.map((item) => [`${item.pk} ${item.sk}`, item])).values()]
    if (distinct.length > 0) await this.#dynamo.putAll(distinct)
  }

  async carrying(
    scope: { readonly tenant: string; readonly type: string },
    criteria: readonly IdentifierCriterion[],
    limit: number,
  ): Promise<readonly IdentifierRow[]> {
    const rows: IdentifierRow[] = []
    await forEachInParallel(criteria, AT_ONCE, async (criterion) => {
      if (rows.length <= limit) rows.push(...(await rowsOf(this.#dynamo, scope, criterion, limit)))
    })
    return rows
  }

  forget(rows: readonly IdentifierRow[]): Promise<void> {
    return forEachInParallel(rows, AT_ONCE, ({ row, written }) => {
      const [pk = '', sk = ''] = row.split(' ')
      return this.#dynamo.deleteIf({
        Key: { pk, sk },
        // guard: identifier-row-added-again
        ConditionExpression: '#at = :at',
        ExpressionAttributeNames: { '#at': 'at' },
        ExpressionAttributeValues: { ':at': written },
      })
    })
  }
}

/** Returns at most `limit` + 1 rows. */
async function rowsOf(
  dynamo: TableClient,
  { tenant, type }: { readonly tenant: string; readonly type: string },
  criterion: IdentifierCriterion,
  limit: number,
): Promise<readonly IdentifierRow[]> {
  const { value, system } = criterion
  const pk = partitionOf(tenant, type, value)
  const rows: IdentifierRow[] = []
  for await (const { sk, at } of dynamo.query({
    KeyConditionExpression: 'pk = :pk AND begins_with(sk, :sk)',
    ExpressionAttributeValues: { ':pk': pk, ':sk': system === undefined ? PREFIX : prefixOf(system) },
    // guard: identifier-rows-read-consistently
    ConsistentRead: true,
    Limit: limit + 1,
  })) {
    const key = { tenant, type, id: sk.slice(sk.lastIndexOf('#') + 1) }
    rows.push({ key, criterion, written: at as number, row: `${pk} ${sk}` })
    if (rows.length > limit) break
  }
  return rows
}

const PREFIX = 'I#'
const prefixOf = (system: string): string => `${PREFIX}${digestOf(system)}#`

const itemOf = ({ tenant, type, id }: ResourceKey, { system, value }: Identifier, at: number): Item => ({
  pk: partitionOf(tenant, type, value),
  sk: prefixOf(system) + id,
  at,
})

/** The key has a digest, because a value may be longer than a key, and keys appear in metrics and logs of AWS. */
const partitionOf = (tenant: string, type: string, value: string): string => tenantKey(tenant, 'IDENTIFIER', type, digestOf(value))

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
