/**
 * Which resources may carry a canonical: an item for each, which stands before the resource carries it, and stays. Whether it does, its head
 * says. So nothing is lost where a commit ends in the middle, and none has more to decide.
 */
import { createHash } from 'node:crypto'
import { type AnnouncedCanonical, type Canonicals, type DefinitionType, isDefinitionType } from '../../ports/canonicals.ts'
import type { Clock } from '../../ports/clock.ts'
import type { ResourceKey } from '../../ports/resource-store.ts'
import type { Dynamo, Key } from './dynamo.ts'
import { tenantKey } from './table.ts'
import { Types } from './types.ts'

export type DynamoDbCanonicalsOptions = {
  /** The table of resources. */
  readonly dynamo: Dynamo
  readonly clock: Clock
  /** For so long nobody asks whether something changed: ms. 0: each asks. */
  readonly keptFor: number
}

const PAGE = 100

/** Tenants whose states are remembered. */
const MOST_STATES = 1_000

export class DynamoDbCanonicals implements Canonicals {
  readonly #options: DynamoDbCanonicalsOptions
  readonly #types: Types
  readonly #states = new Map<string, { readonly state: Promise<string>; readonly until: number }>()

  constructor(options: DynamoDbCanonicalsOptions) {
    this.#options = options
    this.#types = new Types(options.dynamo, () => 1)
  }

  /** Before the commit that makes them carry these. */
  async announce(announced: readonly AnnouncedCanonical[]): Promise<void> {
    const keys = announced.map(keyOf)
    await this.#options.dynamo.putAll([...new Map(keys.map((key) => [`${key.pk} ${key.sk}`, key])).values()])
  }

  async *carrying(tenant: string, type: DefinitionType, url: string): AsyncGenerator<readonly ResourceKey[]> {
    let page: ResourceKey[] = []
    for await (const { sk } of this.#options.dynamo.query({
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': partition(tenant, type, url) },
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
