/** Shared rows on an emulator, and in the memory of a test. */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, expect, it } from '@jest/globals'
import { DynamoDbSharedRows } from '../../../lambdas/adapters/dynamodb/rows/shared-rows.ts'
import { DynamoDbSharedState } from '../../../lambdas/adapters/dynamodb/rows/shared-state.ts'
import { type Item, type Key, TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import { sharedRowsContract } from '../../contracts/shared-rows.contract.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { memoryRows } from '../../fixtures/memory-rows.ts'

const LIMITS = { attempts: 3, patience: 60_000 }

/** A table whose batches wait while it is held. */
class HeldTable extends TableClient {
  isHeld = false
  readonly #held: Promise<void>

  constructor(client: DynamoDBDocumentClient, table: string, held: Promise<void>) {
    super(client, table, LIMITS)
    this.#held = held
  }

  override async getAll(keys: readonly Key[]): Promise<readonly (Item | undefined)[]> {
    if (this.isHeld) await this.#held
    return super.getAll(keys)
  }
}

sharedRowsContract('the memory of a test', async () => {
  const rows = memoryRows<readonly number[], string>([])
  return () => rows
})

await runOnDynamo(async (engine) => {
  afterAll(() => engine.stop())
  const open = async () => {
    const dynamo = new TableClient(engine.client, await engine.newTable(), LIMITS)
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

  it('Concurrent reads of more rows than the cache holds find all of them', async () => {
    const { rows, dynamo } = await open()
    const large = 'x'.repeat(9_000_000)
    const namesOf = (...owners: readonly string[]) => owners.map((owner) => ({ kind: 'D', owner }))
    const writer = rows()
    const written = [['a', large], ['b', 1], ['c', large]] as const // biome-ignore format: one row a pair
    await writer.write(await writer.root(), {
      root: [1],
      summary: 's',
      rows: written.map(([owner, value]) => ({ kind: 'D', owner, value })),
    })
    const held = Promise.withResolvers<void>()
    const slow = new HeldTable(engine.client, dynamo.table, held.promise)
    const reader = new DynamoDbSharedRows<readonly number[], string>(slow, 'STATE', [])
    const root = await reader.root()
    await reader.rows(namesOf('a'), root)
    slow.isHeld = true
    const both = reader.rows(namesOf('a', 'b'), root)
    slow.isHeld = false
    // This read removes the row of `a` from the cache.
    expect(await reader.rows(namesOf('c'), root)).toEqual([large])
    held.resolve()
    expect(await both).toEqual([large, 1])
  })
})
