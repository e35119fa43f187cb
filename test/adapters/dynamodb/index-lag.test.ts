/** The table index shows writes late: readers wait for the measured lag, or report that they cannot. */
import { describe, expect, it } from '@jest/globals'
import { noteLag, readGreatestLag } from '../../../lambdas/adapters/dynamodb/store/index-lag.ts'
import { TableClient } from '../../../lambdas/adapters/dynamodb/table-client.ts'
import type { DynamoEngine } from '../../engines/dynoxide.ts'
import { withFaults } from '../../fixtures/dynamodb/faults.ts'
import { LaggingWorld } from '../../fixtures/dynamodb/lagging-world.ts'
import { runOnTable } from '../../fixtures/dynamodb/on-dynamo.ts'
import { newTenant, TestClock, TestTable } from '../../fixtures/dynamodb/store.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { readAllVersions } from '../../fixtures/scans.ts'
import { instantAt, patientKeyOf, resourceKeyOf, writeOf } from '../../fixtures/versions.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** Number of runs of each of the seven cases. */
const ROUNDS = 30
const ALL = /./
const HEADS = /#Patient#c#|#Patient#r/
const COPIES = /#Patient#h#|#Patient#r/

await runOnTable(suite)

function suite(engine: DynamoEngine, shared: TestTable): void {
  describe(`An index of the table over ${ROUNDS} rounds of writes, polls and exports`, () => {
    it.each([
      [5, 'all keys', ALL],
      [30, 'all keys', ALL],
      [120, 'all keys', ALL],
      [5, 'one key of heads', HEADS],
      [30, 'one key of heads', HEADS],
      [120, 'one key of heads', HEADS],
      [120, 'one key of copies', COPIES],
    ] as const)('hides no version from _since polls and exports at %d s lag in %s', async (lag, _, of) => {
      const isThrottled = of !== ALL
      const world = new LaggingWorld(await TestTable.create(engine), { lag: lag * SECOND, of, isThrottled, seed: lag })
      const { missed, different, committed, exported, refused } = await world.run(ROUNDS)
      expect({ missed, different }).toEqual({ missed: [], different: [] })
      expect(committed).toBeGreaterThan(ROUNDS / 2)
      expect(exported).toBeGreaterThan(0)
      expect(refused > 0).toBe(lag > 60 || isThrottled)
    })
  })

  const dynamo = new TableClient(engine.client, shared.name, { attempts: 3, patience: MINUTE })

  describe('A recorded lag', () => {
    const start = instantAt(1_000_000)
    const world = (lag: number, of?: string) => {
      const [clock, waited, tenant] = [new TestClock(start), [] as number[], newTenant()]
      const wait = async (time: number) => void waited.push(time)
      const store = shared.store({ clock, wait, settleTime: 2 * SECOND })
      const note = () => noteLag(dynamo, clock.now(), lag, ...(of === undefined ? [] : [`${tenant}#${of}`]))
      const recent = async (type: string) => {
        const found: string[] = []
        for await (const { id } of store.recent({ tenant, type }, 0, 100)) found.push(id)
        return found
      }
      return { clock, waited, tenant, store, note, recent }
    }

    it('delays histories since an instant by three times its length, and no others', async () => {
      const { clock, tenant, store, note } = world(20 * SECOND, 'Patient')
      await store.commit([writeOf(patientKeyOf('p', tenant), { lastUpdated: start })], [])
      const seen = async (window: object) => (await store.history({ tenant }, window, undefined, 10)).versions.length
      clock.ahead = 16 * SECOND
      expect(await seen({ since: 0 })).toBe(1)
      await note()
      expect([await seen({ since: 0 }), await seen({})]).toEqual([0, 1])
      expect([await store.settled(tenant, start), await store.settled(newTenant(), start)]).toEqual([false, true])
      clock.ahead = 71 * SECOND
      expect([await seen({ since: 0 }), await store.settled(tenant, start)]).toEqual([1, true])
    })

    it('above 60 s blocks histories since an instant and latest writes for ten minutes', async () => {
      const { clock, tenant, store, note, recent } = world(61 * SECOND, 'Patient')
      const since = () => store.history({ tenant, type: 'Patient' }, { since: 0 }, undefined, 10)
      const scan = () => readAllVersions(store, { tenant, type: 'Patient', asOf: start, limit: 10 })
      await store.commit([writeOf(patientKeyOf('p', tenant), { lastUpdated: start })], [])
      await note()
      clock.ahead = 10 * MINUTE
      for (const refused of [since, scan, () => recent('Patient')]) await expect(refused()).rejects.toThrow(fault('writes-hidden'))
      expect(await store.settled(tenant, start)).toBe(false)
      expect((await store.history({ tenant }, {}, undefined, 10)).versions).toHaveLength(1)
      clock.ahead = 12 * MINUTE
      expect([await recent('Patient'), await store.settled(tenant, start), (await since()).versions.length]).toEqual([['p'], true, 1])
    })

    it('delays latest writes and scans; from 2 s on, latest writes are refused', async () => {
      const { waited, tenant, store, note, recent } = world(1.5 * SECOND, 'Patient')
      await store.commit([writeOf(patientKeyOf('p', tenant), { lastUpdated: start })], [])
      await recent('Patient')
      expect(waited).toEqual([])
      await note()
      await recent('Patient')
      await readAllVersions(store, { tenant, type: 'Patient', asOf: start, limit: 10 })
      expect(waited).toEqual([4.5 * SECOND, 4.5 * SECOND])
      await noteLag(dynamo, start, 2.5 * SECOND, `${tenant}#Patient`)
      await expect(recent('Patient')).rejects.toThrow(fault('writes-hidden'))
    })
  })

  it('A write throttled by the index records a lag of its type before its acknowledgement', async () => {
    const [clock, tenant] = [new TestClock(instantAt(2_000_000)), newTenant()]
    const refusals = [
      { name: 'ThrottlingException', ThrottlingReasons: [{ reason: 'IndexWriteKeyRangeThroughputExceeded' }] },
      {
        name: 'TransactionCanceledException',
        CancellationReasons: [
          { Code: 'ThrottlingError', Message: 'Throughput exceeds the current capacity for one or more global secondary indexes.' },
        ],
      },
      { name: 'ThrottlingException', ThrottlingReasons: [{ reason: 'TableWriteKeyRangeThroughputExceeded' }] },
      { name: 'ThrottlingException', ThrottlingReasons: [{ reason: 'TableWriteMaxOnDemandThroughputExceeded' }] },
    ]
    const lags: number[] = []
    for (const [n, refusal] of refusals.entries()) {
      const type = ['Patient', 'Observation', 'Encounter', 'Condition'][n]!
      let isRefused = false
      const client = withFaults(engine.client, ({ text }) => {
        if (isRefused || !text.includes(`#${type}#`)) return undefined
        isRefused = true
        return { instead: () => Promise.reject(Object.assign(new Error('refused'), refusal)) }
      })
      const writes = ['a', 'b'].map((id) => writeOf(resourceKeyOf(tenant, type, id), { lastUpdated: clock.now() }))
      await shared.store({ client, clock }).commit(writes, [])
      expect(isRefused).toBe(true)
      lags.push(await readGreatestLag(dynamo, clock.now(), { tenant, type }))
    }
    expect(lags).toEqual([MINUTE, MINUTE, 0, 0])
    expect(await readGreatestLag(dynamo, clock.now(), { tenant: `${tenant}0` })).toBe(0)
    expect(await readGreatestLag(dynamo, clock.now(), { tenant })).toBe(MINUTE)
  })
}
