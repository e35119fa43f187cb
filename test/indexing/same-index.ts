/**
 * One history of random writes through both paths into an index: the change feed of the embedded server, and stream events of the
 * table on AWS, with repeated records, partial failures and crashes. Both must answer every search alike.
 */
import { expect } from '@jest/globals'
import type { EventValue } from '../../lambdas/adapters/dynamodb/attributes.ts'
import { type StreamRecord, versionOfRecord } from '../../lambdas/adapters/dynamodb/stream/stream.ts'
import { contentOf, headItem, shardOfId } from '../../lambdas/adapters/dynamodb/version-item.ts'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { indexChanges } from '../../lambdas/indexing/feed/indexing.ts'
import { NO_PREFETCHED_RESOURCES } from '../../lambdas/indexing/parameter-prefetch.ts'
import { followStream } from '../../lambdas/indexing/stream/stream-follower.ts'
import type { BlobStore } from '../../lambdas/ports/blobs/blob-store.ts'
import { runToEnd } from '../../lambdas/ports/execution/generator-driver.ts'
import { notApplied } from '../../lambdas/ports/faults.ts'
import type { Plan } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument, SearchIndex } from '../../lambdas/ports/search/search-index.ts'
import type { Write } from '../../lambdas/ports/store/resource-store.ts'
import { resolveChains, unrestrictedSearchAccess } from '../../lambdas/search/query/condition.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { type Random, randomOf } from '../contracts/generated-search.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { feedOf } from '../fixtures/feed.ts'
import { deletionOf, resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const TENANT = 'te nant'
const NOW = Date.UTC(2024, 0, 1)
const noBlobs = {} as BlobStore

export type StreamedIndex = { readonly index: SearchIndex; readonly close: () => Promise<void> }

export async function checkIndexesAgree(writes: number, seed: number, open: () => Promise<StreamedIndex>): Promise<void> {
  const random = randomOf(seed)
  const history = historyOf(random, writes)
  const fed = new SqliteSearchIndex(':memory:')
  followed(history, fed)
  const streamed = await open()
  await delivered(random, history, streamed.index)
  for (const query of QUERIES) {
    const [type = '', text = ''] = query.split('?')
    const { where, order } = parseSearch(type, [...new URLSearchParams(text)], { now: NOW })
    const answers = await Promise.all(
      [fed, streamed.index].map(async (index) => {
        const plan: Plan = {
          tenant: TENANT,
          types: [type],
          where: await resolveChains(where, unrestrictedSearchAccess(TENANT), index),
          access: 'everything',
          order,
          limit: 1_000,
          total: 'accurate',
        }
        const { hits, total } = await index.find(plan)
        return { seed, query, total, hits: hits.map(({ id, version }) => `${id}/${version}`) }
      }),
    )
    expect(answers[1]).toEqual(answers[0])
  }
  fed.close()
  await streamed.close()
}

const QUERIES = [
  'Patient?', 'Patient?gender=female', 'Patient?gender:not=female', 'Patient?family=a', 'Patient?family:exact=Ab', 'Patient?name:contains=b',
  'Patient?birthdate=lt1980', 'Patient?birthdate=ge1975&gender=male', 'Patient?_lastUpdated=gt2024-01-01T00:00:01Z', 'Patient?_sort=-birthdate,family',
  'Patient?active:missing=true', 'Patient?_id=p1,p2,p3', 'Patient?_has:Observation:patient:code=c1', 'Patient?_has:Observation:patient:value-quantity=gt5||mg',
  'Observation?', 'Observation?code=c1', 'Observation?code=s|c2&_sort=date', 'Observation?date=ge2020&date=lt2022', 'Observation?value-quantity=ge5',
  'Observation?value-quantity=lt0.005|http://unitsofmeasure.org|g', 'Observation?code-value-quantity=c1$gt3', 'Observation?patient.gender=female',
  'Observation?patient.birthdate=lt1990&code=c2', 'Observation?subject=Patient/p1', 'Observation?status=final&_sort=-date', 'Observation?_sort=value-quantity',
] as const // biome-ignore format: a list

/** Writes in the order of their acknowledgement. */
function historyOf(random: Random, writes: number): readonly Write[] {
  const heads = new Map<string, number>()
  return Array.from({ length: writes }, (_, i) => {
    const type = random.pick(['Patient', 'Observation'])
    const id = `${type[0]!.toLowerCase()}${random.below(Math.max(4, writes / 6))}`
    const expected = heads.get(id) ?? 0
    heads.set(id, expected + 1)
    const key = resourceKeyOf(TENANT, type, id)
    const lastUpdated = NOW + i * 10
    if (expected > 0 && random.below(6) === 0) return deletionOf(key, { expected, lastUpdated })
    return writeOf(key, { expected, lastUpdated, body: { resourceType: type, id, ...contentFor(type, random) } })
  })
}

const day = (random: Random): string => `${1960 + random.below(65)}-0${1 + random.below(9)}-1${random.below(10)}`

const contentFor = (type: string, random: Random): object =>
  type === 'Patient'
    ? { name: [{ family: random.pick(['A', 'Ab', 'B', 'Ç']) }], gender: random.pick(['male', 'female']), birthDate: day(random), ...(random.below(2) === 0 ? { active: true } : {}) }
    : {
        status: random.pick(['final', 'amended']),
        code: { coding: [{ system: 's', code: random.pick(['c1', 'c2']) }] },
        subject: { reference: `Patient/p${random.below(20)}` },
        effectiveDateTime: day(random),
        valueQuantity: { value: random.below(100) / 10, system: 'http://unitsofmeasure.org', code: 'mg' },
      } // biome-ignore format: two shapes

function followed(history: readonly Write[], index: SqliteSearchIndex): void {
  const feed = feedOf(history.map(versionOf))
  for (let position = 0; position < history.length; ) {
    const part = { ...feed.changesOf({ except: [] }, position, 50), read: NO_PREFETCHED_RESOURCES }
    position = runToEnd(indexChanges(index, part, { reading: () => ({}), onPoison: () => undefined }))
  }
}

/** Batches as Lambda delivers them: everything from the lowest failed record on is repeated. */
async function delivered(random: Random, history: readonly Write[], index: SearchIndex): Promise<void> {
  const records = await Promise.all(history.map(recordOf))
  const reports: unknown[] = []
  const handle = followStream<StreamRecord>({
    expressions: EXPRESSIONS,
    index: failing(random, index),
    readingAfter: async () => () => ({}),
    onPoison: (_, error) => reports.push(error),
    versionOf: (record) => versionOfRecord(record, noBlobs),
    report: (error) => reports.push(error),
  })
  for (let next = 0; next < records.length; ) {
    const batch = records.slice(next, next + 1 + random.below(40))
    const again = random.below(4) === 0 ? records.slice(Math.max(0, next - random.below(30)), next) : []
    const { batchItemFailures } = await handle({ Records: [...again, ...batch] })
    const failed = batchItemFailures.map(({ itemIdentifier }) => Number(itemIdentifier))
    next = failed.length === 0 ? next + batch.length : Math.min(next + batch.length, ...failed)
  }
  expect(reports).toEqual([])
}

/** Applies only some documents, or all and then fails, or none. */
const failing = (random: Random, index: SearchIndex): Pick<SearchIndex, 'apply'> => ({
  async apply(documents: readonly IndexDocument[]) {
    const fate = random.below(8)
    if (fate === 0) throw new Error('the connection broke')
    if (fate === 1) {
      const lost = documents.filter(() => random.below(3) === 0)
      await index.apply(documents.filter((document) => !lost.includes(document)))
      if (lost.length > 0) throw notApplied(lost, new Error('429'))
      return
    }
    await index.apply(documents)
    if (fate === 2) throw new Error('the function died')
  },
})

async function recordOf(write: Write, i: number): Promise<StreamRecord> {
  const item = headItem({ write, content: await contentOf(write, 'op', noBlobs), index: 0, shard: shardOfId(write.id, 1) })
  return JSON.parse(JSON.stringify({ dynamodb: { SequenceNumber: String(i), NewImage: marshalled(item) } })) as StreamRecord
}

const marshalled = (item: object): Record<string, EventValue> =>
  Object.fromEntries(Object.entries(item).flatMap(([name, value]) => (value === undefined ? [] : [[name, eventValue(value)]])))

function eventValue(value: unknown): EventValue {
  if (value instanceof Uint8Array) return { B: Buffer.from(value).toString('base64') }
  if (typeof value === 'number') return { N: String(value) }
  if (typeof value === 'boolean') return { BOOL: value }
  return typeof value === 'string' ? { S: value } : { M: marshalled(value as object) }
}
