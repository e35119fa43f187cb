/** State that the functions of a deployment share besides resources: values, the sealing key, audit records. On an emulator. */
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbAuditLog, DynamoDbAuditReader } from '../../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { makeSecretKey, readSecretKey } from '../../../lambdas/adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { DynamoDbTransferReader } from '../../../lambdas/adapters/dynamodb/rows/transfer-reader.ts'
import { type Item, TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { S3AuditArchive, S3AuditArchiveReader } from '../../../lambdas/adapters/s3/audit-archive.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import { readAuditMinutes } from '../../../lambdas/ports/security/audit-source.ts'
import { archiveStream } from '../../../lambdas/runtime/aws/audit-archive.ts'
import { auditLogContract } from '../../contracts/audit-log.contract.ts'
import { auditReaderContract } from '../../contracts/audit-reader.contract.ts'
import { transfersContract } from '../../contracts/transfers.contract.ts'
import { auditItemsOf, auditStreamRecord } from '../../fixtures/audit-stream.ts'
import { collect } from '../../fixtures/collect.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { createVersionedBucket } from '../../fixtures/versioned-bucket.ts'

await runOnDynamo(async (engine) => {
  const limits = { attempts: 3, patience: 60_000 }
  const table = await engine.newTable()
  const dynamo = new TableClient(engine.client, table, limits)
  afterAll(() => engine.stop())

  describe('A state that several processes share', () => {
    const open = (name: string) => new DynamoDbSharedState<readonly number[]>(dynamo, name, [])

    it('starts with its initial value and returns each change', async () => {
      const state = open('begins')
      expect(await state.read()).toEqual({ number: 0, value: [] })
      expect(await state.change((value) => [...value, 1])).toEqual({ number: 1, value: [1] })
      expect(await open('begins').read()).toEqual({ number: 1, value: [1] })
    })

    it('loses none of many concurrent changes', async () => {
      const racers = Array.from({ length: 12 }, (_, i) => i)
      await Promise.all(racers.map((i) => open('races').change((value) => [...value, i])))
      const { number, value } = await open('races').read()
      expect([number, value.toSorted((a, b) => a - b)]).toEqual([racers.length, racers])
    })

    it('is not written if nothing changes', async () => {
      await open('same').change(() => [1])
      expect(await open('same').change((value) => value)).toEqual({ number: 1, value: [1] })
    })
  })

  it('A sealing key is created once despite concurrent callers; a missing key is an error', async () => {
    const own = new TableClient(engine.client, await engine.newTable(), limits)
    await expect(readSecretKey(own)).rejects.toThrow('has no key')
    await Promise.all([makeSecretKey(own), makeSecretKey(own)])
    const key = await readSecretKey(own)
    await makeSecretKey(own)
    expect(key).toHaveLength(32)
    expect(Buffer.from(await readSecretKey(own))).toEqual(Buffer.from(key))
  })

  describe('audit records', () => {
    const at = Date.UTC(2026, 0, 2, 3, 4, 5)

    auditLogContract('a table', async (durability) => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      let isDown = false
      const failing = {
        putAll: (items: never) => (isDown ? Promise.reject(new Error('down')) : own.putAll(items)),
      } as unknown as TableClient
      const told: unknown[] = []
      const log = new DynamoDbAuditLog({
        dynamo: failing,
        retentionDays: 2,
        newId: () => crypto.randomUUID(),
        durability,
        onError: (error) => told.push(error),
      })
      return {
        log,
        told,
        written: () => log.flush(),
        kept: async () => (await kept(own.table)) as unknown as readonly AuditRecord[],
        fail() {
          isDown = true
        },
        mend() {
          isDown = false
        },
      }
    })

    transfersContract('a table', async (durability) => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      const newId = () => crypto.randomUUID()
      const options = { dynamo: own, retentionDays: 2, newId, durability, onError: () => undefined }
      return { open: () => new DynamoDbAuditLog(options), reader: new DynamoDbTransferReader(own) }
    })

    it('leave a transfer for three years, at the cost of one small item for each app, patient and day', async () => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      const newId = () => crypto.randomUUID()
      const log = new DynamoDbAuditLog({ dynamo: own, retentionDays: 2, newId, durability: 'strict', onError: () => undefined })
      const record = { at, requestId: 'r', tenant: 'a', client: 'app', patient: '1', transfer: true, interaction: 'read' } as const
      for (let times = 0; times < 3; times++) await log.record({ ...record, status: 200, duration: 3 })
      const { Items: items = [] } = await engine.client.send(new ScanCommand({ TableName: own.table }))
      expect([items.length, items.filter(({ pk }) => String(pk).startsWith('USAGE#'))]).toEqual([
        4,
        [{ pk: expect.stringMatching(/^USAGE#2026-01#\d+$/), sk: 'a/1/2026-01-02/app', expires: Date.UTC(2029, 0, 4) / 1_000 }],
      ])
    })

    auditReaderContract('a table', async () => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      const newId = () => crypto.randomUUID()
      const log = new DynamoDbAuditLog({ dynamo: own, retentionDays: 2, newId, durability: 'strict', onError: () => undefined })
      return { log, reader: new DynamoDbAuditReader(own) }
    })

    auditReaderContract('a table and its archive', async () => {
      const [own, bucket] = [new TableClient(engine.client, await engine.newTable(), limits), createVersionedBucket()]
      const newId = () => crypto.randomUUID()
      const archive = archiveStream(new S3AuditArchive(bucket.client, 'b'))
      const both = {
        async putAll(items: readonly Item[]) {
          await own.putAll(items)
          await archive({ Records: items.map((item) => auditStreamRecord(item)) })
        },
      } as TableClient
      const log = new DynamoDbAuditLog({ dynamo: both, retentionDays: 2, newId, durability: 'strict', onError: () => undefined })
      const sources = () => [new DynamoDbAuditReader(own), new S3AuditArchiveReader(bucket.client, 'b')]
      return { log, reader: { read: (period, filter) => readAuditMinutes(sources(), period, filter) } }
    })

    it('are in the order of their arrival if table and archive hold different ones, and twice only if one was overwritten', async () => {
      const [own, bucket] = [new TableClient(engine.client, await engine.newTable(), limits), createVersionedBucket()]
      const named = (requestId: string, second: number): AuditRecord => ({
        ...{ at: at + second * 1_000, requestId, tenant: 'a', interaction: 'read', patients: ['Patient/1', 'Patient/2'] },
        ...{ status: 200, duration: 3 },
      })
      const [unarchived, , archived] = await auditItemsOf([named('d', 4), named('b', 2), named('c', 3)], own)
      const archive = archiveStream(new S3AuditArchive(bucket.client, 'b'))
      const removed = await auditItemsOf([named('a', 1)])
      await archive({ Records: [archived!, ...removed].map((item) => auditStreamRecord(item)) })
      const read = async () => {
        const sources = [new DynamoDbAuditReader(own), new S3AuditArchiveReader(bucket.client, 'b')]
        const found = await collect(readAuditMinutes(sources, { from: at, to: at + 60_000 }, { patient: '2' }))
        return found.map(({ requestId, status }) => [requestId, status])
      }
      const all = ['a', 'b', 'c', 'd'].map((id) => [id, 200])
      expect(await read()).toEqual(all)
      await archive({ Records: [auditStreamRecord(unarchived!)] })
      expect(await read()).toEqual(all)
      await own.putAll([{ ...archived!, status: 404 }])
      expect(await read()).toEqual([...all.slice(0, 2), ['c', 404], ...all.slice(2)])
    })

    it('expire after their retention', async () => {
      const log = new DynamoDbAuditLog({
        dynamo,
        retentionDays: 2,
        newId: () => crypto.randomUUID(),
        durability: 'strict',
        onError: () => undefined,
      })
      await log.record({ ...{ at, requestId: 'r', tenant: 'a', interaction: 'read', key: 'Patient/1' }, status: 200, duration: 3 })
      expect(await kept(table)).toMatchObject([{ key: 'Patient/1', status: 200, expires: at / 1000 + 2 * 24 * 60 * 60 }])
    })

    it('take one write unit for a search that returns one patient', async () => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      const log = new DynamoDbAuditLog({
        dynamo: own,
        retentionDays: 90,
        newId: () => crypto.randomUUID(),
        durability: 'strict',
        onError: () => undefined,
      })
      await log.record({
        ...{ at, requestId: crypto.randomUUID(), tenant: 'default', interaction: 'search-type', type: 'Observation' },
        ...{ client: 'my-app', user: 'jane', subject: crypto.randomUUID(), patient: crypto.randomUUID() },
        scopes: 'launch/patient openid fhirUser offline_access patient/Observation.rs patient/Condition.rs patient/Patient.r',
        ...{ parameters: ['patient', 'code', '_sort', '_count'], queries: ['x'.repeat(22)], patients: [`Patient/${crypto.randomUUID()}`] },
        ...{ status: 200, duration: 123 },
      })
      // Its JSON text is longer than the stored item.
      const [item] = await kept(own.table)
      expect(Buffer.byteLength(JSON.stringify(item))).toBeLessThan(1024)
    })

    async function kept(TableName: string): Promise<readonly Record<string, unknown>[]> {
      const { Items = [] } = await engine.client.send(new ScanCommand({ TableName }))
      return Items.filter(({ pk }) => String(pk).startsWith('AUDIT#'))
    }
  })
})
