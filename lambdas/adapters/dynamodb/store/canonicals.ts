/**
 * Items that name the definitions that may carry a canonical URL. An item is written before the commit and removed only after the resource
 * no longer carries the URL. So an interrupted commit may leave an item too many, but none is ever missing. Readers check the current
 * version of the resource.
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
  /** Table of the resources, which also contains these items. */
  readonly dynamo: TableClient
  readonly clock: Clock
  /** How long the state of a tenant is cached, in milliseconds. 0 disables the cache. */
  readonly keptFor: number
}

const PAGE = 100
const FORGOTTEN_AT_ONCE = 16

/** Maximum tenants with a cached state. Above it all cached states are dropped. */
const MOST_STATES = 1_000

export class DynamoDbCanonicals implements Canonicals, CanonicalNotes {
  readonly #options: DynamoDbCanonicalsOptions
  readonly #types: TypeShards
  readonly #states = new Map<string, { readonly state: Promise<string>; readonly until: number }>()

  constructor(options: DynamoDbCanonicalsOptions) {
    this.#options = options
    this.#types = new TypeShards(options.dynamo, () => 1)
  }

  /** Adds the items. Must be called before the commit of resources that carry the URLs. */
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

  /**
   * Returns '' for a tenant that never had definitions. Otherwise each call returns a new id: definitions may have changed since the last
   * call.
   */
  async #stateNow(tenant: string): Promise<string> {
    const sources = await this.#types.sources(tenant)
    return sources.some(({ type }) => isDefinitionType(type)) ? this.#options.clock.newId() : ''
  }
}

/** Prefix of the sort keys. */
const PREFIX = 'D#'

const partition = (tenant: string, type: string, url: string): string =>
  tenantKey(tenant, 'CANONICAL', type, createHash('sha256').update(url).digest('base64url'))

const keyOf = ({ tenant, type, id, url }: AnnouncedCanonical): Key => ({ pk: partition(tenant, type, url), sk: PREFIX + id })
