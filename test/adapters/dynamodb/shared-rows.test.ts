/** Shared rows on an emulator, and in the memory of a test. */
import { afterAll, expect, it } from '@jest/globals'
import { DynamoDbSharedRows } from '../../../lambdas/adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { sharedRowsContract } from '../../contracts/shared-rows.contract.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { memoryRows } from '../../fixtures/memory-rows.ts'

sharedRowsContract('the memory of a test', async () => {
  const rows = memoryRows<readonly number[], string>([])
  return () => rows
})

await runOnDynamo(async (engine) => {
  afterAll(() => engine.stop())
  const limits = { attempts: 3, patience: 60_000 }
  const open = async () => {
    const dynamo = new TableClient(engine.client, await engine.newTable(), limits)
    return { rows: () => new DynamoDbSharedRows<readonly number[], string>(dynamo, 'STATE', []), dynamo }
  }

  sharedRowsContract('a table', async () => (await open()).rows)

  it('An item of the earlier release is the root, and its later writes leave no cached row valid', async () => {
    const { rows, dynamo } = await open()
    const earlier = new DynamoDbSharedState<readonly number[]>(dynamo, 'STATE', [])
    await earlier.change(() => [1])
    const [here, there] = [rows(), rows()]
    const name = { kind: 'D', owner: 'a' }
    const first = await here.root()
    expect(first).toMatchObject({ number: 1, value: [1], isForeign: true })
    await here.write(first, { root: [2], summary: 's', rows: [{ ...name, value: 'one' }] })
    expect(await here.rows([name], await here.root())).toEqual(['one'])
    expect(await earlier.read()).toEqual({ number: 2, value: [2] })
    await there.write(await there.root(), { root: [3], summary: 's', rows: [{ ...name, value: 'two' }] })
    await earlier.change(() => [4])
    const after = await here.root()
    expect([after.value, after.isForeign, await here.rows([name], after)]).toEqual([[4], true, ['two']])
    expect(await here.write(after, { root: [5] })).toBe(true)
    expect(await here.root()).toMatchObject({ value: [5], isForeign: false })
  })
})
