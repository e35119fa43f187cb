/** The indexer of the cloud home: versions out of stream records, failures named, and in the end the index of the embedded home. */
import { describe, expect, it } from '@jest/globals'
import { type StreamRecord, streamVersion } from '../../lambdas/adapters/dynamodb/stream.ts'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite/search-index.ts'
import { indexer } from '../../lambdas/functions/indexer.ts'
import type { BlobStore } from '../../lambdas/ports/blob-store.ts'
import { bothWaysAgree } from './same-index.ts'

const FULL = process.env.FHIR_TEST_FULL === '1'

it('ends in the same index as the change feed, whatever fails on the way', async () => {
  const seed = Number(process.env.FHIR_TEST_SEED ?? Date.now() % 1_000_000)
  await bothWaysAgree(FULL ? 5_000 : 800, seed, async () => {
    const index = new SqliteSearchIndex(':memory:')
    return { index, close: async () => index.close() }
  })
})

describe('a record', () => {
  const image = (more: object) => ({ dynamodb: { SequenceNumber: '7', NewImage: { pk: { S: 't#Patient#a' }, sk: { S: 'H' }, ...more } } }) as StreamRecord
  const none = {} as BlobStore

  it('of a copy, of a guard, of a removal, or of what a transaction has staged tells of no version', async () => {
    for (const record of [image({ sk: { S: 'V#000000001' } }), image({ ptx: { S: 'x' } }), image({}), { dynamodb: { SequenceNumber: '1' } }])
      expect(await streamVersion(record, none)).toBeUndefined()
  })

  it('that cannot be read is reported, and comes again, while the others are indexed', async () => {
    const reports: string[] = []
    const handle = indexer<StreamRecord>({
      index: { apply: async () => undefined },
      reading: {},
      onPoison: () => undefined,
      versionOf: (record) => streamVersion(record, none),
      report: (_, sequence) => reports.push(sequence),
    })
    const broken = image({ v: { M: { vid: { N: '1' }, lu: { N: '1' }, z: { B: 'AAAA' } } } })
    expect(await handle({ Records: [broken] })).toEqual({ batchItemFailures: [{ itemIdentifier: '7' }] })
    expect(reports).toEqual(['7'])
  })
}) // biome-ignore format: a table
