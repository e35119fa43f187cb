/** The indexer on AWS: versions from stream records, reported failures, and finally the same index as the embedded one. */
import { describe, expect, it } from '@jest/globals'
import { type StreamRecord, versionOfRecord } from '../../../lambdas/adapters/dynamodb/stream/stream.ts'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { indexStream } from '../../../lambdas/indexing/stream/index-stream.ts'
import { followStream } from '../../../lambdas/indexing/stream/stream-follower.ts'
import type { BlobStore } from '../../../lambdas/ports/blobs/blob-store.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { customMappingsOf } from '../../../lambdas/search/custom/custom-parameters.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { patient } from '../../fixtures/resources.ts'
import { patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { checkIndexesAgree } from '../same-index.ts'

it('the stream and the change feed produce the same index despite failures', async () => {
  const seed = firstSeed()
  await checkIndexesAgree(caseCountOf(800, 5_000), seed, async () => {
    const index = new SqliteSearchIndex(':memory:')
    return { index, close: async () => index.close() }
  })
})

it('a version is delivered again if the runner cannot evaluate its parameters now', async () => {
  const definition = { resourceType: 'SearchParameter', url: 'urn:own', status: 'active', code: 'own', base: ['Patient'], type: 'string' }
  const custom = customMappingsOf({ ...definition, expression: 'Patient.name.repeat(family)' }, 't')
  const applied: unknown[] = []
  const again = await indexStream([{ sequence: '7', version: versionOf(writeOf(patientKeyOf('a', 't'), { body: patient('a') })) }], {
    index: { apply: async (documents) => void applied.push(...documents) },
    reading: () => ({ custom }),
    expressions: { evaluate: () => Promise.reject(new MachineFault('overloaded', 'too many expressions are waiting')) },
    onPoison: (version, error) => applied.push(version, error),
  })
  expect([again, applied]).toEqual([['7'], []])
})

describe('a record', () => {
  const image = (more: object) => ({ dynamodb: { SequenceNumber: '7', NewImage: { pk: { S: 't#Patient#a' }, sk: { S: 'H' }, ...more } } }) as StreamRecord
  const none = {} as BlobStore

  it('yields no version for a copy, a guard, a removal or a staged write', async () => {
    for (const record of [image({ sk: { S: 'V#000000001' } }), image({ ptx: { S: 'x' } }), image({}), { dynamodb: { SequenceNumber: '1' } }])
      expect(await versionOfRecord(record, none)).toBeUndefined()
  })

  it('yields the new version, also if it replaces an old one', async () => {
    const gone = { get: async () => undefined } as unknown as BlobStore
    const versionOf = (vid: string) => ({ M: { vid: { N: vid }, lu: { N: '1' }, blob: { S: 'overflow/a' }, sha: { B: 'AAAA' } } })
    const { dynamodb: { NewImage: before } = {} } = image({ v: versionOf('1') })
    const { dynamodb } = image({ v: versionOf('2') })
    expect(await versionOfRecord({ dynamodb: { ...dynamodb, OldImage: before } } as StreamRecord, gone)).toMatchObject({ id: 'a', versionId: 2 })
    expect(await versionOfRecord({ dynamodb: { SequenceNumber: '8', OldImage: before } } as StreamRecord, gone)).toBeUndefined()
  })

  const following = async (record: StreamRecord, blobs: BlobStore) => {
    const told: string[] = []
    const handle = followStream<StreamRecord>({
    expressions: EXPRESSIONS,
      index: { apply: async (documents) => void told.push(...documents.map(({ id, version }) => `indexed ${id} ${version}`)) },
      readingAfter: async () => () => ({}),
      onPoison: ({ id }) => told.push(`poison ${id}`),
      versionOf: (record) => versionOfRecord(record, blobs),
      report: (_, sequence) => told.push(`again ${sequence}`),
    })
    return { ...(await handle({ Records: [record] })), told }
  }

  it('is reported and retried if it cannot be read now', async () => {
    const blobs = { get: () => Promise.reject(new Error('throttled')) } as unknown as BlobStore
    const record = image({ v: { M: { vid: { N: '1' }, lu: { N: '1' }, blob: { S: 'overflow/a' }, sha: { B: 'AAAA' } } } })
    expect(await following(record, blobs)).toEqual({ batchItemFailures: [{ itemIdentifier: '7' }], told: ['again 7'] })
  })

  it('is reported if damaged and indexed under its id, without blocking others', async () => {
    for (const content of [{ z: { B: 'AAAA' } }, { z: { B: 'Af//' } }, { blob: { S: 'overflow/a' }, sha: { B: 'AAAA' } }]) {
      const record = image({ v: { M: { vid: { N: '1' }, lu: { N: '1' }, ...content } } })
      const blobs = { get: async () => undefined } as unknown as BlobStore
      expect(await following(record, blobs)).toEqual({ batchItemFailures: [], told: ['poison a', 'indexed a 1'] })
    }
  })
}) // biome-ignore format: a table
