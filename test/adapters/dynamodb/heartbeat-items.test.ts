/** Items of the beats of a heartbeat, and their records in the stream. */
import { describe, expect, it } from '@jest/globals'
import { heartbeatItem, heartbeatOfRecord } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { beatsOf } from '../../../lambdas/indexing/stream/heartbeat.ts'

const imageOf = (pk: string, attributes: Readonly<Record<string, number>>) => ({
  ...{ pk: { S: pk }, sk: { S: 'P' } },
  ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, { N: String(value) }])),
})

describe('The items of a heartbeat', () => {
  it.each([
    [64, 32],
    [72, 24],
    [96, 24],
    [192, 48],
    [216, 216],
    [7_200, 7_200],
  ])('are in the index of the table: of %i, %i', (of, indexed) => {
    expect(beatsOf(1, of).filter((beat) => heartbeatItem(beat).gpk !== undefined).length).toBe(indexed)
  })

  it('have a partition key each, and those of an earlier release keep it', () => {
    const keys = beatsOf(1, 96).map((beat) => heartbeatItem(beat).pk)
    expect([new Set(keys).size, keys[0], keys[63], keys[64]]).toEqual([96, '#PULSE#0', '#PULSE#63', '#PULSE+#64'])
  })

  it('are read from the records of the stream', () => {
    for (const place of [0, 63, 64, 11_999]) {
      const { pk } = heartbeatItem({ place, of: 12_000, sent: 9 })
      const record = { dynamodb: { NewImage: imageOf(pk, { sent: 9, of: 12_000 }), OldImage: imageOf(pk, { sent: 4 }) } }
      expect(heartbeatOfRecord(record)).toEqual({ place, of: 12_000, sent: 9, before: 4 })
    }
    // An earlier release sends 64 beats, without their number.
    expect(heartbeatOfRecord({ dynamodb: { NewImage: imageOf('#PULSE#7', { sent: 9 }) } })).toEqual({ place: 7, of: 64, sent: 9 })
    expect(heartbeatOfRecord({ dynamodb: { NewImage: { ...imageOf('t#Patient#a', {}), sk: { S: 'H' } } } })).toBeUndefined()
  })
})
