/** Sizes and units as DynamoDB counts them. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html */
import { describe, expect, it } from '@jest/globals'
import type { Tree } from './aws-calls.ts'
import type { RecordedCall } from './recorder.ts'
import { itemSizeOf, UnitMeter } from './units.ts'

const item = (bytes: number, more: Tree = {}): Tree => ({
  pk: { S: 'a' },
  sk: { S: 'H' },
  v: { B: Buffer.alloc(bytes).toString('base64') },
  ...more,
})
const call = (operation: string, input: Tree, output: Tree = {}): RecordedCall => ({
  caller: 'x',
  service: 'dynamodb',
  operation,
  path: '/',
  input,
  output,
  status: 200,
})
const put = (Item: Tree) => call('PutItem', { TableName: 't', Item })
const PLACE = { gpk: { S: 'p' }, gsk: { S: '1' } }

describe('The size of an item', () => {
  it.each<readonly [Tree, number]>([
    [{ name: { S: 'é' } }, 4 + 2],
    [{ n: { N: '12345' } }, 1 + 4],
    [{ b: { B: 'AAAA' } }, 1 + 3],
    [{ b: { BOOL: true } }, 1 + 1],
    [{ l: { L: [{ S: 'ab' }, { S: 'c' }] } }, 1 + 3 + 3 + 2],
    [{ m: { M: { k: { S: 'v' } } } }, 1 + 3 + 1 + 2],
    [{ s: { SS: ['ab', 'c'] } }, 1 + 3],
  ])('%j has %d bytes', (tree, bytes) => expect(itemSizeOf(tree)).toBe(bytes))
})

describe('The units', () => {
  it('are one per 4 kB for a read, and half for an eventually consistent one', () => {
    const read = (bytes: number, ConsistentRead?: boolean) =>
      new UnitMeter().unitsOf(call('GetItem', { TableName: 't', Key: {}, ConsistentRead }, { Item: item(bytes) })).reads
    expect([read(100, true), read(5_000, true), read(5_000)]).toEqual([1, 2, 1])
  })

  it('count each item of a batch, even a missing one', () => {
    const input = { RequestItems: { t: { Keys: [{}, {}, {}], ConsistentRead: true } } }
    expect(new UnitMeter().unitsOf(call('BatchGetItem', input, { Responses: { t: [item(10), item(5_000)] } })).reads).toBe(4)
  })

  it('are rounded once for all items of a query', () =>
    expect(
      new UnitMeter().unitsOf(call('Query', { TableName: 't', ConsistentRead: true }, { Items: [item(1_000), item(1_000)] })).reads,
    ).toBe(1))

  it('include the counted items of a query that only counts', () => {
    const input = { TableName: 't', IndexName: 'i', Select: 'COUNT' }
    expect([0, 1, 1_000].map((Count) => new UnitMeter().unitsOf(call('Query', input, { Count })).reads)).toEqual([0.5, 0.5, 24.5])
  })

  it('are one per kB for a write, by the larger of both items', () => {
    const meter = new UnitMeter()
    expect([put(item(3_000)), put(item(10)), put(item(10))].map((each) => meter.unitsOf(each).writes)).toEqual([3, 3, 1])
  })

  it('add one for a new or removed index entry, and two for a moved one', () => {
    const meter = new UnitMeter()
    const moved = { ...PLACE, gsk: { S: '2' } }
    const writes = [item(10, PLACE), item(20, PLACE), item(20, moved), item(20)].map((each) => meter.unitsOf(put(each)).writes)
    expect(writes).toEqual([2, 1, 3, 2])
  })

  it('are double in a transaction', () => {
    const meter = new UnitMeter()
    const parts = [
      { Put: { TableName: 't', Item: item(10, PLACE) } },
      { ConditionCheck: { TableName: 't', Key: { pk: { S: 'b' }, sk: { S: 'H' } } } },
    ]
    expect(meter.unitsOf(call('TransactWriteItems', { TransactItems: parts })).writes).toBe(6)
  })

  it('include the resulting item for an update', () => {
    const meter = new UnitMeter()
    meter.unitsOf(put(item(10, { ...PLACE, p: { B: Buffer.alloc(2_000).toString('base64') } })))
    const update = { TableName: 't', Key: { pk: { S: 'a' }, sk: { S: 'H' } }, UpdateExpression: 'SET v = p REMOVE p' }
    expect(meter.unitsOf(call('UpdateItem', update)).writes).toBe(2)
    expect(meter.unitsOf(call('DeleteItem', update)).writes).toBe(3)
  })

  it('are zero for a failed call', () => expect(new UnitMeter().unitsOf({ ...put(item(10)), status: 400 }).writes).toBe(0))
})
