/** Identifier rows in DynamoDB, on an emulator: the contract, the order of writes, and the cost. */
import { describe, expect, it } from '@jest/globals'
import { identifierRowsContract } from '../../contracts/identifier-rows.contract.ts'
import { meteredClient } from '../../fixtures/dynamodb/capacity.ts'
import { withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { newTenant, TestClock } from '../../fixtures/dynamodb/store.ts'
import { patientKeyOf, writeOf } from '../../fixtures/versions.ts'

await runOnTable((engine, table) => {
  const identifiers = [{ system: 'urn:a', value: '1' }]
  const rowsOf = async (tenant: string, client = engine.client) =>
    table.identifierRows(client).carrying({ tenant, type: 'Patient' }, identifiers, 1_000)

  identifierRowsContract('DynamoDB', async () => {
    const clock = new TestClock(1_000_000)
    const pass = (time: number) => {
      clock.ahead += time
    }
    const rows = table.identifierRows(engine.client, clock)
    return { rows, store: table.storeWithRows({ clock, mostActions: 100 }), pass, close: async () => undefined }
  })

  describe('Identifier rows', () => {
    it.each([1, 2, 10])('are written before the first other item of a commit of %d writes', async (size) => {
      const tenant = newTenant()
      await table.store().commit([writeOf(patientKeyOf('first', tenant))], [])
      const calls: boolean[] = []
      const client = withFaults(engine.client, ({ name, text }) => {
        if (!/Get$|Query$/.test(name) && !text.includes('#CFG')) calls.push(text.includes('#IDENTIFIER#'))
        return undefined
      })
      const writes = [...Array(size).keys()].map((n) => writeOf(patientKeyOf(`p${n}`, tenant), { identifiers }))
      await table.storeWithRows({ client }).commit(writes, [])
      expect(calls.slice(0, 2)).toEqual([true, false])
      expect(await rowsOf(tenant)).toHaveLength(size)
    })

    it('keep a commit from happening if they cannot be written', async () => {
      const tenant = newTenant()
      const refused = new Error('refused')
      const client = withFaults(engine.client, ({ text }) =>
        text.includes('#IDENTIFIER#') ? { instead: () => Promise.reject(refused) } : undefined,
      )
      const key = patientKeyOf('p', tenant)
      await expect(table.storeWithRows({ client }).commit([writeOf(key, { identifiers })], [])).rejects.toThrow(refused)
      expect(await table.store().current([key])).toEqual([undefined])
    })

    it('cost one unit each to write, and one unit to read', async () => {
      const tenant = newTenant()
      const meter = meteredClient(engine.client)
      const store = table.storeWithRows({ client: meter.client })
      await store.commit([writeOf(patientKeyOf('first', tenant))], [])
      meter.take()
      await store.commit([writeOf(patientKeyOf('p', tenant), { identifiers })], [])
      expect(meter.take()).toEqual({ read: 0, write: 3 })
      await rowsOf(tenant, meter.client)
      expect(meter.take()).toEqual({ read: 1, write: 0 })
    })
  })
})
