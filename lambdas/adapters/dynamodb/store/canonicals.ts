/**
 * Which resources may carry a canonical: an item for each, which stands before the resource carries it, and goes after it carries it no more.
 * Whether it does, its head says. So nothing is lost where a commit ends in the middle, and none has more to decide.
 */
import { createHash } from 'node:crypto'
import {
  type AnnouncedCanonical,
  type CanonicalNotes,
  type Canonicals,
  type DefinitionType,
  isDefinitionType,
  type NotedCanonical,
} from '../../../ports/definitions/canonicals.ts'
import type { Clock } from '../../../ports/execution/clock.ts'
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { ResourceKey } from '../../../ports/store/resource-store.ts'
import type { Key, TableClient } from '../table-client.ts'
import { tenantKey } from '../table-keys.ts'
import { TypeShards } from './type-shards.ts'

export type DynamoDbCanonicalsOptions = {
  /** The table of resources. */
  readonly dynamo: TableClient
  readonly clock: Clock
  /** For so long nobody asks whether something changed: ms. 0: each asks. */
  readonly keptFor: number
}

const PAGE = 100
const FORGOTTEN_AT_ONCE = 16

/** Tenants whose states are remembered. */
const MOST_STATES = 1_000

export class DynamoDbCanonicals implements Canonicals, CanonicalNotes {
  readonly #options: DynamoDbCanonicalsOptions
  readonly #types: TypeShards
  readonly #states = new Map<string, { readonly state: Promise<string>; readonly until: number }>()

  constructor(options: DynamoDbCanonicalsOptions) {
    this.#options = options
    this.#types = new TypeShards(options.dynamo, () => 1)
  }

  /** Before the commit that makes them carry these. */
  async announce(announced: readonly AnnouncedCanonical[]): Promise<void> {
    const { dynamo, clock } = this.#options
    const mark = clock.newId()
    const items = announced.map((each) => ({ ...keyOf(each), mark }))
    await dynamo.putAll([...new Map(items.map((item) => [`${item.pk} ${item.sk}`, item])).values()])
  }

  async noted(announced: readonly AnnouncedCanonical[]): Promise<readonly NotedCanonical[]> {
    const items = announced.length === 0 ? [] : await this.#options.dynamo.getAll(announced.map(keyOf))
    return announced.flatMap((each, i) => {
      const item = items[i]
      return item === undefined ? [] : [typeof item.mark === 'string' ? { ...each, mark: item.mark } : each]
    })
  }

  forget(noted: readonly NotedCanonical[]): Promise<void> {
    return forEachInParallel(noted, FORGOTTEN_AT_ONCE, ({ mark, ...each }) => {
      const isSame = mark === undefined ? 'attribute_not_exists(#mark)' : '#mark = :mark'
      return this.#options.dynamo.deleteIf({
        ...{ Key: keyOf(each), ConditionExpression: isSame, ExpressionAttributeNames: { '#mark': 'mark' } },
        ...(mark === undefined ? {} : { ExpressionAttributeValues: { ':mark': mark } }),
      })
    })
  }

  async *carrying(tenant: string, type: DefinitionType, url: string): AsyncGenerator<readonly ResourceKey[]> {
    let page: ResourceKey[] = []
    for await (const { sk } of this.#options.dynamo.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': partition(tenant, type, url) },
      // guard: canonical-marks-read-consistently
      ConsistentRead: true,
    })) {
      if (page.push({ tenant, type, id: sk.slice(PREFIX.length) }) < PAGE) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }

  async state(tenant: string): Promise<string> {
    const { clock, keptFor } = this.#options
    const now = clock.now()
    const known = this.#states.get(tenant)
    if (known !== undefined && now < known.until) return known.state
    const state = this.#stateNow(tenant)
    if (keptFor === 0) return state
    if (this.#states.size >= MOST_STATES) this.#states.clear()
    this.#states.set(tenant, { state, until: now + keptFor })
    state.catch(() => this.#states.delete(tenant))
    return state
  }

  /** Whatever is found under it may be something else the next time. */
  async #stateNow(tenant: string): Promise<string> {
    const sources = await this.#types.sources(tenant)
    return sources.some(({ type }) => isDefinitionType(type)) ? this.#options.clock.newId() : ''
  }
}

/** Of no other item's sort key. */
const PREFIX = 'D#'

const partition = (tenant: string, type: string, url: string): string =>
  tenantKey(tenant, 'CANONICAL', type, createHash('sha256').update(url).digest('base64url'))

const keyOf = ({ tenant, type, id, url }: AnnouncedCanonical): Key => ({ pk: partition(tenant, type, url), sk: PREFIX + id })
