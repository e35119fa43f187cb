/** The copies of an index on a cluster that cancels, moves and adds copies while writes continue. */
import { afterEach, expect, it } from '@jest/globals'
import { readBody } from '../../../lambdas/adapters/opensearch/document-body.ts'
import { isFault } from '../../../lambdas/ports/faults.ts'
import { and, type Plan } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { document } from '../../contracts/index-document.ts'
import { createTestIndex, runOnTwoNodes, type TestIndex, withShards } from '../../engines/opensearch-index.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

runOnTwoNodes('OpenSearch on two nodes', (endpoint) => {
  let open: TestIndex
  let writing: Writing
  const begin = (shards: number): void => {
    open = createTestIndex(endpoint, { keepsBodies: true, refresh: 'none', knownFor: 0, ...withShards(shards) })
    writing = new Writing(open, firstSeed(), shards)
  }
  afterEach(() => open.close())

  const ask = async <Answer>(method: string, path: string, body?: Readonly<Record<string, unknown>>): Promise<Answer> =>
    (await open.client.transport.request({ method, path, ...(body && { body }) })).body as Answer
  const indexName = async () => Object.keys(await ask<object>('GET', `/${open.prefix}-observation-*/_alias`))[0]!
  const settled = async () => {
    const wanted = 'wait_for_status=green&wait_for_no_relocating_shards=true&wait_for_no_initializing_shards=true&timeout=120s'
    await ask('GET', `/_cluster/health/${open.prefix}-*?${wanted}`)
  }
  /** The nodes that hold a copy of the first shard, the primary first. */
  const nodesWithCopies = async (): Promise<readonly string[]> => {
    const shards = await ask<readonly { readonly id: string; readonly shard: string }[]>(
      'GET',
      `/_cat/shards/${await indexName()}?format=json&h=id,shard,prirep&s=prirep`,
    )
    return shards.filter(({ shard }) => shard === '0').map(({ id }) => id)
  }
  const reroute = async (command: string, more: Readonly<Record<string, unknown>>) =>
    ask('POST', '/_cluster/reroute', { commands: [{ [command]: { index: await indexName(), shard: 0, ...more } }] })
  const setReplicas = async (count: number) =>
    ask('PUT', `/${await indexName()}/_settings`, { 'index.auto_expand_replicas': false, 'index.number_of_replicas': count })

  const changes: readonly { readonly name: string; readonly copies: number; readonly change: () => Promise<unknown> }[] = [
    { name: 'cancels the replica', copies: 2, change: async () => reroute('cancel', { node: (await nodesWithCopies())[1] }) },
    {
      name: 'cancels the primary',
      copies: 2,
      change: async () => reroute('cancel', { node: (await nodesWithCopies())[0], allow_primary: true }),
    },
    { name: 'removes the replica', copies: 1, change: () => setReplicas(0) },
    {
      name: 'moves the primary',
      copies: 1,
      change: async () => {
        const [from] = await nodesWithCopies()
        const nodes = Object.keys((await ask<{ readonly nodes: object }>('GET', '/_nodes/_all/none')).nodes)
        return reroute('move', { from_node: from, to_node: nodes.find((id) => id !== from) })
      },
    },
    { name: 'adds a replica', copies: 2, change: () => setReplicas(1) },
  ]

  type Found = { readonly _id: string; readonly _version: number; readonly _source?: { readonly body?: string } }
  type Answer = {
    readonly hits: { readonly hits: readonly (Found & { readonly fields?: Readonly<Record<string, readonly unknown[]>> })[] }
  }
  /** Returns every document in the copies on this node. Two nodes with two copies hold all shards; otherwise the primaries are searched. */
  const heldOn = async (node: string, copies: number): Promise<readonly string[]> => {
    const asked = { size: 10_000, version: true, _source: ['body'], docvalue_fields: ['lastUpdated', 'keys.b'] }
    const preference = copies === 1 ? '_primary' : `_only_nodes:${node}`
    const { hits } = (await ask<Answer>('POST', `/${await indexName()}/_search?preference=${preference}`, asked)).hits
    return hits
      .map(({ _id, _version, _source, fields = {} }) => {
        const body = _source?.body === undefined ? '' : new TextDecoder().decode(readBody(_source.body))
        return lineOf({ id: _id, version: _version, lastUpdated: Number(fields.lastUpdated?.[0]), key: fields['keys.b']?.[0], body })
      })
      .toSorted()
  }
  const plan: Plan = { tenant: 'one', types: ['Observation'], where: and(), access: 'everything', order: [], limit: 1, total: 'accurate' }

  const expectAlike = async (copies: number, change: string): Promise<void> => {
    await settled()
    await ask('POST', `/${await indexName()}/_refresh`)
    const held = await Promise.all((await nodesWithCopies()).map((node) => heldOn(node, copies)))
    expect({ change, held }).toEqual({ change, held: Array.from({ length: copies }, () => writing.expected()) })
    expect((await open.index.find(plan)).total).toBe(writing.live)
  }

  it.each([
    [1, 3],
    [3, 1],
  ])('keeps every document and heartbeat in every copy, with shards: %i', async (shards, rounds) => {
    begin(shards)
    // A new index gets its replica while its first documents arrive.
    for (let batch = 0; batch < 10; batch++) await writing.write()
    await expectAlike(2, 'none')
    for (let round = 0; round < caseCountOf(rounds, 20); round++) {
      for (const { name, copies, change } of changes) {
        const going = writing.start()
        await change()
        await settled()
        await going.end()
        await expectAlike(copies, `${name} in round ${round}`)
      }
    }
  })
})

type Line = { readonly id: string; readonly version: number; readonly lastUpdated: number; readonly key: unknown; readonly body: string }

const lineOf = ({ id, version, lastUpdated, key = '', body }: Line): string => [id, version, lastUpdated, key, body].join(' ')

/** Writes documents and heartbeats as the indexer does, and lists the content that an index must hold. */
class Writing {
  readonly #open: TestIndex
  readonly #shards: number
  readonly #random
  readonly #newest = new Map<string, IndexDocument>()
  #held = {}
  #sent = 0

  constructor(open: TestIndex, seed: number, shards: number) {
    this.#open = open
    this.#shards = shards
    this.#random = randomOf(seed)
  }

  get live(): number {
    return [...this.#newest.values()].filter(({ deleted }) => !deleted).length
  }

  expected(): readonly string[] {
    const documents = [...this.#newest.values()].map(({ id, version, lastUpdated, deleted, body }) => ({
      ...{ id: `one~Observation~${id}`, version, lastUpdated },
      ...(deleted ? { key: '', body: '' } : { key: `v${version}`, body: new TextDecoder().decode(body) }),
    }))
    const heartbeat = { id: 'pulse', version: this.#sent, lastUpdated: this.#sent, key: '', body: '' }
    return [...documents, ...Array<Line>(this.#shards).fill(heartbeat)].map(lineOf).toSorted()
  }

  /** A batch, and the heartbeat that follows it. */
  async write(): Promise<void> {
    const ids = new Set(Array.from({ length: 40 }, () => `${this.#random.below(400)}`))
    const batch = [...ids].map((id) => this.#next(id))
    // The stream redelivers versions that were not applied.
    await eventually(() => isDone(this.#open.index.apply(batch)))
    for (const each of batch) this.#newest.set(each.id, each)
    const sent = this.#sent + 1
    await eventually(async () => {
      this.#held = await this.#open.index.pulse(sent, this.#held)
      return Object.hasOwn(this.#held, 'Observation')
    })
    this.#sent = sent
  }

  #next(id: string): IndexDocument {
    const version = (this.#newest.get(id)?.version ?? 0) + 1
    const body = new TextEncoder().encode(`${id}/${version}`)
    const deleted = this.#random.below(10) === 0
    return document({ id, version, deleted, lastUpdated: version, keys: { b: [`v${version}`] }, body })
  }

  /** `end` waits for a batch that began after it was called, so that each change has writes on both sides of it. */
  start(): { readonly end: () => Promise<void> } {
    let isOver = false
    const goOn = async (): Promise<void> => {
      while (!isOver) await this.write()
      await this.write()
    }
    const going = goOn()
    return {
      end: () => {
        isOver = true
        return going
      },
    }
  }
}

async function isDone(work: Promise<void>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (isFault(error, 'not-applied')) return false
    throw error
  }
}
