/** State that the functions of a deployment share besides resources: values, the sealing key, audit records. On an emulator. */
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbAuditLog, DynamoDbAuditReader } from '../../../lambdas/adapters/dynamodb/rows/audit-log.ts'
import { makeSecretKey, readSecretKey } from '../../../lambdas/adapters/dynamodb/rows/secret-key.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import { auditLogContract } from '../../contracts/audit-log.contract.ts'
import { auditReaderContract } from '../../contracts/audit-reader.contract.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

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

    auditReaderContract('a table', async () => {
      const own = new TableClient(engine.client, await engine.newTable(), limits)
      const newId = () => crypto.randomUUID()
      const log = new DynamoDbAuditLog({ dynamo: own, retentionDays: 2, newId, durability: 'strict', onError: () => undefined })
      return { log, reader: new DynamoDbAuditReader(own) }
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
