/** The rows of a deployment, on an emulator: the contract, lost answers, pages. */
import { afterAll, describe, expect, it } from '@jest/globals'
import { DynamoDbRows } from '../../../lambdas/adapters/dynamodb/rows/rows.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { rowsContract } from '../../contracts/kept-rows.contract.ts'
import { type ClientCall, type ClientFault, withFaults } from '../../fixtures/dynamodb/faults.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'

const LIMITS = { attempts: 8, patience: 60_000 }

await runOnDynamo(async (engine) => {
  afterAll(() => engine.stop())
  const rowsWith = (table: string, plan: (call: ClientCall) => ClientFault | undefined) =>
    new DynamoDbRows(new TableClient(withFaults(engine.client, plan), table, LIMITS))

  rowsContract('dynamodb', async () => {
    const table = await engine.newTable()
    let writes = 0
    const counting = ({ name }: ClientCall): ClientFault | undefined => {
      if (name === 'Put') writes++
      return undefined
    }
    return { open: async () => rowsWith(table, counting), written: () => writes }
  })

  describe('Rows in a table', () => {
    it.each(['Put', 'BatchWrite'])('are changed once if the answer of a %s is lost', async (lost) => {
      const table = await engine.newTable()
      let isLost = false
      const rows = rowsWith(table, ({ name }) => {
        if (isLost || name !== lost) return undefined
        isLost = true
        return 'lost answer'
      })
      expect(await rows.change<number>('s', 'c', (n = 0) => n + 1)).toBe(1)
      isLost = false
      expect(await rows.change<number>('s', 'c', (n = 0) => n + 1)).toBe(2)
      expect(await rows.read('s', 'c')).toBe(2)
      isLost = false
      await rows.remove('s')
      expect(await rows.read('s', 'c')).toBeUndefined()
    })

    it('are read consistently, page by page', async () => {
      const table = await engine.newTable()
      const calls: string[] = []
      const rows = rowsWith(table, ({ name, text }) => {
        calls.push(`${name} ${text.includes('"ConsistentRead":true')}`)
        return undefined
      })
      // Random, so that it does not compress: more than a page of 1 MB.
      const random = () => Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString('base64url')
      for (let i = 0; i < 25; i++) await rows.change('s', `${i}`, random)
      calls.length = 0
      const names: string[] = []
      for await (const { name } of rows.list('s')) names.push(name)
      expect(names).toEqual(Array.from({ length: 25 }, (_, i) => `${i}`).toSorted())
      expect(calls.length).toBeGreaterThan(1)
      expect(new Set(calls)).toEqual(new Set(['Query true']))
    })

    it('are all removed if the table leaves part of a batch unprocessed', async () => {
      const table = await engine.newTable()
      const rows = rowsWith(table, () => undefined)
      for (let i = 0; i < 30; i++) await rows.change('s', `${i}`, () => i)
      let isFirst = true
      const refusing = rowsWith(table, ({ name, input }) => {
        if (name !== 'BatchWrite' || !isFirst) return undefined
        isFirst = false
        return { instead: async () => ({ UnprocessedItems: input.RequestItems }) }
      })
      await refusing.remove('s')
      expect([await rows.read('s', '0'), await rows.read('s', '29')]).toEqual([undefined, undefined])
      expect(isFirst).toBe(false)
    })
  })
})
