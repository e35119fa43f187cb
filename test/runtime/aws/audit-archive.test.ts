/** The archive of audit records: from the stream of the state table to the bucket, and back to a reader. */

import { DeleteObjectCommand } from '@aws-sdk/client-s3'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { DynamoDbAuditLog } from '../../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import type { Item, TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { S3AuditArchive, S3AuditArchiveReader } from '../../../lambdas/adapters/s3/audit-archive.ts'
import type { AuditLog, AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import type { AuditFilter, Period } from '../../../lambdas/ports/security/audit-reader.ts'
import { readAuditMinutes } from '../../../lambdas/ports/security/audit-source.ts'
import { archiveStream } from '../../../lambdas/runtime/aws/audit-archive.ts'
import { auditReaderContract } from '../../contracts/audit-reader.contract.ts'
import { auditItemsOf, auditStreamRecord } from '../../fixtures/audit-stream.ts'
import { collect } from '../../fixtures/collect.ts'
import { createVersionedBucket, type VersionedBucket } from '../../fixtures/versioned-bucket.ts'

const AT = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const recordOf = (requestId: string, more: Partial<AuditRecord> = {}): AuditRecord => ({
  ...{ at: AT, requestId, tenant: 'north', interaction: 'read', key: 'Patient/1', status: 200, duration: 3 },
  ...more,
})
const archiverOf = ({ client }: VersionedBucket) => archiveStream(new S3AuditArchive(client, 'b'))
const readerOf =
  ({ client }: VersionedBucket) =>
  (filter: AuditFilter = {}, period: Period = { from: AT - DAY, to: AT + DAY }) =>
    collect(readAuditMinutes([new S3AuditArchiveReader(client, 'b')], period, filter))
const idsOf = (records: readonly AuditRecord[]): readonly string[] => records.map(({ requestId }) => requestId)
const keysIn = ({ versions }: VersionedBucket): readonly string[] => [...new Set(versions.map(({ Key }) => Key))].toSorted()

afterEach(() => {
  jest.restoreAllMocks()
})

auditReaderContract('an archive', async () => {
  const bucket = createVersionedBucket()
  const archive = archiverOf(bucket)
  const putAll = (items: readonly Item[]) => archive({ Records: items.map((item) => auditStreamRecord(item)) })
  const log: AuditLog = new DynamoDbAuditLog({
    dynamo: { putAll } as unknown as TableClient,
    ...{ retentionDays: 90, durability: 'strict', newId: () => crypto.randomUUID(), onError: () => undefined },
  })
  const reader = {
    read: (...asked: [Period, AuditFilter]) => readAuditMinutes([new S3AuditArchiveReader(bucket.client, 'b')], ...asked),
  }
  return { log, reader }
})

describe('The archive of audit records', () => {
  it('has an object for each day and tenant of a batch, named by its times and the batch', async () => {
    const bucket = createVersionedBucket()
    const records = [
      recordOf('a', { at: AT + 1_000 }),
      recordOf('b'),
      recordOf('c', { tenant: 'south' }),
      recordOf('d', { at: AT + DAY }),
      recordOf('e', { tenant: '' }),
    ]
    const Records = (await auditItemsOf(records)).map((item) => auditStreamRecord(item))
    expect(await archiverOf(bucket)({ Records })).toEqual({ batchItemFailures: [] })
    const batch = `${Records[0]!.dynamodb!.SequenceNumber}-${Records[4]!.dynamodb!.SequenceNumber}`
    expect(keysIn(bucket)).toEqual([
      `audit/2026-01-02/north/030405006-030406006-${batch}.ndjson.gz`,
      `audit/2026-01-02/south/030405006-030405006-${batch}.ndjson.gz`,
      `audit/2026-01-02/~/030405006-030405006-${batch}.ndjson.gz`,
      `audit/2026-01-03/north/030405006-030405006-${batch}.ndjson.gz`,
    ])
    expect((await readerOf(bucket)({}, { from: AT, to: AT + 2 * DAY })).toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1))).toEqual(
      records,
    )
  })

  it('shows a record once if Lambda delivers its batch again, whole or split', async () => {
    const bucket = createVersionedBucket()
    const Records = (await auditItemsOf(['a', 'b', 'c'].map((id, i) => recordOf(id, { at: AT + i })))).map((item) =>
      auditStreamRecord(item),
    )
    for (const batch of [Records, Records, Records.slice(0, 1), Records.slice(1)]) await archiverOf(bucket)({ Records: batch })
    expect([bucket.versions.length, keysIn(bucket).length]).toEqual([4, 3])
    expect(idsOf(await readerOf(bucket)())).toEqual(['a', 'b', 'c'])
  })

  it('fails as a whole if an object cannot be stored, and logs neither names nor content', async () => {
    const bucket = createVersionedBucket()
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined)
    bucket.failing.push(undefined, Object.assign(new Error('no access to audit/2026-01-02/north of Patient/1'), { name: 'AccessDenied' }))
    const records = [recordOf('a'), recordOf('b', { tenant: 'south' })]
    const Records = (await auditItemsOf(records)).map((item) => auditStreamRecord(item))
    expect(await archiverOf(bucket)({ Records })).toEqual({ batchItemFailures: [{ itemIdentifier: Records[0]!.dynamodb!.SequenceNumber }] })
    expect(logged.mock.calls.flat().join()).toContain('"AccessDenied"')
    expect(logged.mock.calls.flat().join()).not.toMatch(/north|south|Patient/)
    await archiverOf(bucket)({ Records })
    expect(idsOf(await readerOf(bucket)()).toSorted()).toEqual(['a', 'b'])
  })

  it('shows both contents of a record that was overwritten, and ignores removals', async () => {
    const bucket = createVersionedBucket()
    const [item] = await auditItemsOf([recordOf('a', { user: 'ann' })])
    const batches = [auditStreamRecord(item!), auditStreamRecord({ ...item!, user: 'bob' }, 'MODIFY'), auditStreamRecord(item!, 'REMOVE')]
    for (const record of batches) await archiverOf(bucket)({ Records: [record] })
    expect((await readerOf(bucket)()).map(({ requestId, user }) => [requestId, user])).toEqual([['a', 'ann'], ['a', 'bob']]) // biome-ignore format: one line
    expect(bucket.versions).toHaveLength(2)
  })

  it('shows a record once if only its expiry was overwritten', async () => {
    const bucket = createVersionedBucket()
    const [item] = await auditItemsOf([recordOf('a')])
    await archiverOf(bucket)({ Records: [auditStreamRecord(item!), auditStreamRecord({ ...item!, expires: 1 }, 'MODIFY')] })
    expect(idsOf(await readerOf(bucket)())).toEqual(['a'])
  })

  it('shows records of objects that were overwritten or deleted', async () => {
    const bucket = createVersionedBucket()
    await archiverOf(bucket)({ Records: (await auditItemsOf([recordOf('a')])).map((item) => auditStreamRecord(item)) })
    const [Key = ''] = keysIn(bucket)
    await new S3AuditArchive(bucket.client, 'b').add([{ id: 'x', record: recordOf('forged') }], Key.split('-').slice(4).join('-').replace('.ndjson.gz', '')) // biome-ignore format: one line
    await bucket.client.send(new DeleteObjectCommand({ Bucket: 'b', Key }))
    expect([keysIn(bucket), bucket.versions.length]).toEqual([[Key], 2])
    expect(idsOf(await readerOf(bucket)()).toSorted()).toEqual(['a', 'forged'])
  })

  it('shows records in the order of their arrival, not in that of their writes', async () => {
    const bucket = createVersionedBucket()
    // A record that could not be written is written minutes later, in a batch of later ones.
    for (const times of [[2, 1], [5, 0, 70], [3, 69, 4], [130]]) {
      const items = await auditItemsOf(times.map((seconds) => recordOf(String(seconds), { at: AT + seconds * 1_000 })))
      await archiverOf(bucket)({ Records: items.map((item) => auditStreamRecord(item)) })
    }
    expect(idsOf(await readerOf(bucket)())).toEqual(['0', '1', '2', '3', '4', '5', '69', '70', '130'])
  })

  it('archives an item that holds no valid time or tenant, by the time of its write', async () => {
    const bucket = createVersionedBucket()
    const [valid] = await auditItemsOf([recordOf('valid')])
    const invalid = { ...valid!, at: 'never', tenant: '../x', requestId: 'invalid' }
    const result = await archiverOf(bucket)({ Records: [auditStreamRecord(invalid, 'MODIFY'), auditStreamRecord(valid!)] })
    expect([result, idsOf(await readerOf(bucket)())]).toEqual([{ batchItemFailures: [] }, ['valid', 'invalid']])
    expect(keysIn(bucket)).toContainEqual(expect.stringMatching(/^audit\/2026-01-02\/~\/120000000-120000000-/))
  })

  it.each(['+275760-09-13T00:00:00.000Z', '-271821-04-20T00:00:00.000Z'])(
    'archives an item of the year in %s by the time of its write, and its first day stays',
    async (at) => {
      const bucket = createVersionedBucket()
      const [valid] = await auditItemsOf([recordOf('valid')])
      await archiverOf(bucket)({ Records: [auditStreamRecord(valid!), auditStreamRecord({ ...valid!, at, requestId: 'odd' }, 'MODIFY')] })
      expect(idsOf(await readerOf(bucket)())).toEqual(['valid', 'odd'])
      expect(await new S3AuditArchiveReader(bucket.client, 'b').firstDay()).toBe(Date.UTC(2026, 0, 2))
    },
  )

  it('ignores other items of the state table', async () => {
    const bucket = createVersionedBucket()
    expect(await archiverOf(bucket)({ Records: [auditStreamRecord({ pk: 'SEAL', sk: 'x', key: 'secret' })] })).toEqual({
      batchItemFailures: [],
    })
    expect(bucket.versions).toEqual([])
  })

  it('is read only for the period and the tenant of the filter', async () => {
    const bucket = createVersionedBucket()
    const records = [-DAY, -MINUTE, 0, 2 * MINUTE, DAY].flatMap((after) =>
      ['north', 'south'].map((tenant) => recordOf(`${tenant} ${after}`, { at: AT + after, tenant })),
    )
    for (const item of await auditItemsOf(records)) await archiverOf(bucket)({ Records: [auditStreamRecord(item)] })
    const source = new S3AuditArchiveReader(bucket.client, 'b', 'south')
    const period = { from: AT, to: AT + MINUTE }
    expect(idsOf(await collect(readAuditMinutes([source], period, { tenant: 'south' })))).toEqual(['south 0'])
    expect(bucket.reads).toEqual([expect.stringMatching(/^audit\/2026-01-02\/south\/030405006-/)])
    expect(await source.firstDay()).toBe(Date.UTC(2026, 0, 1))
    expect(await new S3AuditArchiveReader(createVersionedBucket().client, 'b').firstDay()).toBeUndefined()
  })
})
